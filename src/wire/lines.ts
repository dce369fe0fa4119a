import { isUtf8 } from 'node:buffer';

const CARRIAGE_RETURN = 0x0d;

/**
 * A line may come byte by byte, each in a buffer of some hundred bytes. So after so many parts these are put
 * together, if they are shorter than this on average.
 */
const LOOSE_PARTS = 256;
const SHORT_PART_BYTES = 1024;

/** Cuts a byte stream into lines, without their `\n` or `\r\n`; blank ones are skipped. */
export class LineSplitter {
  #parts: Buffer[] = [];
  /** So many of them have been looked at already. */
  #joined = 0;
  #length = 0;
  #stopped = false;

  /**
   * @param maxBytes a line longer than this is never kept: `tooLong` is called once, and no line after it
   */
  constructor(
    private readonly maxBytes: number,
    private readonly listener: { line(text: string): void; notUtf8(): void; tooLong(): void },
  ) {}

  push(data: Buffer): void {
    let start = 0;
    while (!this.#stopped) {
      const end = data.indexOf(0x0a, start);
      this.#take(data.subarray(start, end < 0 ? data.length : end));
      if (end < 0) return;
      this.#emit();
      start = end + 1;
    }
  }

  /** The stream has ended: what is left is a line, though nothing ended it. */
  end(): void {
    if (!this.#stopped) this.#emit();
    this.#stopped = true;
  }

  #take(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#parts.length - this.#joined === LOOSE_PARTS) this.#join();
    // one more may be the \r that is no part of the line
    const excess = this.#length - this.maxBytes;
    if (excess > 1 || (excess === 1 && part.at(-1) !== CARRIAGE_RETURN)) this.#stop();
  }

  /** Puts the last parts together, if they are short: each byte is copied once at most. */
  #join(): void {
    const joined = Buffer.concat(this.#parts.slice(this.#joined));
    if (joined.length < LOOSE_PARTS * SHORT_PART_BYTES) this.#parts.splice(this.#joined, LOOSE_PARTS, joined);
    this.#joined = this.#parts.length;
  }

  #stop(): void {
    this.#stopped = true;
    this.#parts = [];
    this.listener.tooLong();
  }

  #emit(): void {
    if (this.#stopped) return;
    const [only] = this.#parts;
    const whole = this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#joined = 0;
    this.#length = 0;
    const line = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole;
    if (line.length > this.maxBytes) this.#stop();
    else if (!isUtf8(line)) this.listener.notUtf8();
    else this.#tell(line.toString('utf8'));
  }

  #tell(line: string): void {
    if (/\S/.test(line)) this.listener.line(line);
  }
}
