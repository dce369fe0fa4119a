/** The newest items of many. All are numbered from 0, the ones that are gone and the ones left out too. */
export class Tail<T> {
  readonly #items: { readonly at: number; readonly item: T }[] = [];
  #count = 0;

  constructor(private readonly limit: number) {}

  /** How many there have been. */
  get count(): number {
    return this.#count;
  }

  add(item: T): void {
    this.#items.push({ at: this.#count++, item });
    if (this.#items.length > this.limit) this.#items.shift();
  }

  /** There was one more, which is not kept. */
  leaveOut(): void {
    this.#count++;
  }

  /** Those from a number on that are still here, and how many are not. */
  from(number: number): { readonly items: readonly T[]; readonly missed: number } {
    const items = this.#items.filter(({ at }) => at >= number).map(({ item }) => item);
    return { items, missed: this.#count - number - items.length };
  }
}
