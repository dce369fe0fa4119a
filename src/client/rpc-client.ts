import { isLeft } from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import { decode, isObject } from '../codecs.js';
import {
  type Method,
  methods,
  type NotificationParams,
  notifications,
  type Params,
  type Result,
} from '../protocol.js';
import { Emitter } from './emitter.js';
import { ClosedError, ProtocolError, ServerError } from './errors.js';
import type { Transport } from './transport.js';

type OptionalKeys<P> = { [K in keyof P]: undefined extends P[K] ? K : never }[keyof P];

/** Parameters as a caller writes them: what may be undefined may be left out. */
export type CallParams<M extends Method> = Omit<Params<M>, OptionalKeys<Params<M>>> &
  Partial<Pick<Params<M>, OptionalKeys<Params<M>>>>;

/** The same table, seen so that a method's parameters and result belong together. */
const table: {
  readonly [M in Method]: {
    readonly params: t.Type<Params<M>, unknown>;
    readonly result: t.Type<Result<M>, unknown>;
  };
} = methods;

export type RpcEvents = {
  output: NotificationParams<'process/output'>;
  exited: NotificationParams<'process/exited'>;
  closed: NotificationParams<'process/closed'>;
  /** The session goes on, on another connection. What was told meanwhile has to be read. */
  resumed: undefined;
  /** The connection is over. Comes once, last. */
  disconnected: Error;
};

type Pending = {
  readonly method: string;
  readonly settle: (result: unknown) => void;
  readonly reject: (error: Error) => void;
};

/**
 * Requests and notifications over one transport. Answers are matched by id, in whatever order they come;
 * when the transport ends every call that waits is rejected at once.
 */
export class RpcClient extends Emitter<RpcEvents> {
  readonly #transport: Transport;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #ended: Error | undefined;

  constructor(transport: Transport) {
    super();
    this.#transport = transport;
    transport.open({
      message: (message) => this.#receive(message),
      resumed: () => this.emit('resumed', undefined),
      closed: (reason, error) =>
        this.#end(error ?? new ClosedError(`the connection to the server is closed: ${reason}`)),
    });
  }

  /** Why the connection is over; undefined while it is open. */
  get ended(): Error | undefined {
    return this.#ended;
  }

  /**
   * Calls a method of the protocol: every one in docs/protocol.md, typed by the table that the server has,
   * too. Rejects with ServerError if the server refuses, and with ClosedError when the connection ends.
   *
   * @example
   * const { processes } = await rpc.call('process/list', {});
   */
  call<M extends Method>(method: M, params: CallParams<M>): Promise<Result<M>> {
    const codecs = table[method];
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(this.#ended);
        return;
      }
      const encoded = codecs.params.encode(params);
      const id = this.#nextId++;
      const settle = (result: unknown): void => {
        const decoded = decode(codecs.result, result);
        if (isLeft(decoded)) this.#fail(`the answer to ${method} does not decode: ${decoded.left}`);
        else resolve(decoded.right);
      };
      this.#pending.set(id, { method, settle, reject });
      this.#transport.send({ id, method, params: encoded });
    });
  }

  /** Tells the server that its answer to initialize has arrived. */
  notifyInitialized(): void {
    this.#transport.send({ method: 'initialized' });
  }

  /** Ends the connection. The server kills what runs in its session. Resolves when all is over. */
  async close(): Promise<void> {
    this.#end(new ClosedError('the client was closed'));
    await this.#transport.close();
  }

  /** Ends the connection and leaves the session. Rejects with TypeError where it can't be left. */
  async detach(): Promise<void> {
    if (this.#ended !== undefined) throw this.#ended;
    if (this.#transport.detach === undefined) {
      throw new TypeError('only a client of connectWebSocket with `resume: true` can be detached');
    }
    this.#end(new ClosedError('the client was detached from its session'));
    await this.#transport.detach();
  }

  #receive(message: unknown): void {
    if (this.#ended !== undefined) return;
    if (!isObject(message)) {
      this.#fail('a message is not a JSON object');
      return;
    }
    const { id, method, params } = message;
    if (typeof method === 'string') this.#notified(method, params);
    else if (typeof id === 'number') this.#answered(id, message);
    else this.#fail('a message is neither an answer nor a notification');
  }

  #answered(id: number, message: Readonly<Record<string, unknown>>): void {
    const pending = this.#pending.get(id);
    const { error } = message;
    const refusal =
      isObject(error) && typeof error['code'] === 'number' && typeof error['message'] === 'string'
        ? { code: error['code'], message: error['message'], data: error['data'] }
        : undefined;
    if (pending === undefined) {
      const told = refusal === undefined ? '' : `: ${refusal.message}`;
      this.#fail(`an answer to nothing that was asked (id ${id})${told}`);
      return;
    }
    if (error !== undefined && refusal === undefined) {
      this.#fail(`the error in the answer to ${pending.method} is not well formed`);
      return;
    }
    if (refusal === undefined) pending.settle(message['result']);
    else pending.reject(new ServerError(pending.method, refusal));
    this.#pending.delete(id);
  }

  /** A notification that isn't known is ignored: a newer server may send more. */
  #notified(method: string, params: unknown): void {
    switch (method) {
      case 'process/output':
        this.#decoded(method, notifications[method], params, (event) => this.emit('output', event));
        break;
      case 'process/exited':
        this.#decoded(method, notifications[method], params, (event) => this.emit('exited', event));
        break;
      case 'process/closed':
        this.#decoded(method, notifications[method], params, (event) => this.emit('closed', event));
        break;
    }
  }

  #decoded<A>(method: string, codec: t.Type<A, unknown>, params: unknown, emit: (event: A) => void): void {
    const decoded = decode(codec, params);
    if (isLeft(decoded)) this.#fail(`the notification ${method} does not decode: ${decoded.left}`);
    else emit(decoded.right);
  }

  #fail(what: string): void {
    this.#end(new ProtocolError(`the server broke the protocol: ${what}`));
    void this.#transport.close();
  }

  #end(error: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    this.emit('disconnected', error);
  }
}
