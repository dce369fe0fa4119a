import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import { createInterface } from 'node:readline';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Type } from 'io-ts';
import { WebSocket } from 'ws';
import { decode } from '../../src/codecs.js';
import { methods, type Result } from '../../src/protocol.js';
import { memoryWires } from '../../src/wire/memory.js';
import type { Wire } from '../../src/wire/wire.js';
import { cleanup, cookie, EXEC_SERVER } from './environment.js';

/** A message as it came from the server. */
export type Incoming = {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
};

type Transport = {
  send(text: string): void;
  close(): void;
  /** Stops and resumes reading. */
  pause?(): void;
  resume?(): void;
};

const decoded = <A>(codec: Type<A, unknown>, result: unknown): A => {
  const value = decode(codec, result);
  if (isLeft(value)) throw new Error(`the answer does not decode: ${value.left}`);
  return value.right;
};

/** The output in the answer to process/read. */
export const bytesOf = ({ chunks }: Result<'process/read'>): Buffer =>
  Buffer.concat(chunks.map(({ chunk }) => chunk.data));

/** A client for tests: sends exactly what it is given, and keeps all that comes, in order. */
export class TestClient {
  readonly messages: Incoming[] = [];
  /** The same, as text. */
  readonly texts: string[] = [];
  /** Set when the connection has ended. */
  closed = false;
  readonly #waiters = new Set<() => void>();
  #nextId = 1;

  constructor(
    private readonly transport: Transport,
    /** The server, where it is a process of its own. */
    readonly server: ChildProcess | undefined,
  ) {}

  receive(text: string): void {
    this.texts.push(text);
    const message: Incoming = JSON.parse(text);
    this.messages.push(message);
    this.#wake();
  }

  end(): void {
    this.closed = true;
    this.#wake();
  }

  /** Sends a text as it is. */
  raw(text: string): void {
    this.transport.send(text);
  }

  notify(method: string, params?: unknown): void {
    this.raw(JSON.stringify({ method, params }));
  }

  /** Sends a request, and resolves with the whole answer. */
  async call(method: string, params?: unknown): Promise<Incoming> {
    const id = this.#nextId++;
    this.raw(JSON.stringify({ id, method, params }));
    return this.until(() => this.messages.find((message) => message.id === id), `the answer to ${method}`);
  }

  /** Sends a request, and resolves with its result; an error answer rejects. */
  async request(method: string, params?: unknown): Promise<Record<string, unknown>> {
    const { result, error } = await this.call(method, params);
    if (result === undefined) throw new Error(`${method} was refused: ${error?.code} ${error?.message}`);
    return result;
  }

  /** Sends a request that must be refused, and resolves with the error. */
  async refused(method: string, params?: unknown): Promise<NonNullable<Incoming['error']>> {
    const { result, error } = await this.call(method, params);
    if (error === undefined) throw new Error(`${method} was not refused: ${JSON.stringify(result)}`);
    return error;
  }

  async initialize(params: object = {}): Promise<Record<string, unknown>> {
    const result = await this.request('initialize', { clientName: 'test', ...params });
    this.notify('initialized');
    return result;
  }

  /** Starts a process; what isn't given is a plain pipe process with little in its environment. */
  async start(
    processId: string,
    argv: readonly string[],
    more: object = {},
  ): Promise<Record<string, unknown>> {
    return this.request('process/start', startParams(processId, argv, more));
  }

  /** process/read, decoded. */
  async read(processId: string, more: object = {}): Promise<Result<'process/read'>> {
    return decoded(
      methods['process/read'].result,
      await this.request('process/read', { processId, ...more }),
    );
  }

  /** process/list, decoded. */
  async list(): Promise<Result<'process/list'>['processes']> {
    return decoded(methods['process/list'].result, await this.request('process/list')).processes;
  }

  async write(
    processId: string,
    data: string | Uint8Array,
    more: object = {},
  ): Promise<Record<string, unknown>> {
    const chunk = Buffer.from(data).toString('base64');
    return this.request('process/write', { processId, chunk, ...more });
  }

  /** Resolves as soon as `find` gives something. */
  async until<T>(find: () => T | undefined | false, what: string, timeoutMs = 10_000): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(check);
        reject(
          new Error(`waited ${timeoutMs} ms in vain for ${what}; last: ${this.texts.at(-1)?.slice(0, 300)}`),
        );
      }, timeoutMs);
      const check = (): void => {
        const found = find();
        if (found === undefined || found === false) return;
        clearTimeout(timer);
        this.#waiters.delete(check);
        resolve(found);
      };
      this.#waiters.add(check);
      check();
    });
  }

  /** All notifications about one process, in the order in which they came. */
  about(processId: string): Incoming[] {
    return this.messages.filter(
      ({ method, params }) => method !== undefined && params?.['processId'] === processId,
    );
  }

  /** Output so far, by notifications. */
  output(processId: string, stream?: string): Buffer {
    return Buffer.concat(
      this.about(processId)
        .filter(({ method }) => method === 'process/output' || method === 'command/exec/outputDelta')
        .filter(({ params }) => stream === undefined || params?.['stream'] === stream)
        .map(({ params }) => Buffer.from(String(params?.['chunk']), 'base64')),
    );
  }

  async waitOutput(processId: string, pattern: string | RegExp, timeoutMs?: number): Promise<string> {
    return this.until(
      () => {
        const text = this.output(processId).toString();
        return (typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text)) && text;
      },
      `output ${pattern} of ${processId}`,
      timeoutMs,
    );
  }

  /** Resolves with the params of process/exited. */
  async exited(processId: string, timeoutMs?: number): Promise<Record<string, unknown>> {
    return this.#told(processId, 'process/exited', timeoutMs);
  }

  /** Resolves with the params of process/closed. */
  async processClosed(processId: string, timeoutMs?: number): Promise<Record<string, unknown>> {
    return this.#told(processId, 'process/closed', timeoutMs);
  }

  pause(): void {
    this.transport.pause?.();
  }

  resume(): void {
    this.transport.resume?.();
  }

  /** Ends the connection, and waits until it is over (over stdio: until the server has exited). */
  async close(): Promise<void> {
    this.transport.close();
    await this.until(() => this.closed, 'the end of the connection');
  }

  async #told(processId: string, method: string, timeoutMs?: number): Promise<Record<string, unknown>> {
    return this.until(
      () => this.about(processId).find((message) => message.method === method)?.params,
      `${method} of ${processId}`,
      timeoutMs,
    );
  }

  #wake(): void {
    for (const waiter of this.#waiters) waiter();
  }
}

export const startParams = (processId: string, argv: readonly string[], more: object = {}): object => ({
  processId,
  argv,
  cwd: os.tmpdir(),
  env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...cookie },
  tty: false,
  ...more,
});

/** A server that is asked to end has this long, then it is killed and the test fails by what it left. */
const END_MS = 5_000;

/**
 * Starts a server as a process of its own. It is ended after the test, with all that it runs.
 *
 * @param under a command that runs the one which follows it, in the same process (`sh -c 'ulimit …; exec "$@"' sh`)
 * @param detached it leads a process group of its own
 */
export const launchServer = (
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  under: readonly string[] = [],
  detached = false,
): ChildProcess => {
  const [command = '', ...words] = [...under, process.execPath, ...EXEC_SERVER, ...args];
  const child = spawn(command, words, {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached,
    env: { ...process.env, ...env },
  });
  const gone = once(child, 'exit');
  child.stdin.on('error', () => undefined); // the server may go before it has read all
  cleanup(async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
    await gone;
    clearTimeout(timer);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  });
  return child;
};

/** All that a launched server says on stderr. */
export const collectStderr = (server: ChildProcess): (() => string) => {
  let text = '';
  server.stderr?.on('data', (data: Buffer) => {
    text += data.toString();
  });
  return () => text;
};

/** A server of its own over stdio. */
export const connectStdio = async (...options: Parameters<typeof launchServer>): Promise<TestClient> =>
  stdioClient(launchServer(...options));

/** A client of a launched server, over its standard streams. */
export const stdioClient = (server: ChildProcess): TestClient => {
  const { stdin, stdout } = server;
  if (stdin === null || stdout === null) throw new Error('no pipes');
  server.stderr?.resume();
  const client = new TestClient(
    { send: (text) => void stdin.write(`${text}\n`), close: () => void stdin.end() },
    server,
  );
  createInterface({ input: stdout }).on('line', (line) => client.receive(line));
  server.once('exit', () => client.end());
  return client;
};

/** A server of its own that listens, and its URL. */
export const launchListener = async (
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  under: readonly string[] = [],
): Promise<{ server: ChildProcess; url: string; stderr: () => string }> => {
  const server = launchServer(['--listen', 'ws://127.0.0.1:0', ...args], env, under);
  if (server.stdout === null) throw new Error('no pipes');
  const stderr = collectStderr(server);
  const lines = createInterface({ input: server.stdout });
  const [url]: string[] = await once(lines, 'line');
  if (url === undefined) throw new Error('no URL');
  return { server, url, stderr };
};

/** One connection to a listening server. */
export const connectWebSocket = async (url: string, token?: string): Promise<TestClient> => {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const socket = new WebSocket(url, { headers });
  const client = new TestClient(
    {
      send: (text) => socket.send(text),
      close: () => socket.close(),
      pause: () => socket.pause(),
      resume: () => socket.resume(),
    },
    undefined,
  );
  socket.on('message', (data: Buffer) => client.receive(data.toString()));
  socket.on('close', () => client.end());
  cleanup(async () => {
    if (socket.readyState === WebSocket.CLOSED) return;
    socket.terminate();
    await client.until(() => client.closed, 'the end of the socket');
  });
  await once(socket, 'open');
  return client;
};

/** A client in this process, and the wire to give to a server. */
export const memoryClient = (): { client: TestClient; wire: Wire } => {
  const [ours, theirs] = memoryWires();
  const client = new TestClient(
    {
      send: (text) => void ours.write(Buffer.concat(ours.framing.frame(Buffer.from(text)))),
      close: () => ours.close('the test closed it'),
    },
    undefined,
  );
  ours.open({
    message: (text) => client.receive(text),
    malformed: () => undefined,
    ended: () => client.end(),
    closed: () => client.end(),
    drain: () => undefined,
  });
  return { client, wire: theirs };
};
