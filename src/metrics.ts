import type { LaunchFailure } from './process/launch.js';
import type { Stream } from './protocol.js';
import type { Traffic } from './wire/wire.js';

/** Upper bounds of the buckets of a duration, in seconds: a start takes some ms, an exit is told in less. */
export const DURATION_BOUNDS: readonly number[] = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** How often something happened, by a label of which there are few values: never one that a client chose. */
export class Counts<L extends string = string> {
  readonly #counts = new Map<L, number>();

  /** @param labels those that are told before they have happened */
  constructor(labels: readonly L[] = []) {
    for (const label of labels) this.#counts.set(label, 0);
  }

  add(label: L): void {
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + 1);
  }

  [Symbol.iterator](): Iterator<[L, number]> {
    return this.#counts[Symbol.iterator]();
  }
}

/** How long something took, each time: seconds in the buckets of `DURATION_BOUNDS`. */
export class Durations {
  /** In each bucket alone; the longest have none. */
  readonly buckets: number[] = DURATION_BOUNDS.map(() => 0);
  count = 0;
  /** Seconds. */
  sum = 0;

  /** @param from what `performance.now()` said when it began */
  since(from: number): void {
    const seconds = (performance.now() - from) / 1000;
    this.count++;
    this.sum += seconds;
    const at = DURATION_BOUNDS.findIndex((bound) => seconds <= bound);
    if (at >= 0) this.buckets[at] = (this.buckets[at] ?? 0) + 1;
  }
}

/** For how long something has been the case, in all. */
export class Stopwatch {
  #seconds = 0;
  #since: number | undefined;

  start(): void {
    this.#since ??= performance.now();
  }

  stop(): void {
    this.#seconds = this.seconds;
    this.#since = undefined;
  }

  get seconds(): number {
    return this.#since === undefined
      ? this.#seconds
      : this.#seconds + (performance.now() - this.#since) / 1000;
  }
}

/**
 * Sums over things that come and go, and that count by themselves, or the system for them: each is read when
 * somebody asks, and a last time when it goes.
 */
export class Sums<K extends string> {
  readonly #gone = new Map<K, number>();
  readonly #live = new Set<() => Readonly<Record<K, number>>>();

  constructor(private readonly names: readonly K[]) {}

  /** Takes part from now on, until what is returned is called: it is read by that. */
  add(read: () => Readonly<Record<K, number>>): () => void {
    this.#live.add(read);
    return () => {
      if (!this.#live.delete(read)) return;
      const last = read();
      for (const name of this.names) this.#gone.set(name, (this.#gone.get(name) ?? 0) + last[name]);
    };
  }

  of(name: K): number {
    let sum = this.#gone.get(name) ?? 0;
    for (const read of this.#live) sum += read()[name];
    return sum;
  }
}

/** Cancelled: the process was terminated, or its session ended, before it ran. */
type FailureKind = LaunchFailure['kind'] | 'cancelled';

const failureKinds: readonly FailureKind[] = [
  'spawnNotFound',
  'spawnPermissionDenied',
  'spawnFailed',
  'cancelled',
];

/** What came of one child. */
export type ChildTotals = Readonly<Record<Stream, number>> & {
  /** From retention, to make room. */
  readonly droppedBytes: number;
  /** While its client did not read. */
  readonly pausedSeconds: number;
};

/**
 * What a server counts while it runs, for GET /metrics (src/metrics/prometheus.ts). Plain numbers, so that
 * counting costs nothing where nobody asks; what can be read off when somebody does is not here.
 */
export class Metrics {
  connectionsOpened = 0;
  /** Requests by method, `unknown` for what is none; errors by their code. */
  readonly requests = new Counts();
  readonly errors = new Counts();
  /** What the listener refused, by HTTP status. */
  readonly refusals = new Counts();
  /** Bytes that WebSockets carried, frames and handshake included. */
  readonly wires = new Sums<keyof Traffic>(['received', 'sent']);

  /** Children that were to be started, and which of them were not. */
  starts = 0;
  readonly startFailures = new Counts(failureKinds);
  /** From the request to its answer, an error too. */
  readonly startLatency = new Durations();
  /** From the reaping of a child until its exit was handed to its connection. */
  readonly exitLatency = new Durations();
  /** Bytes that were accepted for the stdin or the terminal of a child. */
  inputBytes = 0;
  readonly children = new Sums<keyof ChildTotals>([
    'stdout',
    'stderr',
    'pty',
    'droppedBytes',
    'pausedSeconds',
  ]);
}
