/**
 * A result or a notification whose JSON is made already, because it is large: the content of a file, a long
 * list, a part of a body. A class, so that whoever turns an event or a snapshot into JSON (the inspector does) sees its length and no more.
 */
export class EncodedJson {
  readonly #onTaken: () => void;

  /**
   * @param json what goes onto the wire, as it is
   * @param onTaken called when the client has taken it, or nearly so: there is room for more
   */
  constructor(
    readonly json: string,
    onTaken: () => void = () => undefined,
  ) {
    this.#onTaken = onTaken;
  }

  taken(): void {
    this.#onTaken();
  }

  toJSON(): object {
    return { length: this.json.length };
  }
}
