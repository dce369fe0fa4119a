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

/** Is told how many bytes blocks take. */
export type BlockMemory = { grown(bytes: number): void; shrunk(bytes: number): void };

/**
 * Full-sized ones that nobody uses, for all logs: a log that drops its oldest frees several at once, and needs
 * them again one by one. New ones for a flood cost a fifth of its CPU (`npm run bench -- pipe-64k`).
 */
const free: Buffer[] = [];

/** As much as one process retains by default. */
const MAX_FREE = 16;

/** The blocks of one log. Each is twice as large as the one before. */
export class BlockPool {
  #current: Block | undefined;
  #nextSize = SMALLEST_BLOCK;
  memory: BlockMemory | undefined;

  /** A block with room in it. */
  current(): Block {
    if (this.#current !== undefined && this.#current.free > 0) return this.#current;
    const size = this.#nextSize;
    const bytes = size === LARGEST_BLOCK ? free.pop() : undefined;
    this.memory?.grown(size);
    this.#nextSize = Math.min(size * 2, LARGEST_BLOCK);
    this.#current = new Block(bytes ?? Buffer.allocUnsafeSlow(size));
    return this.#current;
  }

  /** A chunk in this block was dropped. */
  leave(block: Block): void {
    block.chunks--;
    if (block.chunks > 0) return;
    if (block === this.#current) this.#current = undefined;
    const { bytes } = block;
    this.memory?.shrunk(bytes.length);
    if (bytes.length === LARGEST_BLOCK && free.length < MAX_FREE) free.push(bytes);
  }
}
