const FIRST_SIZE = 512 * 1024;

/** What has come and is not a whole message yet: one buffer that the socket reads into, so nothing is copied twice. */
export class Inbox {
  buffer = Buffer.allocUnsafeSlow(FIRST_SIZE);
  /** Where the next byte goes. */
  end = 0;

  /** The room that is left, to be read into. */
  space(): Buffer {
    return this.buffer.subarray(this.end);
  }

  /** What is before `start` is done with. Makes room for a message of `need` bytes, if one is longer than that. */
  consumed(start: number, need = 0): void {
    const left = this.end - start;
    if (need > this.buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(need, this.buffer.length * 2));
      this.buffer.copy(grown, 0, start, this.end);
      this.buffer = grown;
    } else if (start > 0) {
      this.buffer.copyWithin(0, start, this.end);
    }
    this.end = left;
  }
}
