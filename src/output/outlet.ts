import type { LogReader } from './log.js';

/** Where all goes that a connection says: answers, and the output of its processes. */
export interface Outlet extends LogReader {
  /**
   * Sends a message that is no output. It goes before any output that is not on its way yet.
   *
   * @param json its text, or that text as UTF-8
   * @param onTaken called when the wire has taken it; never, if it is closed before
   */
  send(json: string | Buffer, onTaken?: () => void): void;
  /** Gives away now as much as is taken. */
  flush(): void;
  /** The wire takes data again. */
  drained(): void;
  /** So many answers wait for the client that it should not be asked for more. */
  readonly isBacklogged: boolean;
  /** Is all on its way? */
  readonly isEmpty: boolean;
  /** Calls back when all is on its way. */
  onEmpty(callback: () => void): void;
  /** Nothing leaves any more; the logs no longer wait for this client. */
  close(): void;
}
