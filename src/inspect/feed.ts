import type { WebSocket } from 'ws';
import { version } from '../version.js';
import { bytesOf } from '../wire/raw-data.js';
import { charts } from './chart.js';
import type { ServerMessage } from './messages.js';
import { PageFeed } from './page-feed.js';
import { Records } from './records.js';
import type { Roots } from './roots.js';

/** Soon enough to look live, seldom enough to cost little. */
const FLUSH_MS = 100;

/** When the last page has gone what was seen is kept for so long: a page that is loaded again finds it. */
const LINGER_MS = 10_000;

/** Feeds the pages. The actors are watched only while there is one, and a moment longer. */
export class Feed {
  readonly #records: Records;
  readonly #pages = new Map<WebSocket, PageFeed>();
  readonly #startedAt = Date.now();
  #stopWatching: (() => void) | undefined;
  #flushes: NodeJS.Timeout | undefined;
  #lingering: NodeJS.Timeout | undefined;

  constructor(private readonly roots: Roots) {
    this.#records = new Records(roots.nameOf);
  }

  /** Takes the WebSocket of a page. */
  add(socket: WebSocket): void {
    clearTimeout(this.#lingering);
    this.#stopWatching ??= this.roots.watch(this.#records);
    this.#flushes ??= setInterval(() => this.#flush(), FLUSH_MS);
    const page = new PageFeed(socket, this.#records);
    this.#pages.set(socket, page);
    socket.on('message', (data) => page.choose(Number(bytesOf(data).toString())));
    socket.on('close', () => this.#remove(socket));
    page.send({ type: 'hello', version, startedAt: this.#startedAt, charts: charts() });
    page.flush();
  }

  /** Tells every page how it all ended. */
  close(): void {
    this.#flush();
    const end: ServerMessage = { type: 'end' };
    for (const page of this.#pages.values()) page.send(end);
    for (const socket of this.#pages.keys()) socket.close();
    this.#stop();
  }

  #flush(): void {
    this.#records.refresh();
    for (const page of this.#pages.values()) page.flush();
  }

  #remove(socket: WebSocket): void {
    this.#pages.delete(socket);
    if (this.#pages.size > 0 || this.#stopWatching === undefined) return;
    clearInterval(this.#flushes);
    this.#flushes = undefined;
    this.#lingering = setTimeout(() => this.#stop(), LINGER_MS).unref();
  }

  #stop(): void {
    clearInterval(this.#flushes);
    clearTimeout(this.#lingering);
    this.#flushes = undefined;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    this.#records.clear();
  }
}
