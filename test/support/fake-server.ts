import { ExecServerClient, type InitializeOptions } from '../../src/client/index.js';
import { parseJson, type Transport, type TransportEvents } from '../../src/client/transport.js';
import { isObject } from '../../src/codecs.js';
import { environmentInfo } from './machines.js';

/** What the client has sent. */
export type Request = {
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
};

const asRequest = (message: unknown): Request | undefined => {
  if (!isObject(message)) return undefined;
  const { id, method, params } = message;
  if (typeof id !== 'number' || typeof method !== 'string' || !isObject(params)) return undefined;
  return { id, method, params };
};

const base64 = (data: string | Uint8Array): string => Buffer.from(data).toString('base64');

/** A peer of the client that says exactly what a test wants, whenever it wants: answers nothing by itself. */
export class FakeServer {
  /** All requests that have come, in order. */
  readonly requests: Request[] = [];
  /** The client has closed the transport. */
  closed = false;
  #events: TransportEvents | undefined;
  readonly #waiters = new Set<() => void>();

  /** What the client connects over. */
  readonly transport: Transport = {
    open: (events) => {
      this.#events = events;
    },
    send: (message) => {
      const request = asRequest(parseJson(JSON.stringify(message)));
      if (request === undefined) return; // a notification
      this.requests.push(request);
      for (const waiter of this.#waiters) waiter();
    },
    close: () => {
      this.closed = true;
      return Promise.resolve();
    },
  };

  /** Says this, whatever it is. */
  say(message: unknown): void {
    this.#events?.message(message);
  }

  /** Says a line of text. */
  sayText(text: string): void {
    this.say(parseJson(text));
  }

  answer({ id }: Request, result: object): void {
    this.say({ id, result });
  }

  refuse({ id }: Request, error: object): void {
    this.say({ id, error });
  }

  /** The transport is over. */
  hangUp(reason: string): void {
    this.#events?.closed(reason);
  }

  output(processId: string, seq: number, data: string | Uint8Array, stream = 'stdout'): void {
    this.say({ method: 'process/output', params: { processId, seq, stream, chunk: base64(data) } });
  }

  /** As an older server does it: without a reason. */
  exited(processId: string, seq: number, exitCode = 0, signal: string | null = null): void {
    this.say({
      method: 'process/exited',
      params: { processId, seq, exitCode, signal, sandboxDenied: false },
    });
  }

  closes(processId: string, seq: number): void {
    this.say({ method: 'process/closed', params: { processId, seq } });
  }

  /** The `count`th request of this method, as soon as it has come. */
  async requested(method: string, count = 1): Promise<Request> {
    return new Promise((resolve) => {
      const check = (): void => {
        const found = this.requestsOf(method)[count - 1];
        if (found === undefined) return;
        this.#waiters.delete(check);
        resolve(found);
      };
      this.#waiters.add(check);
      check();
    });
  }

  requestsOf(method: string): Request[] {
    return this.requests.filter((request) => request.method === method);
  }

  /** Answers process/start, with the window that was asked for unless told otherwise. */
  async starts(more: object = {}, count = 1): Promise<string> {
    const request = await this.requested('process/start', count);
    const { processId, outputWindow } = request.params;
    this.answer(request, { processId, sandboxType: 'none', outputWindow, ...more });
    return String(processId);
  }
}

/** What process/read answers. */
export const page = (
  chunks: readonly (readonly [seq: number, data: string])[],
  { nextSeq, exitCode = null }: { readonly nextSeq: number; readonly exitCode?: number | null },
): object => ({
  chunks: chunks.map(([seq, data]) => ({ seq, stream: 'stdout', chunk: base64(data) })),
  nextSeq,
  exited: exitCode !== null,
  exitCode,
  closed: false,
  failure: null,
  sandboxDenied: false,
  droppedBytes: 0,
});

/** What initialize answers. */
export const initialized = { protocolVersion: 'exec-server.v0', sessionId: 'session 1', environmentInfo };

/** A client of a fake server, initialized. */
export const connectFake = async (
  options: InitializeOptions = {},
): Promise<{ client: ExecServerClient; server: FakeServer }> => {
  const server = new FakeServer();
  const connecting = ExecServerClient.over(server.transport, options);
  server.answer(await server.requested('initialize'), initialized);
  return { client: await connecting, server };
};
