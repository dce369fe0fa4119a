/** Fifty starts take so long; who starts without end holds up no flood for longer. */
const RUSH_MS = 250;

/**
 * Starts wait in line and go one a turn of the loop. A fork blocks the loop for 3–6 ms (more with more
 * memory); a hundred in one turn would hold up every keystroke of every connection for half a second.
 */
export class Turns {
  /** When the line began of which the end has not been seen since. */
  static #since = -Infinity;
  /** Starts in line, of all servers in this process: they share its loop. */
  static #inLine = 0;
  readonly #waiting = new Set<() => void>();
  #scheduled = false;

  /** Runs `start` when its turn comes. The function returned takes it out of the line, and says whether it was there. */
  enter(start: () => void): () => boolean {
    const entry = (): void => start();
    this.#waiting.add(entry);
    if (Turns.#inLine++ === 0) Turns.#since = performance.now();
    this.#schedule();
    return () => this.#leave(entry);
  }

  /** Some start waits for its turn: who can do with less of the loop takes less of it. */
  static get isAnybodyWaiting(): boolean {
    return Turns.#inLine > 0;
  }

  /** So do others that came with it, and not for long: floods wait for them. */
  static get isRush(): boolean {
    return Turns.isAnybodyWaiting && performance.now() - Turns.#since < RUSH_MS;
  }

  #leave(entry: () => void): boolean {
    const wasThere = this.#waiting.delete(entry);
    if (wasThere) Turns.#inLine--;
    return wasThere;
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const [next] = this.#waiting;
      if (next !== undefined) {
        this.#leave(next);
        next();
      }
      this.#schedule();
    });
  }
}
