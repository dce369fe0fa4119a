import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { connectWebSocket, type Incoming, startParams, type TestClient } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { eventually, hasEnded } from '../support/processes.js';
import { TooSlow } from './paths.js';
import { evicted, outlastSession, resume } from './sessions.js';

/**
 * A child that does what it is told through a FIFO. A member of its group outlives it, and so does a holder:
 * in a session of its own, where no kill of the group comes, it holds the output open. Each writes its pid
 * into a file, ignores a hangup and SIGUSR1, and ends with the FIFO at the latest.
 */
const PROGRAM = `trap "" HUP USR1
cd "$1"
exec 3<child
sh -c 'echo $$ >member.pid; exec sleep 300 >/dev/null 2>&1 3<&-' &
setsid sh -c 'exec 3<holder; echo $$ >holder.pid
while read command <&3; do case $command in print) echo more;; end) exit;; esac; done' 3<&- &
echo $$ >child.pid
while read command <&3; do case $command in end) exit 3;; closeStdin) exec <&-;; esac; done`;

const PARTS = ['child', 'member', 'holder'] as const;
type Part = (typeof PARTS)[number];

/** How the program ends by itself. */
export const EXIT = { exitCode: 3, signal: null } as const;
export const KILLED = { exitCode: 137, signal: 'SIGKILL' } as const;

/** Starts that go before one whose start is to wait; each takes a fork and a turn of the loop. */
const STARTS_IN_LINE = 20;

type Check = (answer: Incoming) => void;

export type WorldOptions = {
  readonly processId: string;
  readonly tty: boolean;
  readonly client: TestClient;
  /** Where it listens, if the client may have to come back. */
  readonly url: string | undefined;
  /** How its session is asked for again. */
  readonly sessionId: string;
  /** A directory of its own. */
  readonly directory: string;
  /** Milliseconds of a deadline that is to come. */
  readonly shortMs: number;
  /** For how long the server keeps a closed process, in milliseconds. */
  readonly retentionMs: number;
};

/** One process of a real server, all that can happen to it, and what is seen of it through the wire. */
export class ProcessWorld {
  readonly processId: string;
  readonly tty: boolean;
  readonly shortMs: number;
  client: TestClient;
  /** How it has ended, or will. */
  exit: { readonly exitCode: number; readonly signal: string | null } = EXIT;
  closedAt = Infinity;
  readonly #options: WorldOptions;
  readonly #fifos: Readonly<Record<'child' | 'holder', number>>;
  readonly #queue: { readonly id: string; readonly text: string; readonly check: Check | undefined }[] = [];
  #requests = 0;
  #startId: string | undefined;

  constructor(options: WorldOptions) {
    this.#options = options;
    ({ processId: this.processId, tty: this.tty, shortMs: this.shortMs, client: this.client } = options);
    fs.mkdirSync(options.directory);
    const names = ['child', 'holder'].map((name) => path.join(options.directory, name));
    execFileSync('mkfifo', names);
    const [child = -1, holder = -1] = names.map((name) => fs.openSync(name, 'r+'));
    this.#fifos = { child, holder };
    cleanup(() => [child, holder].forEach((fifo) => fs.closeSync(fifo)));
  }

  get sessionId(): string {
    return this.#options.sessionId;
  }

  /** Puts a request into the next write. */
  queue(method: string, params: object = {}, check?: Check): string {
    const id = `${this.processId} ${++this.#requests}`;
    this.#queue.push({ id, text: JSON.stringify({ id, method, params }), check });
    return id;
  }

  /** One about this process, whose answer must be this result. */
  queueAnswered(method: string, params: object, result: object): void {
    this.queue(method, { processId: this.processId, ...params }, (answer) =>
      expect(answer.result, method).to.deep.equal(result),
    );
  }

  /** One about this process, whose answer must be this refusal. */
  queueRefused(method: string, params: object, message: string, code = -32600): void {
    this.queue(method, { processId: this.processId, ...params }, (answer) =>
      expect(answer.error, method).to.deep.equal({ code, message }),
    );
  }

  /** Sends what is in the queue at once, and looks at the answers. */
  async flush(): Promise<void> {
    const queued = this.#queue.splice(0);
    // over stdio one write, so that the server takes all of it up in one turn
    if (this.#options.url === undefined) {
      if (queued.length > 0) this.client.raw(queued.map(({ text }) => text).join('\n'));
    } else for (const { text } of queued) this.client.raw(text);
    for (const { id, check } of queued) if (check !== undefined) check(await this.answerTo(id));
  }

  async answerTo(id: string): Promise<Incoming> {
    return this.client.until(
      () => this.client.messages.find((message) => message.id === id),
      `the answer to ${id}`,
    );
  }

  /** @param waiting other starts go first, so that there is time for something between */
  queueStart(program: 'good' | 'missing', waiting: boolean, more: object): void {
    const { directory } = this.#options;
    for (let at = 0; at < (waiting ? STARTS_IN_LINE : 0); at++) {
      this.queue('process/start', startParams(`${this.processId} before ${at}`, ['true'], { tty: true }));
    }
    const argv = program === 'good' ? ['sh', '-c', PROGRAM, 'sh', directory] : ['/does/not/exist'];
    const params = startParams(this.processId, argv, { tty: this.tty, pipeStdin: !this.tty, ...more });
    this.#startId = this.queue('process/start', params);
  }

  async startAnswer(): Promise<Incoming> {
    return this.answerTo(String(this.#startId));
  }

  #pidOf(part: Part): number | undefined {
    try {
      const text = fs.readFileSync(path.join(this.#options.directory, `${part}.pid`), 'utf8');
      return text.endsWith('\n') ? Number(text) : undefined;
    } catch {
      return undefined; // not written yet
    }
  }

  /** Resolves when all of it runs. */
  async ready(): Promise<void> {
    const hasExited = (): boolean =>
      this.client.about(this.processId).some(({ method }) => method === 'process/exited');
    await eventually(
      () => hasExited() || PARTS.every((part) => this.#pidOf(part) !== undefined),
      `the child of ${this.processId}`,
    );
    if (hasExited()) throw new TooSlow('a deadline came before it had begun');
  }

  isAlive(part: Part): boolean {
    const pid = this.#pidOf(part);
    return pid !== undefined && !hasEnded(pid);
  }

  async gone(part: Part): Promise<void> {
    await eventually(() => !this.isAlive(part), `the end of the ${part} of ${this.processId}`);
  }

  tellChild(command: 'end' | 'closeStdin'): void {
    fs.writeSync(this.#fifos.child, `${command}\n`);
  }

  tellHolder(command: 'end' | 'print'): void {
    fs.writeSync(this.#fifos.holder, `${command}\n`);
  }

  /** The wire goes; its session waits. */
  async disconnect(): Promise<void> {
    const { retentionMs } = this.#options;
    await this.client.close();
    // it may have been evicted before
    if (Date.now() - this.closedAt > retentionMs / 2) throw new TooSlow('the retention was too short');
  }

  /** On a new wire. Resolves with why it can't be. */
  async resume(): Promise<Incoming['error']> {
    const { client, error } = await resume(this.#options.url ?? '', this.sessionId);
    this.client = client;
    if (error === undefined) client.notify('initialized');
    return error;
  }

  /** Waits until its server has forgotten another process that was closed now: as long as it keeps one. */
  async outlastRetention(): Promise<void> {
    const witness = await connectWebSocket(this.#options.url ?? '');
    await witness.initialize();
    await witness.start('witness', ['true']);
    await witness.processClosed('witness');
    await evicted(witness, 'witness');
  }

  async outlastSession(): Promise<void> {
    await outlastSession(this.#options.url ?? '');
  }

  /** Waits until its exit, or its close, can be read. */
  async until(member: 'exited' | 'closed'): Promise<void> {
    for (let afterSeq = 0; ;) {
      const answer = await this.client.read(this.processId, { afterSeq, waitMs: 10_000 });
      if (answer[member]) return;
      afterSeq = answer.nextSeq - 1;
    }
  }
}
