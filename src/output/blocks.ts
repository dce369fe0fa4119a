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

/** The blocks of one log. Each is twice as large as the one before, and a full-sized one is used again. */
export class BlockPool {
  #current: Block | undefined;
  #spare: Block | undefined;
  #nextSize = SMALLEST_BLOCK;
  #ended = false;
  memory: BlockMemory | undefined;

  /** A block with room in it. */
  current(): Block {
    if (this.#current !== undefined && this.#current.free > 0) return this.#current;
    const block = this.#spare ?? this.#allocate();
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
    if (this.#ended || this.#spare !== undefined || block.bytes.length < LARGEST_BLOCK) {
      this.memory?.shrunk(block.bytes.length);
      return;
    }
    block.used = 0;
    this.#spare = block;
  }

  /** No further block is needed: none is kept that is free. */
  end(): void {
    this.#ended = true;
    if (this.#spare !== undefined) this.memory?.shrunk(this.#spare.bytes.length);
    this.#spare = undefined;
  }

  #allocate(): Block {
    this.memory?.grown(this.#nextSize);
    return new Block(Buffer.allocUnsafeSlow(this.#nextSize));
  }
}
