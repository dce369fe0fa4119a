import type { WebSocket } from 'ws';
import { launchOf, outputOf } from './facts.js';
import type { ServerMessage } from './messages.js';
import { OutputTap } from './output-tap.js';
import type { ActorRecord } from './record.js';
import type { Records } from './records.js';

/** A page that is so far behind is told nothing until it has caught up; then it is told how things are. */
const MAX_UNSENT_BYTES = 1024 * 1024;

/**
 * What one page is told. Nothing waits for it here: it is told what has changed since the last time, and how many
 * events are gone that it wasn't told. So a slow page costs no memory.
 */
export class PageFeed {
  #told = 0;
  #known = new Set<number>();
  #chosen: { readonly record: ActorRecord; readonly tap: OutputTap | undefined } | undefined;
  #steps = 0;
  #lines = 0;

  constructor(
    private readonly socket: WebSocket,
    private readonly records: Records,
  ) {}

  send(message: ServerMessage): void {
    this.socket.send(JSON.stringify(message));
  }

  /** From now on it is told all of this actor; of none, if there is no such one. */
  choose(key: number): void {
    const record = this.records.find(key);
    const log = record === undefined ? undefined : outputOf(record.actor.getSnapshot());
    this.#chosen =
      record === undefined ? undefined : { record, tap: log === undefined ? undefined : new OutputTap(log) };
    this.#steps = 0;
    this.#lines = 0;
    this.flush();
  }

  flush(): void {
    if (this.socket.bufferedAmount > MAX_UNSENT_BYTES) return;
    if (this.#told !== this.records.revision) this.#sendActors();
    if (this.#chosen === undefined) return;
    const { record, tap } = this.#chosen;
    this.#sendMore(record);
    const output = tap?.next();
    if (output === undefined) return;
    const launch = launchOf(record.actor.getSnapshot());
    const size = launch?.tty === true ? (record.size ?? launch.size) : null;
    this.send({ type: 'output', key: record.key, ...output, size });
  }

  #sendActors(): void {
    const all = [...this.records.all];
    const changed = all.filter(({ revision }) => revision > this.#told).map((record) => record.summary());
    const present = new Set(all.map(({ key }) => key));
    const gone = [...this.#known].filter((key) => !present.has(key));
    this.#told = this.records.revision;
    this.#known = present;
    this.send({ type: 'actors', changed, gone });
  }

  #sendMore({ key, steps, lines }: ActorRecord): void {
    if (this.#steps === steps.count && this.#lines === lines.count) return;
    const { items, missed } = lines.from(this.#lines);
    this.send({ type: 'more', key, steps: steps.from(this.#steps).items, lines: items, missed });
    this.#steps = steps.count;
    this.#lines = lines.count;
  }
}
