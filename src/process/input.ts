import fs from 'node:fs';
import net from 'node:net';
import { admitLateReaders, type LateReaders } from './late-readers.js';
import { errorCode } from './launch.js';

/**
 * A write is answered when no more than this waits in front of the child: room for a large paste, while a
 * client that waits for its answers never fills the server's memory.
 */
const BUFFERED_BYTES = 1024 * 1024;

/**
 * A full PTY can't be waited for by polling (libuv would write to it blocking), so it is tried again after
 * these times, each twice the one before: soon enough for a paste, seldom enough to cost no CPU.
 */
const FIRST_RETRY_MS = 1;
const LAST_RETRY_MS = 16;

/** Ctrl-D: end of file for a terminal that reads lines (termios(3), VEOF). */
const VEOF = Uint8Array.of(4);

/** What a child reads. Bytes arrive whole and in the order of the writes. */
export interface Input {
  /** `done(true)`: accepted. `done(false)`: the child can't be written to any more. Called in order. */
  write(bytes: Uint8Array, done: (accepted: boolean) => void): void;
  /** End of file after what was accepted. */
  end(): void;
  /** Closes at once; what waits is refused. May be repeated. */
  destroy(): void;
}

type Pending = { readonly bytes: Uint8Array; left: number; readonly done: (accepted: boolean) => void };

/** The queue of writes in front of a descriptor, and when each is answered. */
class WriteQueue {
  readonly pending: Pending[] = [];
  /** So many in front are accepted already, and so many bytes of theirs still wait. */
  #accepted = 0;
  #acceptedBytes = 0;

  add(bytes: Uint8Array, done: (accepted: boolean) => void): void {
    this.pending.push({ bytes, left: bytes.length, done });
    this.#accept();
  }

  /** `count` more bytes of the first write have been taken. */
  taken(count: number): void {
    const [first] = this.pending;
    if (first === undefined) return;
    first.left -= count;
    if (this.#accepted > 0) this.#acceptedBytes -= count;
    this.#accept();
    if (first.left > 0) return;
    this.pending.shift();
    this.#accepted--;
  }

  refuse(): void {
    const refused = this.pending.splice(0).slice(this.#accepted);
    this.#accepted = 0;
    this.#acceptedBytes = 0;
    for (const write of refused) write.done(false);
  }

  #accept(): void {
    for (let next = this.pending[this.#accepted]; next !== undefined; next = this.pending[this.#accepted]) {
      if (this.#acceptedBytes + next.left > BUFFERED_BYTES) return;
      this.#accepted++;
      this.#acceptedBytes += next.left;
      next.done(true);
    }
  }
}

/** Writes to the master side of a PTY: at once where it takes them (4 µs), else by a queue. */
export class PtyInput implements Input {
  readonly #queue = new WriteQueue();
  #retryMs = FIRST_RETRY_MS;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param master non-blocking; closed by its source, not here */
  constructor(private readonly master: number) {}

  write(bytes: Uint8Array, done: (accepted: boolean) => void): void {
    if (this.#closed) {
      done(false);
      return;
    }
    this.#queue.add(bytes, done);
    if (this.#timer === undefined) this.#flush();
  }

  end(): void {
    this.write(VEOF, () => undefined);
  }

  destroy(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queue.refuse();
  }

  #flush(): void {
    this.#timer = undefined;
    for (let first = this.#queue.pending[0]; first !== undefined; first = this.#queue.pending[0]) {
      const written = first.left === 0 ? 0 : this.#tryWrite(first);
      if (written === undefined) return;
      const blocked = written < first.left;
      this.#queue.taken(written);
      if (written > 0) this.#retryMs = FIRST_RETRY_MS;
      if (blocked) {
        this.#retry();
        return;
      }
    }
  }

  /** How many bytes were taken; undefined if the terminal is gone. */
  #tryWrite({ bytes, left }: Pending): number | undefined {
    try {
      return fs.writeSync(this.master, bytes, bytes.length - left, left);
    } catch (error) {
      if (errorCode(error) === 'EAGAIN') return 0;
      this.destroy();
      return undefined;
    }
  }

  #retry(): void {
    this.#timer = setTimeout(() => this.#flush(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }
}

/** Writes to a pipe. */
export class PipeInput implements Input {
  readonly #queue = new WriteQueue();
  readonly #socket: net.Socket;
  #lateReaders: LateReaders | undefined;
  #ending = false;

  /**
   * @param descriptor the writing end, non-blocking; closed here
   * @param onBroken the child closed its end
   */
  constructor(
    private readonly descriptor: number,
    onBroken: () => void,
  ) {
    this.#socket = new net.Socket({ fd: descriptor, readable: false, writable: true });
    this.#socket.on('error', () => {
      this.destroy();
      onBroken();
    });
  }

  write(bytes: Uint8Array, done: (accepted: boolean) => void): void {
    if (this.#ending) {
      done(false);
      return;
    }
    this.#queue.add(bytes, done);
    this.#socket.write(bytes, (error) => {
      if (error === undefined || error === null) this.#written(bytes.length);
    });
  }

  end(): void {
    this.#ending = true;
    this.#closeWhenWritten();
  }

  destroy(): void {
    this.#ending = true;
    this.#queue.refuse();
    this.#socket.destroy();
    // once: it is destroyed at the exit and at the end of the process, and by then its number may be a stranger's
    this.#lateReaders?.destroy();
    this.#lateReaders = undefined;
  }

  #written(length: number): void {
    this.#queue.taken(length);
    if (this.#ending) this.#closeWhenWritten();
  }

  #closeWhenWritten(): void {
    if (this.#queue.pending.length > 0 || this.#socket.destroyed) return;
    this.#lateReaders = admitLateReaders(this.descriptor);
    this.#socket.destroy();
  }
}
