import type { Pattern } from './pattern.js';

/** One process, as a client sees it: counted, and checked, but not kept. */
export class Remote {
  readonly startedAt = performance.now();
  bytes = 0;
  notifications = 0;
  exitCode: unknown;
  /** When its exit was told (`performance.now()`). */
  exitedAt = NaN;
  onOutput: (() => void) | undefined;
  /** Resolves at process/closed. */
  readonly closed: Promise<void>;
  #resolve: () => void = () => undefined;
  #reject: (reason: Error) => void = () => undefined;
  /** Numbers that came after a higher one. Some servers tell an exit before the last output. */
  disorder = 0;
  /** How many numbers came, and the highest of them: they are the same if none is missing. */
  #told = 0;
  #highest = 0;
  #fault: string | undefined;

  /** @param content what it prints; default: only the length is looked at */
  constructor(
    readonly id: string,
    private readonly content: Pattern | undefined,
  ) {
    this.closed = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.closed.catch(() => undefined); // who waits is told, and nobody has to
  }

  /** `bytes` of output, which are base64 in this part of the buffer. */
  output(seq: number, bytes: number, buffer: Buffer, start: number, end: number): void {
    this.#number(seq);
    // where in the output it belongs is only known as long as all came in order
    if (this.disorder === 0 && this.content?.isAt(this.bytes, buffer, start, end) === false) {
      this.#fault ??= `wrong content in the ${bytes} bytes after ${this.bytes}`;
    }
    this.bytes += bytes;
    this.notifications++;
    this.onOutput?.();
  }

  exited(seq: number, exitCode: unknown): void {
    this.#number(seq);
    this.exitCode = exitCode;
    this.exitedAt = performance.now();
  }

  close(seq: number): void {
    this.#number(seq);
    this.#resolve();
  }

  lost(reason: Error): void {
    this.#reject(reason);
  }

  /** Throws if a byte, a number or the exit code is not what it must be. To be called when it is closed. */
  check(bytes: number): void {
    const missing = this.#highest - this.#told;
    if (missing !== 0) this.#fault ??= `${missing} numbers did not come`;
    if (this.bytes !== bytes) this.#fault ??= `${this.bytes} bytes of output, not ${bytes}`;
    if (this.exitCode !== 0) this.#fault ??= `exit code ${String(this.exitCode)}`;
    if (this.#fault !== undefined) throw new Error(`${this.id}: ${this.#fault}`);
  }

  #number(seq: number): void {
    this.#told++;
    if (Number.isNaN(seq)) this.#fault ??= 'something came without a number';
    if (seq < this.#highest) this.disorder++;
    this.#highest = Math.max(this.#highest, seq);
  }
}
