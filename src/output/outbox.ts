import type { Wire } from '../wire/wire.js';
import { giveBuffer, takeBuffer } from './buffers.js';
import type { OutputLog } from './log.js';
import type { Outlet } from './outlet.js';
import type { LogRecord } from './record.js';

/** On the wire for one process before it is the next one's turn: a full read of a pipe, as base64. */
const TURN_BYTES = 96 * 1024;

/** A process with no more than this to send goes before those with more: keystrokes before floods. */
const QUICK_BYTES = 4 * 1024;

/** More than this isn't copied together: the content of a file, a long read. */
const JOINED_BYTES = 64 * 1024;

/**
 * A client that doesn't take its answers is not read either while more than this waits: far more than any
 * client asks for at a time, but for process/read of large logs.
 */
const BACKLOG_BYTES = 4 * 1024 * 1024;

/**
 * After output has left, more of it waits for so long to be joined by others, unless there is much of it or
 * somebody waits for it (OutputLog.canWait). A program that writes byte by byte made a notification and a
 * write of each; now it takes a quarter of the CPU: `npm run bench -- write-80 write-1`.
 */
const GATHER_MS = 1;

/**
 * All that goes to one client, in one place, because order and fairness are decided here: answers first,
 * then processes that have little to say, then the others by turns. It takes output from the logs only
 * while the wire takes it from here; what the wire doesn't take stays in the logs, which make their
 * sources wait. So a client that does not read costs one buffer and two marks a process, never more.
 */
export class Outbox implements Outlet {
  readonly #wire: Wire;
  readonly #onFlushed: () => void;
  /** Framed control messages, in pieces, and their bytes. */
  #control: Buffer[] = [];
  #controlBytes = 0;
  /** Who is to be told when the messages in `control` are taken, and those that the wire has now. */
  #waiting: (() => void)[] = [];
  #told: (() => void)[] = [];
  /** Logs with something unsent, in the order in which their turn comes. */
  readonly #ready = new Set<OutputLog>();
  /** The buffer that a blocked wire keeps. */
  #lent: Buffer | undefined;
  #blocked = false;
  #scheduled: NodeJS.Immediate | undefined;
  #gathering: NodeJS.Timeout | undefined;
  /** When output left for the last time. */
  #sentAt = -Infinity;
  #closed = false;
  #onEmpty: (() => void) | undefined;

  /** @param onFlushed called when something has left */
  constructor(wire: Wire, onFlushed: () => void = () => undefined) {
    this.#wire = wire;
    this.#onFlushed = onFlushed;
  }

  send(json: string | Buffer, onTaken?: () => void): void {
    if (this.#closed) return;
    if (onTaken !== undefined) this.#waiting.push(onTaken);
    for (const piece of this.#frame(json)) {
      this.#control.push(piece);
      this.#controlBytes += piece.length;
    }
    this.#schedule();
  }

  get isBacklogged(): boolean {
    return this.#controlBytes > BACKLOG_BYTES;
  }

  onUnsent(log: OutputLog): void {
    if (this.#closed) {
      log.detach();
      return;
    }
    this.#ready.add(log);
    if (log.canWait && performance.now() - this.#sentAt < GATHER_MS) this.#gather();
    else this.#schedule();
  }

  drained(): void {
    this.#blocked = false;
    this.#tellTaken();
    if (this.#lent !== undefined) giveBuffer(this.#lent);
    this.#lent = undefined;
    this.flush();
    if (this.isEmpty) this.#onEmpty?.();
  }

  get isEmpty(): boolean {
    return this.#control.length === 0 && this.#ready.size === 0 && !this.#blocked;
  }

  onEmpty(callback: () => void): void {
    this.#onEmpty = callback;
  }

  close(): void {
    this.#closed = true;
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    clearTimeout(this.#gathering);
    this.#control = [];
    this.#controlBytes = 0;
    this.#waiting = [];
    this.#told = [];
    for (const log of this.#ready) log.detach();
    this.#ready.clear();
    // a lent buffer is the wire's for ever: it may still be read from
  }

  flush(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    while (!this.#blocked && !this.#closed && (this.#control.length > 0 || this.#ready.size > 0)) {
      if (this.#control.length > 0) this.#writeControl();
      else this.#writeOutput();
    }
    this.#onFlushed();
  }

  /** Flushes at the end of this turn of the loop, so that all of a turn goes out together. */
  #schedule(): void {
    if (this.#blocked || this.#scheduled !== undefined || this.#closed) return;
    this.#scheduled = setImmediate(() => {
      this.#scheduled = undefined;
      this.flush();
    });
  }

  #gather(): void {
    if (this.#blocked || this.#scheduled !== undefined) return;
    this.#gathering ??= setTimeout(() => this.flush(), GATHER_MS);
  }

  #writeControl(): void {
    const bytes = this.#takeControl();
    if (this.#control.length === 0) {
      this.#told = this.#waiting;
      this.#waiting = [];
    }
    this.#blocked = !this.#wire.write(bytes);
    if (!this.#blocked) this.#tellTaken();
  }

  #tellTaken(): void {
    for (const onTaken of this.#told.splice(0)) onTaken();
  }

  /** All, put together; where that is much to copy, the first piece. */
  #takeControl(): Buffer {
    const [first] = this.#control;
    if (first !== undefined && (this.#control.length === 1 || this.#controlBytes > JOINED_BYTES)) {
      this.#control.shift();
      this.#controlBytes -= first.length;
      return first;
    }
    const pieces = this.#control;
    this.#control = [];
    this.#controlBytes = 0;
    return Buffer.concat(pieces);
  }

  /** Encodes as many whole turns as a buffer holds, and writes them. */
  #writeOutput(): void {
    const buffer = takeBuffer();
    let end = 0;
    for (const log of this.#inTurn()) {
      if (end + TURN_BYTES > buffer.length) break;
      this.#ready.delete(log);
      end = this.#encodeTurn(log, buffer, end);
      log.sent();
      if (log.peekUnsent() !== undefined) this.#ready.add(log);
      if (this.#control.length > 0) break;
    }
    this.#sentAt = performance.now();
    if (end > 0 && !this.#wire.write(buffer.subarray(0, end))) {
      this.#blocked = true;
      this.#lent = buffer;
    } else {
      giveBuffer(buffer);
    }
  }

  /** Those with little to send first, then the others in the order in which they came. */
  *#inTurn(): Generator<OutputLog> {
    const waiting = [...this.#ready];
    for (const log of waiting) if (log.unsentBytes <= QUICK_BYTES) yield log;
    for (const log of waiting) if (log.unsentBytes > QUICK_BYTES) yield log;
  }

  /** Encodes one turn of one log from `at` on; answers where it ends. */
  #encodeTurn(log: OutputLog, buffer: Buffer, at: number): number {
    const { encoder } = log;
    let end = at;
    for (let record = log.peekUnsent(); record !== undefined; record = log.peekUnsent()) {
      if (record.kind === 'chunk' && encoder.sizeOf(record) <= TURN_BYTES) {
        if (end + encoder.sizeOf(record) > at + TURN_BYTES) break;
        end = encoder.encodeOutput(record, this.#wire.framing, buffer, end);
      } else {
        const message = this.#frameRecord(log, record);
        if (message.length > TURN_BYTES) {
          // of a process with an enormous id: it has to go by itself, and in order
          if (end > at) break;
          this.#sendAlone(message);
          log.takeUnsent();
          break;
        }
        if (end + message.length > at + TURN_BYTES) break;
        end += message.copy(buffer, end);
      }
      log.takeUnsent();
    }
    return end;
  }

  #frameRecord({ encoder }: OutputLog, record: LogRecord): Buffer {
    const json = encoder.encode(record);
    return json === undefined ? Buffer.alloc(0) : Buffer.concat(this.#frame(json));
  }

  /** The next write is this message. */
  #sendAlone(message: Buffer): void {
    this.#control.unshift(message);
    this.#controlBytes += message.length;
  }

  #frame(json: string | Buffer): Buffer[] {
    return this.#wire.framing.frame(typeof json === 'string' ? Buffer.from(json) : json);
  }
}
