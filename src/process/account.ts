import { type ChildTotals, type Metrics, Stopwatch } from '../metrics.js';
import type { OutputLog } from '../output/log.js';
import type { Stream } from '../protocol.js';
import type { LaunchFailure } from './launch.js';
import type { Source } from './source.js';

/** What one child adds to the metrics of its server, from the request to start it until it is forgotten. */
export class ChildAccount {
  /** Runs while the sources wait for the client. */
  readonly paused = new Stopwatch();
  readonly #close: () => void;
  /** When it was asked for, until that is answered. */
  #asked: number | undefined = performance.now();
  #sources: readonly Source[] = [];
  /** By sources that have ended. */
  #bytesRead: Readonly<Record<Stream, number>> = { stdout: 0, stderr: 0, pty: 0 };

  constructor(
    private readonly metrics: Metrics,
    private readonly log: OutputLog,
  ) {
    metrics.starts++;
    this.#close = metrics.children.add(() => this.#totals());
  }

  /** The start is about to be answered. */
  started(sources: readonly Source[]): void {
    this.#sources = sources;
    this.#answered();
  }

  #answered(): void {
    if (this.#asked !== undefined) this.metrics.startLatency.since(this.#asked);
    this.#asked = undefined;
  }

  failed({ kind }: LaunchFailure): void {
    this.metrics.startFailures.add(kind);
    this.#answered();
  }

  /** It was reaped just now. */
  exited(): void {
    const reaped = performance.now();
    this.log.onExitSent(() => this.metrics.exitLatency.since(reaped));
  }

  accepted(inputBytes: number): void {
    this.metrics.inputBytes += inputBytes;
  }

  /** Keeps what they have read, and lets go of them. */
  sourcesEnded(): void {
    this.#bytesRead = this.#readSoFar();
    this.#sources = [];
  }

  /** Nothing more will come of it. May be called twice. */
  close(): void {
    if (this.#asked !== undefined) this.metrics.startFailures.add('cancelled');
    this.#asked = undefined;
    this.#close();
  }

  #readSoFar(): Record<Stream, number> {
    const bytes = { ...this.#bytesRead };
    for (const source of this.#sources) bytes[source.stream] += source.bytesRead;
    return bytes;
  }

  #totals(): ChildTotals {
    return { ...this.#readSoFar(), droppedBytes: this.log.droppedBytes, pausedSeconds: this.paused.seconds };
  }
}
