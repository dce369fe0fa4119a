import fs from 'node:fs';
import net from 'node:net';
import tty from 'node:tty';
import type { OutputLog } from '../output/log.js';
import type { Stream } from '../protocol.js';
import { afterDoze, skipDoze } from './doze.js';
import { Turns } from './turns.js';

/** A pipe holds 64 KiB: one read empties it. */
const pipeBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * The kernel gives at most 4095 bytes of a PTY a read, and no read fills this: so libuv reads once a turn of the
 * loop. A second read finds nothing and blocks until the kernel's worker has brought more (n_tty_read flushes its
 * work), while other terminals wait: 50 that flood came with 66 MiB/s instead of 49 (npm run bench -- many-tty).
 */
const ttyBuffer = Buffer.allocUnsafeSlow(4096);

/**
 * So many reads of one pipe a turn of the loop, or a flood would hold up everybody's keystrokes. One while
 * starts wait for their turns, and of what has printed more than the bytes below none, in a rush: of fifty that
 * flood, the first would be through before the last one runs.
 */
const READS_PER_TURN = 4;
const FLOOD_BYTES = 32 * 1024;

/**
 * A program that writes less than this at a time is read once a millisecond, not once a write: its pipe
 * holds what comes meanwhile. Never in a PTY, which holds little and is typed to.
 */
const SMALL_READ_BYTES = 1024;
const SMALL_READS_MS = 1;

/**
 * A pipe that holds this much after such a millisecond was full before it was over, or nearly, and its writer
 * waited: for the next hundred it is read after a doze, or at once while it is full.
 */
const FULL_READ_BYTES = 32 * 1024;
const FAST_WRITER_MS = 100;

/**
 * An exited child can have left no more than its pipe holds: 64 KiB, or up to 1 MiB if it set F_SETPIPE_SZ
 * (/proc/sys/fs/pipe-max-size). What comes after that in one go is a grandchild that never stops.
 */
const MAX_DRAIN_BYTES = 1024 * 1024;

export type SourceKind = 'pipe' | 'tty';

/**
 * One descriptor that a child writes to, read into the log. All sources of a kind read into the same
 * buffer: its bytes are copied into the log during the call.
 */
export class Source {
  readonly #socket: net.Socket;
  readonly #buffer: Buffer;
  #paused = false;
  #resting = false;
  #reads = 0;
  #smallReadAt = -Infinity;
  #napped = false;
  #isFastUntil = -Infinity;
  #nap: NodeJS.Timeout | undefined;
  #drainedBytes = 0;
  #ended = false;

  /**
   * @param descriptor non-blocking; closed by this source
   * @param onEnd called once: end of file, and all before it is in the log
   */
  constructor(
    readonly descriptor: number,
    private readonly kind: SourceKind,
    readonly stream: Stream,
    private readonly log: OutputLog,
    private readonly onEnd: () => void,
  ) {
    this.#buffer = kind === 'tty' ? ttyBuffer : pipeBuffer;
    const options: net.SocketConstructorOpts & net.ConnectOpts = {
      readable: true,
      writable: false,
      onread: { buffer: this.#buffer, callback: (length) => this.#take(length) },
    };
    this.#socket =
      kind === 'tty'
        ? new tty.ReadStream(descriptor, options)
        : new net.Socket({ ...options, fd: descriptor });
    // end: libuv takes a short read together with a hang-up for the end, though more may be there
    // (libuv issue 4992). error: EIO, which is how a PTY says that nobody holds its other side
    this.#socket.on('end', () => this.#finish());
    this.#socket.on('error', () => this.#finish());
    this.#socket.resume();
  }

  /** Bytes so far; libuv counts those of the socket. */
  get bytesRead(): number {
    return this.#socket.bytesRead + this.#drainedBytes;
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    if (!this.#resting && !this.#ended) this.#socket.resume();
  }

  /**
   * Reads all that is there now, though it may be paused: what a child that has exited left behind is
   * bounded by what its pipe holds.
   */
  drain(): void {
    // the socket has closed it, and its number may be that of another file by now; nothing was left there (EIO)
    if (this.#socket.destroyed) this.#end();
    for (let total = 0; !this.#ended && total < MAX_DRAIN_BYTES;) {
      let length: number;
      try {
        length = fs.readSync(this.descriptor, this.#buffer, 0, this.#buffer.length, null);
      } catch (error) {
        // EAGAIN: empty, but somebody still holds the other side
        if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return;
        length = 0; // EIO
      }
      if (length === 0) this.#end();
      else this.log.append(this.stream, this.#buffer, length);
      total += length;
      this.#drainedBytes += length;
    }
  }

  /** Closes the descriptor, whatever may still come. */
  destroy(): void {
    this.#end();
  }

  /** False pauses the socket. */
  #take(length: number): boolean {
    this.log.append(this.stream, this.#buffer, length);
    const isFull = length > FULL_READ_BYTES;
    if (this.#napped && isFull) this.#isFastUntil = performance.now() + FAST_WRITER_MS;
    this.#napped = false;
    if (this.kind === 'pipe' && !isFull && this.#isFast()) this.#doze();
    else if (length < SMALL_READ_BYTES && this.kind === 'pipe' && this.#isBusy()) this.#takeNap();
    else this.#countRead();
    return !this.#paused && !this.#resting;
  }

  #countRead(): void {
    skipDoze();
    const isLineWaiting = Turns.isAnybodyWaiting;
    // of a terminal libuv gives no more than one anyway
    if (this.kind === 'tty' && !isLineWaiting) return;
    if (++this.#reads >= (isLineWaiting ? 1 : READS_PER_TURN)) this.#resting = true;
    if (this.#reads === 1) setImmediate(() => this.#nextTurn());
  }

  /** Its writer fills the pipe by small pieces, and nobody waits for any of them. */
  #isFast(): boolean {
    return performance.now() < this.#isFastUntil && !this.log.isAnswering;
  }

  #doze(): void {
    this.#resting = true;
    afterDoze(() => this.#nextTurn());
  }

  /** Small reads come one upon the other, and nobody waits for any of them. */
  #isBusy(): boolean {
    const now = performance.now();
    const isBusy = now - this.#smallReadAt < SMALL_READS_MS;
    this.#smallReadAt = now;
    return isBusy && !this.log.isAnswering;
  }

  #takeNap(): void {
    this.#resting = true;
    this.#napped = true;
    this.#nap ??= setTimeout(() => {
      this.#nap = undefined;
      this.#nextTurn();
    }, SMALL_READS_MS);
  }

  #nextTurn(): void {
    this.#reads = 0;
    if (!this.#resting || this.#nap !== undefined || this.#ended) return;
    if (Turns.isRush && this.#socket.bytesRead > FLOOD_BYTES && !this.log.isAnswering) {
      setImmediate(() => this.#nextTurn());
      return;
    }
    this.#resting = false;
    if (!this.#paused && !this.#ended) this.#socket.resume();
  }

  #finish(): void {
    this.drain();
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#nap);
    this.#socket.destroy();
    this.onEnd();
  }
}
