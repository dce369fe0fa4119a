import type { Wire } from '../wire/wire.js';
import type { LogReader, OutputLog } from './log.js';

/** One write to the wire: large enough to be cheap, small enough that an answer never waits long behind it. */
const FLUSH_BYTES = 256 * 1024;

/** Sent of one process before it is the next one's turn: as much as one full read of a pipe. */
const TURN_BYTES = 64 * 1024;

/** A process with no more than this to send goes before those with more: keystrokes before floods. */
const QUICK_BYTES = 4 * 1024;

/**
 * All that goes to one client, in one place, because order and fairness are decided here: answers first,
 * then processes that have little to say, then the others by turns. It takes output from the logs only
 * while the wire takes it from here; what the wire doesn't take stays in the logs, which make their
 * sources wait. So a client that does not read costs this buffer and two marks a process, never more.
 */
export class Outbox implements LogReader {
  readonly #wire: Wire;
  /** Framed control messages. */
  #control: Buffer[] = [];
  /** Logs with something unsent, in the order in which their turn comes. */
  readonly #ready = new Set<OutputLog>();
  #buffer = Buffer.alloc(0);
  #blocked = false;
  #scheduled: NodeJS.Immediate | undefined;
  #closed = false;
  #onEmpty: (() => void) | undefined;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** Sends a message that is no output. It goes before any output that is not on the wire yet. */
  send(json: string): void {
    if (this.#closed) return;
    this.#control.push(this.#frame(json));
    this.#schedule();
  }

  /** Called by a log that got something to send. */
  onUnsent(log: OutputLog): void {
    if (this.#closed) {
      log.detach();
      return;
    }
    this.#ready.add(log);
    this.#schedule();
  }

  /** The wire takes data again. */
  drained(): void {
    this.#blocked = false;
    this.flush();
    if (this.isEmpty) this.#onEmpty?.();
  }

  /** Is all that was to be sent on the wire? */
  get isEmpty(): boolean {
    return this.#control.length === 0 && this.#ready.size === 0 && !this.#blocked;
  }

  /** Calls back when the wire has taken everything. */
  onEmpty(callback: () => void): void {
    this.#onEmpty = callback;
  }

  /** Nothing leaves any more; the logs no longer wait for this client. */
  close(): void {
    this.#closed = true;
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    this.#control = [];
    for (const log of this.#ready) log.detach();
    this.#ready.clear();
    this.#buffer = Buffer.alloc(0);
  }

  /** Gives the wire as much as it takes. */
  flush(): void {
    while (!this.#blocked && !this.#closed) {
      const bytes = this.#control.length > 0 ? this.#takeControl() : this.#takeOutput();
      if (bytes === undefined) return;
      if (!this.#wire.write(bytes)) this.#blocked = true;
    }
  }

  /** Flushes at the end of this turn of the loop, so that all of a turn goes out together. */
  #schedule(): void {
    if (this.#blocked || this.#scheduled !== undefined || this.#closed) return;
    this.#scheduled = setImmediate(() => {
      this.#scheduled = undefined;
      this.flush();
    });
  }

  #takeControl(): Buffer | undefined {
    const messages = this.#control;
    this.#control = [];
    return messages.length === 1 ? messages[0] : Buffer.concat(messages);
  }

  /** Encodes one buffer full of output; undefined if there is none. */
  #takeOutput(): Buffer | undefined {
    if (this.#ready.size === 0) return undefined;
    let end = 0;
    for (const log of this.#inTurn()) {
      this.#ready.delete(log);
      const before = end;
      end = this.#encodeTurn(log, end);
      log.sent();
      if (log.hasUnsent) this.#ready.add(log);
      if (end === before) break;
    }
    return end > 0 ? this.#buffer.subarray(0, end) : undefined;
  }

  /** Those with little to send first, then the others in the order in which they came. */
  *#inTurn(): Generator<OutputLog> {
    const waiting = [...this.#ready];
    for (const log of waiting) if (log.unsentBytes <= QUICK_BYTES) yield log;
    for (const log of waiting) if (log.unsentBytes > QUICK_BYTES) yield log;
  }

  /** Encodes one turn of one log from `at` on, as far as the buffer reaches; answers where it ends. */
  #encodeTurn(log: OutputLog, at: number): number {
    const { encoder } = log;
    let end = at;
    for (let bytes = 0; bytes < TURN_BYTES;) {
      const record = log.peekUnsent();
      if (record === undefined) break;
      if (record.kind === 'chunk') {
        if (!this.#hasRoom(encoder.sizeOf(record), end)) break;
        end = encoder.encodeOutput(record, this.#wire.framing, this.#buffer, end);
        bytes += record.length;
      } else {
        const json = encoder.encodeEnd(record);
        const message = json === undefined ? Buffer.alloc(0) : this.#frame(json);
        if (!this.#hasRoom(message.length, end)) break;
        end += message.copy(this.#buffer, end);
      }
      log.takeUnsent();
    }
    return end;
  }

  /** An empty buffer is made as large as it must be: a processId may be long. */
  #hasRoom(size: number, end: number): boolean {
    if (end > 0) return end + size <= this.#buffer.length;
    if (size > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(Math.max(size, FLUSH_BYTES));
    return true;
  }

  #frame(json: string): Buffer {
    return this.#wire.framing.frame(Buffer.from(json));
  }
}
