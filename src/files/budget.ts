type Waiting = { readonly amount: number; readonly begin: () => void };

/** So much of something at a time, and no more: who wants it waits, first come, first served. */
export class Budget {
  #free: number;
  readonly #waiting: Waiting[] = [];

  constructor(readonly total: number) {
    this.#free = total;
  }

  /**
   * Resolves when there is this much.
   *
   * @param amount more than there is in all counts as all
   * @returns gives it back; to be called once
   */
  async take(amount: number): Promise<() => void> {
    const taken = Math.min(amount, this.total);
    if (this.#waiting.length > 0 || taken > this.#free) {
      await new Promise<void>((begin) => this.#waiting.push({ amount: taken, begin }));
    } else this.#free -= taken;
    return () => {
      this.#free += taken;
      this.#next();
    };
  }

  /** From now on there is enough for all, and nobody waits. */
  lift(): void {
    this.#free = Infinity;
    this.#next();
  }

  /** Does something that needs this much. */
  async use<T>(amount: number, work: () => Promise<T>): Promise<T> {
    const giveBack = await this.take(amount);
    try {
      return await work();
    } finally {
      giveBack();
    }
  }

  #next(): void {
    let next = this.#waiting[0];
    while (next !== undefined && next.amount <= this.#free) {
      this.#free -= next.amount;
      this.#waiting.shift();
      next.begin();
      next = this.#waiting[0];
    }
  }
}
