import type { ConnectionEvent } from '../machines/connection.js';
import type { LimitName, Limits } from './limits.js';
import type { RequestId } from './rpc.js';

/**
 * A client that sends more input than this without waiting for the answers is not read until its children
 * have taken some: input is bounded by this, whatever they do. As large as the largest message.
 */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** What a request may wait as; undefined: it is answered in the turn in which it comes. */
type Waits = Extract<LimitName, 'requests' | 'parkedReads'> | undefined;

const waitsAs = (event: ConnectionEvent): Waits => {
  const { type } = event;
  if (type === 'process.read') return (event.params.waitMs ?? 0) > 0 ? 'parkedReads' : undefined;
  const mayWait = type === 'process.start' || type === 'process.write' || type === 'http.request';
  return mayWait || type.startsWith('fs.') ? 'requests' : undefined;
};

type Request = {
  readonly processId: string | undefined;
  readonly inputBytes: number;
  readonly waits: Waits;
};

/**
 * The requests of one connection that aren't answered yet. Replies don't need it; it is there for what
 * must not happen: that a process actor crashes and its requests are never answered, or that unanswered
 * requests or input fill the memory.
 */
export class InFlight {
  /** A client may use an id twice. */
  readonly #requests = new Map<RequestId, Request[]>();
  #inputBytes = 0;
  /** How many wait as what. Most are settled while they are taken up, and never seen here. */
  readonly #waiting = { requests: 0, parkedReads: 0 };

  constructor(private readonly limits: Limits) {}

  /** Which limit this request would go beyond. What ends the waiting of others never does. */
  limitFor(event: ConnectionEvent): LimitName | undefined {
    const waits = waitsAs(event);
    return waits !== undefined && this.#waiting[waits] >= this.limits[waits] ? waits : undefined;
  }

  add(id: RequestId, event: ConnectionEvent, processId: string | undefined, inputBytes: number): void {
    const waits = waitsAs(event);
    if (waits !== undefined) this.#waiting[waits]++;
    const request = { processId, inputBytes, waits };
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
    if (request === undefined) return;
    this.#inputBytes -= request.inputBytes;
    if (request.waits !== undefined) this.#waiting[request.waits]--;
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
