import { HttpError } from './errors.js';
import type { Outgoing } from './request.js';

/** Timers hold no more (2^31-1 ms, 24.8 days); a longer delay would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** One request and its response, until its deadline or until it is broken off. */
export class Exchange {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;

  constructor(readonly outgoing: Outgoing) {
    const { timeoutMs } = outgoing;
    if (timeoutMs === undefined) return;
    const expire = (): void => this.abort(new HttpError(`not done within ${timeoutMs} ms`));
    this.#timer = setTimeout(expire, Math.min(timeoutMs, LONGEST_DELAY_MS));
  }

  /** Whatever is waited for rejects with this. */
  abort(reason: HttpError): void {
    this.#abort.abort(reason);
    this.#wake?.();
  }

  /** To be called when all is over. */
  end(): void {
    clearTimeout(this.#timer);
  }

  /** Resolves with the head of the response. */
  async send(dispatcher: RequestInit['dispatcher']): Promise<Response> {
    const { url, init } = this.outgoing;
    const { signal } = this.#abort;
    return this.#orReason(
      fetch(url, { ...init, signal, ...(dispatcher === undefined ? {} : { dispatcher }) }),
    );
  }

  /** The body of the response, as it comes. */
  async *read({ body }: Response): AsyncGenerator<Uint8Array> {
    if (body === null) return;
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await this.#orReason(reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      // what is not read to its end is broken off; it may have failed, which was told
      await reader.cancel().catch(() => undefined);
    }
  }

  /** Waits for a call of what it hands over. */
  async until(begin: (done: () => void) => void): Promise<void> {
    this.#abort.signal.throwIfAborted();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      begin(resolve);
    });
    this.#abort.signal.throwIfAborted();
  }

  /** Why it was broken off, in place of what fetch makes of that. */
  async #orReason<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      this.#abort.signal.throwIfAborted();
      throw error;
    }
  }
}
