/** Who mistypes, or has an old token, is told so a few times first. */
export const MAX_FAILURES = 10;

/** Failures are counted for so long, and who had too many is held off for so long: 10 guesses a minute. */
export const WINDOW_MS = 60_000;

/** Addresses that are remembered, some 100 bytes each; beyond that the one that began first is forgotten. */
export const MAX_ADDRESSES = 10_000;

type Failures = { count: number; until: number };

/** Counts, for each address, what came without a right token. Its memory is bounded, and it needs no timer. */
export class FailedAttempts {
  readonly #byAddress = new Map<string, Failures>();

  /** @param now milliseconds on a clock that never jumps */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Counts one more.
   *
   * @returns undefined while there were not too many; else the milliseconds until the address is heard again,
   * and whether it was only now that there were too many
   */
  add(address: string): { readonly waitMs: number; readonly isNew: boolean } | undefined {
    const now = this.now();
    const failures = this.#current(address, now);
    failures.count++;
    if (failures.count <= MAX_FAILURES) return undefined;
    const isNew = failures.count === MAX_FAILURES + 1;
    if (isNew) failures.until = now + WINDOW_MS;
    return { waitMs: failures.until - now, isNew };
  }

  #current(address: string, now: number): Failures {
    const known = this.#byAddress.get(address);
    if (known !== undefined && now < known.until) return known;
    const fresh = { count: 0, until: now + WINDOW_MS };
    // out and in again: a Map keeps the order in which its keys came
    this.#byAddress.delete(address);
    const [oldest] = this.#byAddress.keys();
    if (oldest !== undefined && this.#byAddress.size >= MAX_ADDRESSES) this.#byAddress.delete(oldest);
    this.#byAddress.set(address, fresh);
    return fresh;
  }
}
