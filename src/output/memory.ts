/** Output that nothing is added to any more, and that may be given up. */
export type ClosedOutput = { giveUp(): void };

/**
 * The memory that the output of all processes of a server takes. When it is too much, the closed processes give
 * up what they retain, the one that closed first begins. Those that run are left alone: their own caps
 * hold them. Told once a block of output, not once a chunk.
 */
export class OutputMemory {
  #bytes = 0;
  /** In the order in which they closed. */
  readonly #closed = new Set<ClosedOutput>();

  constructor(private readonly maxBytes: number) {}

  grown(bytes: number): void {
    this.#bytes += bytes;
    this.#enforce();
  }

  shrunk(bytes: number): void {
    this.#bytes -= bytes;
  }

  closed(output: ClosedOutput): void {
    this.#closed.add(output);
    this.#enforce();
  }

  /** It has given up all by itself. */
  forget(output: ClosedOutput): void {
    this.#closed.delete(output);
  }

  #enforce(): void {
    if (this.#bytes <= this.maxBytes) return;
    for (const output of this.#closed) {
      this.#closed.delete(output);
      output.giveUp();
      if (this.#bytes <= this.maxBytes) return;
    }
  }
}
