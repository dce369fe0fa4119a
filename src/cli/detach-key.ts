/** Ctrl-]. */
const KEY = 0x1d;

/** So often in a row, within a second, as in machinectl: no key is held back, and none is lost to a program. */
const TIMES = 3;
const WITHIN_MS = 1_000;

/** How help and messages call it. */
export const DETACH_KEY = 'Ctrl-] three times';

/** Watches what is typed for the key that ends the connection. */
export class DetachKey {
  /** When the last few were typed, without another key between them. */
  #typed: number[] = [];

  /** Whether the key is complete with these bytes. */
  isIn(data: Uint8Array, now = performance.now()): boolean {
    for (const byte of data) {
      this.#typed = byte === KEY ? [...this.#typed, now].slice(-TIMES) : [];
      const [first] = this.#typed;
      if (this.#typed.length === TIMES && first !== undefined && now - first <= WITHIN_MS) return true;
    }
    return false;
  }
}
