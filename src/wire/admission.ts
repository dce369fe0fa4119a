import { limitReached, type Limits } from '../limits.js';
import type { Refusal } from './access.js';

/** Counts the connections of a listener, in all and by address, and says whether there may be one more. */
export class Admission {
  #open = 0;
  readonly #byAddress = new Map<string, number>();

  constructor(private readonly limits: Limits) {}

  /** Why none from this address is taken now; undefined: one is. Not 429, which means tokens here. */
  refusal(address: string): Refusal | undefined {
    if (this.#open >= this.limits.connections) {
      return { status: 503, reason: limitReached('connections', this.limits) };
    }
    if (this.#of(address) >= this.limits.connectionsPerAddress) {
      return { status: 503, reason: limitReached('connectionsPerAddress', this.limits) };
    }
    return undefined;
  }

  opened(address: string): void {
    this.#open++;
    this.#byAddress.set(address, this.#of(address) + 1);
  }

  closed(address: string): void {
    this.#open--;
    const left = this.#of(address) - 1;
    if (left > 0) this.#byAddress.set(address, left);
    else this.#byAddress.delete(address);
  }

  #of(address: string): number {
    return this.#byAddress.get(address) ?? 0;
  }
}
