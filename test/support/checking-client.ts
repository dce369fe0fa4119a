import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { LineSplitter } from '../../src/wire/lines.js';
import { memoryWires } from '../../src/wire/memory.js';
import type { Wire } from '../../src/wire/wire.js';
import { SequenceCheck } from './sequence-check.js';

export type Answer = {
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
};

/** Params of a notification. */
export type Told = Readonly<Record<string, unknown>>;

type Transport = {
  /** Sends a message. */
  send(text: string): void;
  /** Ends the connection as a client should. */
  end(): void;
  /** Cuts it off without a word. */
  cut(): void;
};

type Outstanding = { method: string; params: unknown; resolve(answer: Answer): void };

/** How the id of an answer is written; what the server sends begins with it. */
const ANSWERED_ID = /^\{"id":(-?\d+|"(?:[^"\\]|\\.)*"),/;

/** What the server answers to something that has no usable id. */
const NO_ID = '-1';

/** An answer that is this late does not come. Generous: the machine may be busy. */
const PATIENCE_MS = 30_000;

/**
 * A client that checks what every client may rely on: each request is answered once and under its own id as it
 * was written, and the notifications of each process are numbered without gaps. It keeps nothing of what comes.
 */
export class CheckingClient {
  /** What must not happen, in words. Each run ends with this being empty. */
  readonly faults: string[] = [];
  /** Answers by their code; `ok` for results. */
  readonly codes = new Map<string, number>();
  readonly sequences = new SequenceCheck((fault) => this.faults.push(fault));
  /** Messages sent. */
  sent = 0;
  /** Answers to malformed messages. */
  malformed = 0;
  closed = false;
  readonly #outstanding = new Map<string, Outstanding>();
  #waiter: (() => void) | undefined;
  #nextId = 1;

  constructor(
    private readonly transport: Transport,
    private readonly onNotification: (method: string, params: Told) => void = () => undefined,
  ) {}

  /** Requests that were not answered yet, as `id method`. */
  get unanswered(): string[] {
    return [...this.#outstanding].map(([id, { method }]) => `${id} ${method}`);
  }

  /** Sends a text as it is. */
  raw(text: string): void {
    this.sent++;
    this.transport.send(text);
  }

  /**
   * From now on an answer with this id is waited for.
   *
   * @param id as it is written in JSON
   */
  async expectAnswer(id: string, method: string, params: unknown): Promise<Answer> {
    return new Promise((resolve) => this.#outstanding.set(id, { method, params, resolve }));
  }

  /** Sends a request, and resolves with the answer. */
  async call(method: string, params: unknown = {}): Promise<Answer> {
    const id = `"c${this.#nextId++}"`;
    const answer = this.expectAnswer(id, method, params);
    this.raw(`{"id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`);
    return answer;
  }

  /** Sends a request, and resolves with its result; an error answer rejects. */
  async request(method: string, params: unknown = {}): Promise<Record<string, unknown>> {
    const { result, error } = await this.call(method, params);
    if (result === undefined) throw new Error(`${method} was refused: ${error?.code} ${error?.message}`);
    return result;
  }

  /** @returns the id of the session */
  async initialize(params: object = {}): Promise<string> {
    const { sessionId } = await this.request('initialize', { clientName: 'test', ...params });
    this.raw('{"method":"initialized"}');
    return String(sessionId);
  }

  /** Resolves when something has come after which this holds. One caller at a time. */
  async until(holds: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiter = undefined;
        reject(new Error(`waited in vain for ${what}; unanswered: ${this.unanswered.join(', ') || 'none'}`));
      }, PATIENCE_MS);
      this.#waiter = () => {
        if (!holds()) return;
        clearTimeout(timer);
        this.#waiter = undefined;
        resolve();
      };
      this.#waiter();
    });
  }

  /** Terminates these processes, since reads and writes may wait for them, and then waits for all answers. */
  async settle(processIds: readonly string[]): Promise<void> {
    for (const processId of processIds) void this.call('process/terminate', { processId });
    await this.until(() => this.#outstanding.size === 0, 'the last answers');
  }

  async end(): Promise<void> {
    this.transport.end();
    await this.until(() => this.closed, 'the end of the connection');
  }

  async cut(): Promise<void> {
    this.transport.cut();
    await this.until(() => this.closed, 'the end of the connection');
  }

  receive(text: string): void {
    const { method, params, ...answer }: Answer & { method?: string; params?: Told } = JSON.parse(text);
    if (method === undefined) this.#answered(text, answer);
    else {
      this.sequences.told(method, params ?? {});
      this.onNotification(method, params ?? {});
    }
    this.#waiter?.();
  }

  ended(): void {
    this.closed = true;
    this.#waiter?.();
  }

  #answered(text: string, answer: Answer): void {
    const id = ANSWERED_ID.exec(text)?.[1] ?? 'no id';
    const code = String(answer.error?.code ?? 'ok');
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
    if (id === NO_ID) {
      this.malformed++;
      if (code !== '-32600') this.faults.push(`the answer to a malformed message has the code ${code}`);
      return;
    }
    const outstanding = this.#outstanding.get(id);
    if (outstanding === undefined) {
      this.faults.push(`nobody waits for this answer: ${text.slice(0, 200)}`);
      return;
    }
    this.#outstanding.delete(id);
    if (answer.error?.message.includes('internal error') === true)
      this.faults.push(
        `${outstanding.method}: ${answer.error.message}: ${JSON.stringify(outstanding.params).slice(0, 500)}`,
      );
    if (answer.result !== undefined) this.sequences.answered(outstanding.method, answer.result);
    outstanding.resolve(answer);
  }
}

type OnNotification = (method: string, params: Told) => void;

/** A client of a launched server, over its standard streams. */
export const overStdio = (server: ChildProcess, onNotification?: OnNotification): CheckingClient => {
  const { stdin, stdout } = server;
  if (stdin === null || stdout === null) throw new Error('no pipes');
  const client = new CheckingClient(
    {
      send: (text) => void stdin.write(`${text}\n`),
      end: () => void stdin.end(),
      cut: () => void stdin.destroy(),
    },
    onNotification,
  );
  const lines = new LineSplitter(Number.MAX_SAFE_INTEGER, {
    line: (text) => client.receive(text),
    notUtf8: () => client.faults.push('a line is not UTF-8'),
    tooLong: () => undefined,
  });
  stdout.on('data', (data: Buffer) => lines.push(data));
  server.once('exit', () => client.ended());
  return client;
};

/** A client over a WebSocket, and that. Who calls ends the connection. */
export const overWebSocket = async (
  url: string,
  onNotification?: OnNotification,
): Promise<{ readonly client: CheckingClient; readonly socket: WebSocket }> => {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  const client = new CheckingClient(
    {
      send: (text) => socket.send(text),
      end: () => socket.close(),
      cut: () => socket.terminate(),
    },
    onNotification,
  );
  socket.on('message', (data: Buffer) => client.receive(data.toString()));
  socket.on('close', () => client.ended());
  socket.on('error', () => undefined); // the close follows
  await once(socket, 'open');
  return { client, socket };
};

/** A client in this process: the wire for a server, and how to send bytes that need not be whole lines. */
export const overMemory = (): {
  readonly client: CheckingClient;
  readonly wire: Wire;
  readonly write: (bytes: Buffer) => void;
} => {
  const [ours, theirs] = memoryWires();
  const end = (): void => ours.close('the test closed it');
  const client = new CheckingClient({
    send: (text) => void ours.write(Buffer.concat(ours.framing.frame(Buffer.from(text)))),
    end,
    cut: end,
  });
  ours.open({
    message: (text) => client.receive(text),
    malformed: (reason) => client.faults.push(reason),
    ended: () => client.ended(),
    closed: () => client.ended(),
    drain: () => undefined,
  });
  return { client, wire: theirs, write: (bytes) => void ours.write(bytes) };
};
