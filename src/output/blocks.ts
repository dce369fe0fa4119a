/**
 * Where output is kept: blocks that are filled from the front and freed as a whole. A chunk lies in one
 * block, so it can be encoded without being put together first; nothing is moved when a log grows.
 */

/** The first block of a process: most commands print less than this. */
const SMALLEST_BLOCK = 4 * 1024;

/** As long as the longest chunk, and as a full read of a pipe. */
const LARGEST_BLOCK = 64 * 1024;

export class Block {
  /** Chunks that lie here; the block is free when the last of them is dropped. */
  chunks = 0;
  used = 0;

  constructor(readonly bytes: Buffer) {}

  get free(): number {
    return this.bytes.length - this.used;
  }

  append(source: Uint8Array, start: number, length: number): void {
    this.bytes.set(
      start === 0 && length === source.length ? source : source.subarray(start, start + length),
      this.used,
    );
    this.used += length;
  }
}

/** The blocks of one log. Each is twice as large as the one before, and a full-sized one is used again. */
export class BlockPool {
  #current: Block | undefined;
  #spare: Block | undefined;
  #nextSize = SMALLEST_BLOCK;

  /** A block with room in it. */
  current(): Block {
    if (this.#current !== undefined && this.#current.free > 0) return this.#current;
    const block = this.#spare ?? new Block(Buffer.allocUnsafeSlow(this.#nextSize));
    this.#spare = undefined;
    this.#nextSize = Math.min(this.#nextSize * 2, LARGEST_BLOCK);
    this.#current = block;
    return block;
  }

  /** A chunk in this block was dropped. */
  leave(block: Block): void {
    block.chunks--;
    if (block.chunks > 0) return;
    if (block === this.#current) this.#current = undefined;
    if (block.bytes.length < LARGEST_BLOCK) return;
    block.used = 0;
    this.#spare = block;
  }
}
