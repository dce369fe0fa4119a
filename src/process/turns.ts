/**
 * Starts wait in line and go one a turn of the loop. A fork blocks the loop for 3–6 ms (more with more
 * memory); a hundred in one turn would hold up every keystroke of every connection for half a second.
 */
export class Turns {
  readonly #waiting = new Set<() => void>();
  #scheduled = false;

  /** Runs `start` when its turn comes. The function returned takes it out of the line, and says whether it was there. */
  enter(start: () => void): () => boolean {
    const entry = (): void => start();
    this.#waiting.add(entry);
    this.#schedule();
    return () => this.#waiting.delete(entry);
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const [next] = this.#waiting;
      if (next !== undefined) {
        this.#waiting.delete(next);
        next();
      }
      this.#schedule();
    });
  }
}
