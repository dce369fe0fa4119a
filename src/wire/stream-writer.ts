import type { Writable } from 'node:stream';

/**
 * Writes buffers to a stream so that each can be used again as soon as the stream has let go of it.
 * Most writes are taken by the kernel at once; a callback for each would cost more than the write.
 */
export class StreamWriter {
  #waiting = false;

  constructor(
    readonly stream: Writable,
    private readonly onDrain: () => void,
  ) {}

  /** True: taken. False: the stream keeps the buffer until `onDrain`. */
  write(bytes: Buffer): boolean {
    this.stream.write(bytes, () => this.#flushed());
    // zero only when the kernel has all of it; the callback of this write may come after that of a later one
    this.#waiting = this.stream.writableLength > 0;
    return !this.#waiting;
  }

  #flushed(): void {
    if (!this.#waiting || this.stream.writableLength > 0) return;
    this.#waiting = false;
    this.onDrain();
  }
}
