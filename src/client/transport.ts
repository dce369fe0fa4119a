/** Longer messages than the server sends (docs/protocol.md section 1) are not taken. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

export type TransportEvents = {
  /** One message, parsed. What isn't JSON is given as undefined. */
  message(message: unknown): void;
  /** There was no connection for a while; what the server told meanwhile is to be read. */
  resumed?(): void;
  /** The connection is over. Comes once, last. `error` is there if it is a special one. */
  closed(reason: string, error?: Error): void;
};

/** What carries a client's messages: a WebSocket, a pair of streams, a server in this process. */
export interface Transport {
  /** Begins to deliver events. */
  open(events: TransportEvents): void;
  send(message: object): void;
  /** Ends the connection; resolves when it is over, with all that belongs to it. */
  close(): Promise<void>;
  /** Ends the connection and leaves the session to be resumed. Only where the server keeps it. */
  detach?(): Promise<void>;
}

/** A message as JSON text; undefined if it is none. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
