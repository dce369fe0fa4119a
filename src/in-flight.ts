import type { RequestId } from './rpc.js';

/**
 * A client that sends more input than this without waiting for the answers is not read until its children
 * have taken some: input is bounded by this, whatever they do. As large as the largest message.
 */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

type Request = { readonly processId: string | undefined; readonly inputBytes: number };

/**
 * The requests of one connection that aren't answered yet. Replies don't need it; it is there for what
 * must not happen: that a process actor crashes and its requests are never answered, or that unanswered
 * input fills the memory.
 */
export class InFlight {
  /** A client may use an id twice. */
  readonly #requests = new Map<RequestId, Request[]>();
  #inputBytes = 0;

  add(id: RequestId, processId: string | undefined, inputBytes: number): void {
    const request = { processId, inputBytes };
    const same = this.#requests.get(id);
    if (same === undefined) this.#requests.set(id, [request]);
    else same.push(request);
    this.#inputBytes += inputBytes;
  }

  /** This request has been answered. */
  settle(id: RequestId): void {
    const same = this.#requests.get(id);
    const request = same?.shift();
    if (same?.length === 0) this.#requests.delete(id);
    this.#inputBytes -= request?.inputBytes ?? 0;
  }

  /** Ids of the requests about one process, each as often as it waits. */
  of(processId: string): RequestId[] {
    return [...this.#requests].flatMap(([id, same]) =>
      same.filter((request) => request.processId === processId).map(() => id),
    );
  }

  get isOverfull(): boolean {
    return this.#inputBytes > MAX_INPUT_BYTES;
  }
}
