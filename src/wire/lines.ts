/** Cuts a byte stream into lines, without their `\n` or `\r\n`; blank ones are skipped. */
export class LineSplitter {
  #parts: Buffer[] = [];
  #length = 0;
  #stopped = false;

  /**
   * @param maxBytes a line longer than this is never kept: `tooLong` is called once, and no line after it
   */
  constructor(
    private readonly maxBytes: number,
    private readonly listener: { line(text: string): void; tooLong(): void },
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
    if (this.#length <= this.maxBytes) return;
    this.#stopped = true;
    this.#parts = [];
    this.listener.tooLong();
  }

  #emit(): void {
    if (this.#stopped) return;
    const [only] = this.#parts;
    const line = this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#length = 0;
    const text = line.toString('utf8');
    // only a line of nothing but white space is blank; a cheap look first
    if (text.length > 16 || text.trim() !== '')
      this.listener.line(text.endsWith('\r') ? text.slice(0, -1) : text);
  }
}
