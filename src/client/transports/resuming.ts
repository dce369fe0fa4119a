import { isObject } from '../../codecs.js';
import { after } from '../deadline.js';
import { SessionLostError } from '../errors.js';
import type { Transport, TransportEvents } from '../transport.js';

/** The first try comes soon, for a connection that was only cut; each later one after twice the time. */
const FIRST_DELAY_MS = 50;
const LAST_DELAY_MS = 5_000;

/** The server keeps a session that long (its `--detached-ttl`): trying longer makes no sense. */
const DEFAULT_WINDOW_MS = 90_000;

/** docs/protocol.md section 1: the server has not noticed yet that the old connection is gone. */
const STILL_ATTACHED = -32010;

type Request = { readonly id: number; readonly method: string; readonly params: unknown };

const isRequest = (message: object): message is Request => 'id' in message && 'method' in message;

/** A server that does not answer is not waited for longer at the end. */
const GOODBYE_MS = 2_000;

export type ResumeOptions = {
  /** The session to begin with. Default: a new one. */
  readonly sessionId?: string | undefined;
  /** Milliseconds for which a lost connection is tried again; default 90,000. */
  readonly resumeWindow?: number | undefined;
};

/**
 * A transport that outlives its connections. When one is lost it connects again, resumes the session, and
 * repeats the requests that were not answered: a write has its writeId, a start its processId, and the
 * others do no harm twice. Then it says `resumed`: what was told meanwhile is to be read.
 *
 * @param connect makes one connection; rejects if it can't
 */
export class ResumingTransport implements Transport {
  readonly #connect: () => Promise<Transport>;
  readonly #windowMs: number;
  #transport: Transport;
  #events: TransportEvents | undefined;
  /** Requests without an answer, in the order in which they were sent. */
  readonly #unanswered = new Map<number, Request>();
  /** Starts that were sent again: that the process exists already is what they wanted. */
  readonly #repeatedStarts = new Set<number>();
  #initialize: Request | undefined;
  readonly #wantedSession: string | undefined;
  #sessionId: string | undefined;
  /** Requests of this transport's own, which have negative ids. -1 is for what is malformed. */
  readonly #own = new Map<number, (result?: unknown) => void>();
  #lastOwnId = -1;
  #connected = true;
  #closing = false;
  #over: () => void = () => undefined;
  readonly #finished = new Promise<void>((resolve) => {
    this.#over = resolve;
  });
  #stopWaiting: () => void = () => undefined;

  constructor(
    first: Transport,
    connect: () => Promise<Transport>,
    { sessionId, resumeWindow }: ResumeOptions = {},
  ) {
    this.#wantedSession = sessionId;
    this.#transport = first;
    this.#connect = connect;
    this.#windowMs = resumeWindow ?? DEFAULT_WINDOW_MS;
  }

  open(events: TransportEvents): void {
    this.#events = events;
    this.#listen(this.#transport);
  }

  send(message: object): void {
    const sent = isRequest(message) ? this.#remember(message) : message;
    if (this.#connected) this.#transport.send(sent);
  }

  /** The protocol has no word to end a session: what runs in it is ended, and it expires. */
  async close(): Promise<void> {
    if (!this.#closing && this.#connected && this.#sessionId !== undefined) await this.#endProcesses();
    await this.detach();
  }

  async detach(): Promise<void> {
    this.#closing = true;
    this.#stopWaiting();
    await this.#transport.close();
    await this.#finished;
  }

  /** Resolves when the server has ended them, or is not there to do it. */
  async #endProcesses(): Promise<void> {
    const list = await this.#ask('process/list', {});
    const processes = isObject(list) && Array.isArray(list['processes']) ? list['processes'] : [];
    await Promise.all(
      processes.map((process: unknown) =>
        this.#ask('process/terminate', { processId: isObject(process) ? process['processId'] : undefined }),
      ),
    );
  }

  /** A request of this transport's own. Resolves with its result; undefined, if none comes. */
  #ask(method: string, params: object): Promise<unknown> {
    return new Promise((resolve) => {
      const id = --this.#lastOwnId;
      const answered = (result?: unknown): void => {
        cancel();
        this.#own.delete(id);
        resolve(result);
      };
      const cancel = after(GOODBYE_MS, answered);
      this.#own.set(id, answered);
      this.#transport.send({ id, method, params });
    });
  }

  /** The first initialize says that this client can resume. */
  #remember(message: Request): Request {
    const isInitialize = message.method === 'initialize';
    const request =
      isInitialize && isObject(message.params)
        ? { ...message, params: { ...message.params, resumeSessionId: this.#wantedSession ?? null } }
        : message;
    if (isInitialize) this.#initialize = request;
    this.#unanswered.set(request.id, request);
    return request;
  }

  #listen(transport: Transport): void {
    transport.open({
      message: (message) => this.#receive(message),
      closed: (reason) => {
        if (this.#sessionId === undefined) this.#end(reason);
        else this.#lost(reason);
      },
    });
  }

  #receive(message: unknown): void {
    if (!isObject(message) || typeof message['id'] !== 'number') {
      this.#events?.message(message);
      return;
    }
    const { id, result } = message;
    const own = this.#own.get(id);
    if (own !== undefined) {
      own(result);
      return;
    }
    const request = this.#unanswered.get(id);
    this.#unanswered.delete(id);
    if (request !== undefined && request === this.#initialize && isObject(result)) {
      const sessionId = result['sessionId'];
      if (typeof sessionId === 'string') this.#sessionId = sessionId;
    }
    const repeated = this.#repeatedStarts.delete(id) ? startedBefore(request, message) : undefined;
    this.#events?.message(repeated ?? message);
  }

  async #resume(reason: string): Promise<void> {
    // not the clock on the wall, which somebody may set
    const end = performance.now() + this.#windowMs;
    let delay = FIRST_DELAY_MS;
    while (!this.#closing && performance.now() < end) {
      await this.#wait(delay);
      delay = Math.min(delay * 2, LAST_DELAY_MS);
      if (this.#closing) break;
      try {
        if (await this.#tryOnce()) return;
      } catch (error) {
        if (error instanceof SessionLostError) {
          this.#end(error.message, error);
          return;
        }
        // no connection: the next time
      }
    }
    const error = new SessionLostError(`the connection was lost (${reason}), and there was no other in time`);
    this.#end(this.#closing ? reason : error.message, this.#closing ? undefined : error);
  }

  /** True: the session is resumed. False: the server still has to notice that the old connection is gone. */
  async #tryOnce(): Promise<boolean> {
    const transport = await this.#connect();
    const answer = await this.#handshake(transport);
    const error = isObject(answer) ? answer['error'] : undefined;
    if (isObject(error)) {
      await transport.close();
      if (error['code'] === STILL_ATTACHED) return false;
      throw new SessionLostError(`the session could not be resumed: ${String(error['message'])}`);
    }
    return true;
  }

  /** Asks for the session on a new connection. If it is given, the connection is in use when this resolves. */
  #handshake(transport: Transport): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let asked = true;
      transport.open({
        message: (message) => {
          if (!asked) {
            this.#receive(message);
            return;
          }
          asked = false;
          if (isObject(message) && message['error'] === undefined) this.#takeOver(transport);
          resolve(message);
        },
        closed: (reason) => {
          if (asked) reject(new Error(reason));
          else if (this.#transport === transport) this.#lost(reason);
        },
      });
      const params = { clientName: 'exec-server client', resumeSessionId: this.#sessionId };
      transport.send({ id: 0, method: 'initialize', params });
    });
  }

  #takeOver(transport: Transport): void {
    this.#transport = transport;
    if (this.#closing) {
      // it was closed while this connection came about
      void transport.close();
      return;
    }
    this.#connected = true;
    transport.send({ method: 'initialized' });
    for (const request of this.#unanswered.values()) {
      if (request.method === 'process/start') this.#repeatedStarts.add(request.id);
      transport.send(request);
    }
    this.#events?.resumed?.();
  }

  #lost(reason: string): void {
    this.#connected = false;
    for (const answered of this.#own.values()) answered();
    if (this.#closing) this.#end(reason);
    else void this.#resume(reason);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#stopWaiting = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #end(reason: string, error?: Error): void {
    this.#events?.closed(reason, error);
    this.#over();
  }
}

/** The answer to a start that was sent twice and had begun the first time. */
const startedBefore = (request: Request | undefined, message: object): object | undefined => {
  const params = request?.params;
  if (!isObject(params) || !('error' in message) || !isObject(message.error)) return undefined;
  const { processId, outputWindow } = params;
  if (message.error['message'] !== `process ${String(processId)} already exists`) return undefined;
  return { id: request?.id, result: { processId, outputWindow } };
};
