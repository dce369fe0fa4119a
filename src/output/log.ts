import type { EndReason, Stream } from '../protocol.js';
import { BlockPool } from './blocks.js';
import type { NotificationEncoder } from './encode.js';
import type { ClosedOutput, OutputMemory } from './memory.js';
import type { Chunk, Close, Exit, LogRecord } from './record.js';

/** One notification carries at most this much output (docs/protocol.md, Output). */
export const MAX_CHUNK_BYTES = 64 * 1024;

/** No more chunks than this are retained, however small they are (docs/protocol.md, Output). */
const MAX_RETAINED_CHUNKS = 50_000;

/**
 * Beyond this much unsent output the sources of the process are paused, and below the lower mark they go
 * on: two reads of a full pipe (64 KiB each), so that one is on its way to the client while the next comes.
 */
const PAUSE_ABOVE_BYTES = 128 * 1024;
const RESUME_BELOW_BYTES = 64 * 1024;

/**
 * As much output as this is worth a write of its own: it waits for no more. Two reads of a terminal: a client that is
 * woken by them keeps its core from idling, and the kernel's worker that brings the next ones wakes sooner. With
 * 16 KiB `tty` had 0.83 of the MiB/s.
 */
const GATHERED_BYTES = 2 * 4095;

/** Output that comes so soon after input counts as the answer to it: longer than a program takes for an echo. */
const ANSWER_MS = 50;

/** What one process/read gives: the chunks to send, and where to read on. */
export type Page = { readonly chunks: readonly Chunk[]; readonly nextSeq: number };

/** Who is told when there is something to send. Without one (nobody attached) nothing waits to be sent. */
export type LogReader = { onUnsent(log: OutputLog): void };

/** What fills the log, and can be made to wait. */
export type Valve = { pause(): void; resume(): void };

/**
 * The output of one process: the newest bytes under a cap, numbered without gaps, and which of them have
 * been sent. One copy is made of each byte, from the source's buffer into a block.
 *
 * Bytes join the last chunk while it is unsent and unread; so a thousand small writes become one
 * notification when the connection is busy, and one each when it is not.
 */
export class OutputLog implements ClosedOutput {
  /** `records[#first]` is the oldest retained; those before it are dropped, and cut off now and then. */
  #records: LogRecord[] = [];
  #first = 0;
  /** Index of the first record that is not sent yet. */
  #unsentFrom = 0;
  #unsentBytes = 0;
  /** All bytes so far, and how many of them the client has taken. */
  #appendedBytes = 0;
  #acknowledgedBytes = 0;
  /** When there was output, and input, for the last time. */
  #outputAt = performance.now();
  #inputAt = -Infinity;
  #retainedBytes = 0;
  #retainedChunks = 0;
  #droppedBytes = 0;
  #nextSeq = 1;
  /** Kept apart from its record, which is dropped with the output around it; 0: not yet. */
  #exitSeq = 0;
  #sealed = true;
  #full = false;
  #released = false;
  #givenUp = false;
  #memory: OutputMemory | undefined;
  #reader: LogReader | undefined;
  #valve: Valve | undefined;
  #onAppend: (() => void) | undefined;
  #onExitSent: (() => void) | undefined;
  readonly #pool = new BlockPool();

  /**
   * @param cap bytes retained at most, once they are sent
   * @param encoder writes this process's notifications
   * @param window bytes that the client lets be on their way before it acknowledges some
   */
  constructor(
    readonly cap: number,
    readonly encoder: NotificationEncoder,
    private readonly window = Infinity,
  ) {}

  /** From now on its blocks count among those of the server. To be called before the first output. */
  countIn(memory: OutputMemory): void {
    this.#memory = memory;
    this.#pool.memory = memory;
  }

  /** From now on what is appended waits until this reader has sent it. What came before is to be read. */
  attach(reader: LogReader): void {
    this.#reader = reader;
    this.#sealed = true;
    this.#skipUnsent();
  }

  /**
   * Nobody reads any more. Without a window all counts as sent, so the oldest is dropped and no source waits.
   * With one nothing is dropped that the client has not taken: the process waits for it to come back.
   */
  detach(): void {
    this.#reader = undefined;
    if (!this.#hasWindow) this.#skipUnsent();
  }

  #skipUnsent(): void {
    this.#unsentFrom = this.#records.length;
    this.#unsentBytes = 0;
    this.#trim();
    this.#openValve();
  }

  get #hasWindow(): boolean {
    return this.window !== Infinity;
  }

  /** The sources that are paused while too much is unsent. */
  throttle(valve: Valve): void {
    this.#valve = valve;
    if (this.#full) valve.pause();
  }

  /** Calls back once, after the next thing appended: output, exit or close. */
  onNextAppend(callback: () => void): void {
    this.#onAppend = callback;
  }

  /** Calls back once the exit is encoded for the client; not if nobody is there to be told. */
  onExitSent(callback: () => void): void {
    this.#onExitSent = callback;
  }

  /** Takes `length` bytes from the start of `bytes`, which the caller may reuse at once. */
  append(stream: Stream, bytes: Uint8Array, length: number): void {
    if (this.#released || length === 0) return;
    for (let taken = 0; taken < length;) {
      const chunk = this.#openChunk(stream);
      const size = Math.min(length - taken, MAX_CHUNK_BYTES - chunk.length, chunk.block.free);
      chunk.block.append(bytes, taken, size);
      chunk.length += size;
      taken += size;
    }
    this.#retainedBytes += length;
    this.#appendedBytes += length;
    this.#outputAt = performance.now();
    if (this.#reader === undefined && !this.#hasWindow) this.#unsentFrom = this.#records.length;
    else this.#unsentBytes += length;
    this.#trim();
    if (this.#unsentBytes > PAUSE_ABOVE_BYTES && !this.#full) {
      this.#full = true;
      this.#valve?.pause();
    }
    this.#appended();
  }

  /** Takes the next number for the exit of the process: after all output so far. */
  exited(exitCode: number, signal: string | null, reason: EndReason): void {
    this.#exitSeq = this.#nextSeq;
    this.#mark({ kind: 'exited', seq: this.#nextSeq++, exitCode, signal, reason });
  }

  /** Takes the last number. No source is left. */
  closed(): void {
    this.#valve = undefined;
    this.#mark({ kind: 'closed', seq: this.#nextSeq++ });
    this.#memory?.closed(this);
  }

  /** The next record that may be sent. */
  peekUnsent(): LogRecord | undefined {
    const onTheirWay = this.#appendedBytes - this.#unsentBytes - this.#acknowledgedBytes;
    return onTheirWay < this.window ? this.#records[this.#unsentFrom] : undefined;
  }

  /** The record peeked at is encoded. It is sealed by that: what comes later gets a number of its own. */
  takeUnsent(): void {
    const record = this.#records[this.#unsentFrom++];
    if (record?.kind === 'chunk') this.#unsentBytes -= record.length;
    else if (record?.kind === 'exited') this.#onExitSent?.();
    if (this.#unsentFrom === this.#records.length) this.#sealed = true;
  }

  /** The client has taken so many bytes of this process in all; as many more may be sent. */
  acknowledge(bytes: number): void {
    // it may have read more than was sent to it
    this.#acknowledgedBytes = Math.max(this.#acknowledgedBytes, Math.min(bytes, this.#appendedBytes));
    this.#trim();
    if (this.hasUnsent) this.#reader?.onUnsent(this);
  }

  /** To be called when the records taken have been encoded: room is made, the sources may go on. */
  sent(): void {
    this.#trim();
    if (this.#unsentBytes < RESUME_BELOW_BYTES) this.#openValve();
  }

  /** The process was written to. */
  noteInput(): void {
    this.#inputAt = performance.now();
  }

  /** Milliseconds since the latest output or input, by a clock that doesn't jump. */
  get quietMs(): number {
    return performance.now() - Math.max(this.#outputAt, this.#inputAt);
  }

  /** Its latest output may be the answer to what was written to it: somebody waits for that. */
  get isAnswering(): boolean {
    return this.#outputAt - this.#inputAt < ANSWER_MS;
  }

  /** What is unsent loses nothing by waiting a moment for more: it is output, little, and no answer. */
  get canWait(): boolean {
    return this.#unsentBytes < GATHERED_BYTES && !this.#sealed && !this.isAnswering;
  }

  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  get hasUnsent(): boolean {
    return this.#unsentFrom < this.#records.length;
  }

  /** The number that the next record will get. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  get retainedBytes(): number {
    return this.#retainedBytes;
  }

  get droppedBytes(): number {
    return this.#droppedBytes;
  }

  /**
   * Retained output after `afterSeq`: the first chunk whole, then whole chunks while they fit into
   * `maxBytes`. `limited` says whether the client asked for that limit (docs/protocol.md, process/read).
   */
  page(afterSeq: number, maxBytes: number, limited: boolean): Page {
    const chunks: Chunk[] = [];
    let bytes = 0;
    let cut = limited;
    for (let at = this.#indexAfter(afterSeq); at < this.#records.length; at++) {
      const record = this.#records[at];
      if (record?.kind !== 'chunk') continue;
      if (chunks.length > 0 && (bytes >= maxBytes || bytes + record.length > maxBytes)) {
        cut = true;
        break;
      }
      chunks.push(record);
      bytes += record.length;
    }
    if (chunks.length > 0 && chunks.at(-1) === this.#records.at(-1)) this.#sealed = true;
    const last = chunks.at(-1);
    return { chunks, nextSeq: cut && last !== undefined ? last.seq + 1 : this.#nextSeq };
  }

  /** Is there retained output, or the exit, after `afterSeq`? */
  hasEventAfter(afterSeq: number): boolean {
    const last = this.#records.at(-1);
    const isRetained = last !== undefined && this.#first < this.#records.length && last.seq > afterSeq;
    return isRetained || this.#exitSeq > afterSeq;
  }

  /** Gives up the retained output; what is unsent still goes out. */
  release(): void {
    this.#released = true;
    this.#memory?.forget(this);
    this.#trim();
  }

  /**
   * Retains nothing more, as if the cap were 0: the server needs the memory. What is unsent still goes out, and
   * what a client with a window has not taken stays until it has.
   */
  giveUp(): void {
    this.#givenUp = true;
    this.#trim();
  }

  /** For the inspector: counts, never bytes. */
  toJSON(): object {
    return {
      nextSeq: this.#nextSeq,
      retainedBytes: this.#retainedBytes,
      unsentBytes: this.#unsentBytes,
      droppedBytes: this.#droppedBytes,
    };
  }

  #openChunk(stream: Stream): Chunk {
    const last = this.#records.at(-1);
    if (
      !this.#sealed &&
      last?.kind === 'chunk' &&
      last.stream === stream &&
      last.length < MAX_CHUNK_BYTES &&
      last.block.free > 0
    ) {
      return last;
    }
    const block = this.#pool.current();
    block.chunks++;
    const chunk: Chunk = { kind: 'chunk', seq: this.#nextSeq++, stream, block, start: block.used, length: 0 };
    this.#records.push(chunk);
    this.#retainedChunks++;
    this.#sealed = false;
    return chunk;
  }

  #mark(record: Exit | Close): void {
    this.#records.push(record);
    this.#sealed = true;
    if (this.#reader === undefined && !this.#hasWindow) this.#unsentFrom = this.#records.length;
    this.#appended();
  }

  #appended(): void {
    if (this.#reader !== undefined) this.#reader.onUnsent(this);
    const callback = this.#onAppend;
    this.#onAppend = undefined;
    callback?.();
  }

  #openValve(): void {
    if (!this.#full) return;
    this.#full = false;
    this.#valve?.resume();
  }

  /** Drops the oldest whole chunks above the limits; what is unsent stays. */
  #trim(): void {
    const cap = this.#released || this.#givenUp ? 0 : this.cap;
    while (
      this.#first < this.#unsentFrom &&
      (this.#retainedBytes > cap || this.#retainedChunks > MAX_RETAINED_CHUNKS)
    ) {
      const record = this.#records[this.#first];
      if (record?.kind === 'chunk' && this.#isAwaited(record)) return;
      this.#first++;
      if (record?.kind !== 'chunk') continue;
      this.#retainedBytes -= record.length;
      this.#retainedChunks--;
      // what is given up in the end was not dropped to make room
      if (!this.#released) this.#droppedBytes += record.length;
      if (record === this.#records.at(-1)) this.#sealed = true;
      this.#pool.leave(record.block);
    }
    // cut the dropped ones off when they are the greater part: each record is moved once on average
    if (this.#first > 64 && this.#first * 2 > this.#records.length) {
      this.#records.splice(0, this.#first);
      this.#unsentFrom -= this.#first;
      this.#first = 0;
    }
  }

  /** With a window: the client has not taken all of this oldest chunk, and may have to read it again. */
  #isAwaited(oldest: Chunk): boolean {
    const isTaken = this.#droppedBytes + oldest.length <= this.#acknowledgedBytes;
    return this.#hasWindow && !this.#released && !isTaken;
  }

  /** Index of the first retained record with a higher seq (they ascend: a binary search). */
  #indexAfter(seq: number): number {
    let low = this.#first;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const record = this.#records[middle];
      if (record !== undefined && record.seq <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
