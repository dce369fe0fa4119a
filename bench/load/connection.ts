import os from 'node:os';
import { pathToFileURL } from 'node:url';
import type { Pattern } from './pattern.js';
import { Remote } from './remote.js';
import { type ReadSummary, scanOutput, scanRead } from './scan.js';
import type { Transport } from './transport.js';

const CWD = pathToFileURL(os.tmpdir()).href;
const ENV = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly processId?: string; readonly seq?: number; readonly exitCode?: unknown };
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
};

type Waiting = { resolve(result: unknown): void; reject(reason: Error): void };

export type StartOptions = {
  readonly tty?: boolean;
  /** What it prints, if that is to be compared. */
  readonly content?: Pattern;
  readonly outputBytesCap?: number;
};

/** A client of any exec-server, made to cost less than the server: what is long is scanned and not parsed. */
export class Connection {
  readonly remotes = new Map<string, Remote>();
  readonly #waiting = new Map<number, Waiting>();
  #id = 0;

  private constructor(private readonly transport: Transport) {
    transport.onMessage = (buffer, start, end) => this.#message(buffer, start, end);
    transport.onClose = (reason) => {
      for (const waiting of this.#waiting.values()) waiting.reject(reason);
      for (const remote of this.remotes.values()) remote.lost(reason);
      this.#waiting.clear();
    };
  }

  /** Shakes hands. */
  static async open(transport: Transport): Promise<Connection> {
    const connection = new Connection(transport);
    await connection.call('initialize', { clientName: 'bench' });
    transport.send('{"method":"initialized","params":{}}');
    return connection;
  }

  call(method: string, params: object): Promise<unknown> {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.transport.send(JSON.stringify({ id, method, params }));
    });
  }

  /** Resolves when it has been started. */
  async start(processId: string, argv: readonly string[], options: StartOptions = {}): Promise<Remote> {
    const { tty = false, content, ...more } = options;
    const remote = new Remote(processId, content);
    this.remotes.set(processId, remote);
    await this.call('process/start', { processId, argv, cwd: CWD, env: ENV, tty, arg0: null, ...more });
    return remote;
  }

  write(processId: string, text: string): Promise<unknown> {
    const chunk = Buffer.from(text).toString('base64');
    return this.call('process/write', { processId, chunk, writeId: `w${this.#id + 1}` });
  }

  /** What is retained, all or a part of it: how much, not what. */
  async read(
    processId: string,
    part: { readonly afterSeq?: number; readonly maxBytes?: number } = { afterSeq: 0 },
  ): Promise<ReadSummary> {
    const id = this.#id + 1;
    const summary = await this.call('process/read', { processId, ...part });
    return isSummary(summary) ? summary : { id, bytes: 0, nextSeq: NaN };
  }

  /** Ends a process, and resolves when it is closed. */
  async end(remote: Remote): Promise<void> {
    await this.call('process/terminate', { processId: remote.id });
    await remote.closed;
  }

  pause(): void {
    this.transport.pause();
  }

  resume(): void {
    this.transport.resume();
  }

  close(): Promise<void> {
    return this.transport.close();
  }

  #message(buffer: Buffer, start: number, end: number): void {
    const output = scanOutput(buffer, start, end);
    if (output !== undefined) {
      const { processId, seq, bytes } = output;
      this.remotes.get(processId)?.output(seq, bytes, buffer, output.start, output.end);
      return;
    }
    const read = scanRead(buffer, start, end);
    if (read !== undefined) {
      this.#waiting.get(read.id)?.resolve(read);
      this.#waiting.delete(read.id);
      return;
    }
    const message: Message = JSON.parse(buffer.toString('utf8', start, end));
    if (message.method === undefined) this.#answer(message);
    else this.#told(message.method, message.params ?? {});
  }

  #answer({ id = NaN, result, error }: Message): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(`${error.code}: ${error.message}`));
  }

  #told(method: string, { processId = '', seq = NaN, exitCode }: NonNullable<Message['params']>): void {
    const remote = this.remotes.get(processId);
    if (method === 'process/exited') remote?.exited(seq, exitCode);
    else if (method === 'process/closed') remote?.close(seq);
  }
}

const isSummary = (result: unknown): result is ReadSummary =>
  typeof result === 'object' && result !== null && 'bytes' in result;
