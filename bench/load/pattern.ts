/** Longer than any chunk of a notification, as base64. A multiple of what any period below makes. */
const GROUPS = 128 * 1024;

/**
 * Output that repeats: what its base64 looks like from any place in it is made once, so that each chunk is
 * compared as a whole, by one memcmp, and not decoded.
 */
export class Pattern {
  readonly #unit: Buffer;
  readonly #encoded: readonly Buffer[];

  /** @param unit what is repeated, of 1 to 3 bytes */
  constructor(unit: string) {
    this.#unit = Buffer.from(unit);
    this.#encoded = Array.from(this.#unit, (_, from) =>
      Buffer.from(this.#bytes(from, GROUPS * 3).toString('base64')),
    );
  }

  /** Is base64 text of the buffer what comes after so many bytes of the output? */
  isAt(offset: number, buffer: Buffer, start: number, end: number): boolean {
    const from = offset % this.#unit.length;
    const encoded = this.#encoded[from];
    // the last group may be shorter
    const whole = Math.max(start, end - 4);
    if (encoded === undefined || whole - start > encoded.length) return false;
    if (buffer.compare(encoded, 0, whole - start, start, whole) !== 0) return false;
    const last = Buffer.from(buffer.toString('latin1', whole, end), 'base64');
    return last.equals(this.#bytes(from + ((whole - start) / 4) * 3, last.length));
  }

  #bytes(from: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length; at++) bytes[at] = this.#unit[(from + at) % this.#unit.length] ?? 0;
    return bytes;
  }
}

export const zeros = new Pattern('\0');
/** What `yes` prints. */
export const yes = new Pattern('y\n');
