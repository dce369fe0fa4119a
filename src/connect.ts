import { isLeft } from 'fp-ts/lib/Either.js';
import type { ConnectionEvent } from '../machines/connection.js';
import type { Notification, Reply } from '../machines/reply.js';
import type { EncodedJson } from './encoded-json.js';
import { InFlight } from './in-flight.js';
import { hasMoreValues } from './json-values.js';
import { type LimitName, limitReached } from './limits.js';
import { giveLarge } from './output/buffers.js';
import { encodeAround } from './output/encode.js';
import { Outbox } from './output/outbox.js';
import type { Outlet } from './output/outlet.js';
import { TextOutlet } from './output/text-outlet.js';
import {
  encodeError,
  encodeMalformed,
  encodeResult,
  encodeUnread,
  ErrorCode,
  type Message,
  parseMessage,
  type RequestId,
  type RpcError,
} from './rpc.js';
import { type Routed, routeRequest } from './routes.js';
import type { Attachment, ServerContext, Session } from './session.js';
import type { Wire } from './wire/wire.js';

/** The sessions of a server, for a client that comes back. */
export type Sessions = {
  /** A new one, for a client that may turn out to want another. */
  create(): Session;
  find(sessionId: string): Session | undefined;
  /** There is one too many. */
  isOverfull(): boolean;
};

/** An answer stays below the longest message that clients take (48 MiB, docs/protocol.md section 1). */
const MAX_READ_BYTES = 32 * 1024 * 1024;

/** Answers that are still on their way when the client stops sending are waited for, but not for ever. */
const LAST_WORDS_MS = 2_000;

type Initialize = Extract<ConnectionEvent, { type: 'initialize' }>;

/**
 * One wire and the session that it speaks to: decodes what comes and sends it as events, encodes what the
 * session answers. Opens the wire; closes it when the session is over.
 */
export class Connection implements Attachment {
  /** Resolves when the wire is closed. */
  readonly closed: Promise<void>;
  readonly outlet: Outlet;
  readonly #wire: Wire;
  readonly #context: ServerContext;
  readonly #sessions: Sessions;
  readonly #inFlight: InFlight;
  /** Long answers that the client may not have taken yet. */
  readonly #untaken: EncodedJson[] = [];
  #session: Session;
  /** Why the wire will be closed, once that is decided. */
  #reason: string | undefined;
  #paused = false;
  #wireClosed = false;
  /** For a wire whose client has to open its session in time. */
  readonly #handshakeTimer: NodeJS.Timeout | undefined;

  constructor(wire: Wire, context: ServerContext, sessions: Sessions) {
    this.#wire = wire;
    this.#context = context;
    this.#sessions = sessions;
    this.#inFlight = new InFlight(context.limits);
    this.outlet =
      wire.sendText === undefined ? new Outbox(wire, () => this.#throttle()) : new TextOutlet(wire.sendText);
    this.#session = sessions.create();
    this.#session.attach(this);
    context.metrics.connectionsOpened++;
    const leaveMetrics = context.metrics.wires.add(() => wire.traffic ?? { received: 0, sent: 0 });
    this.closed = new Promise((resolve) => {
      wire.open({
        message: (text) => this.#receive(text),
        malformed: (reason) => this.outlet.send(encodeMalformed(reason)),
        ended: () => this.#ended(),
        drain: () => this.outlet.drained(),
        closed: (reason) => {
          context.log.info({ wire: wire.name, reason }, 'connection closed');
          this.#wireClosed = true;
          leaveMetrics();
          clearTimeout(this.#handshakeTimer);
          this.outlet.close();
          this.#session.detach();
          resolve();
        },
      });
    });
    context.log.debug({ wire: wire.name }, 'connection opened');
    this.#handshakeTimer = this.#expectHandshake();
  }

  get name(): string {
    return this.#wire.name;
  }

  /** Ends the session, and then the wire: for the end of the server. */
  end(reason: string): void {
    this.#reason = reason;
    this.#session.close();
  }

  reply(reply: Reply): void {
    this.#inFlight.settle(reply.id);
    if (reply.type === 'reply' && 'error' in reply)
      this.#context.metrics.errors.add(String(reply.error.code));
    const answer = this.#encode(reply);
    if (typeof answer === 'string') this.outlet.send(answer);
    else this.outlet.send(answer, () => giveLarge(answer));
    if (reply.type === 'reply.encoded') this.#untaken.push(reply.result);
    this.#throttle();
  }

  notify({ message }: Notification): void {
    this.outlet.send(message.json, () => message.taken());
    this.#throttle();
  }

  violated(reason: string): void {
    this.outlet.flush();
    this.#close(`protocol violation: ${reason}`);
  }

  crashed(processId: string): void {
    const error: RpcError = {
      code: ErrorCode.internalError,
      message: `process ${processId} failed: internal error`,
    };
    for (const id of this.#inFlight.of(processId)) this.reply({ type: 'reply', id, error });
  }

  ended(reason: string): void {
    this.outlet.flush();
    if (this.outlet.isEmpty) {
      this.#close(this.#reason ?? reason);
      return;
    }
    const timer = setTimeout(() => this.#close('the client did not take its last answers'), LAST_WORDS_MS);
    this.outlet.onEmpty(() => {
      clearTimeout(timer);
      this.#close(this.#reason ?? reason);
    });
  }

  /** Who connects and says nothing holds memory and a descriptor. */
  #expectHandshake(): NodeJS.Timeout | undefined {
    const { handshakeTimeoutMs } = this.#wire;
    if (handshakeTimeoutMs === undefined) return undefined;
    const reason = `the client had not sent initialized after ${handshakeTimeoutMs} ms`;
    return setTimeout(() => this.#close(reason), handshakeTimeoutMs);
  }

  #receive(text: string): void {
    if (hasMoreValues(text, this.#context.limits.jsonValues)) {
      this.outlet.send(encodeUnread(text, this.#limitError('jsonValues')));
      return;
    }
    const message = parseMessage(text);
    if (isLeft(message)) this.outlet.send(encodeMalformed(message.left));
    else this.#dispatch(message.right);
  }

  #dispatch(message: Message): void {
    switch (message.kind) {
      case 'request':
        this.#request(message.id, message.method, message.params);
        break;
      case 'notification':
        if (message.method === 'initialized') {
          clearTimeout(this.#handshakeTimer);
          this.#session.send({ type: 'initialized' });
        } else this.#refuse('a notification other than initialized');
        break;
      case 'response':
        this.#refuse('a response to nothing that was asked');
        break;
    }
  }

  #request(id: RequestId, method: string, params: unknown): void {
    const routed = routeRequest(method, this.#session.mark(id), params, this.#context.settings);
    const { metrics } = this.#context;
    const isUnknown = isLeft(routed) && routed.left.code === ErrorCode.methodNotFound;
    metrics.requests.add(isUnknown ? 'unknown' : method);
    if (isLeft(routed)) {
      metrics.errors.add(String(routed.left.code));
      this.outlet.send(encodeError(id, routed.left));
      return;
    }
    const { event, processId, inputBytes = 0 } = routed.right;
    const limit = this.#inFlight.limitFor(event);
    if (limit !== undefined) {
      this.outlet.send(encodeError(id, this.#limitError(limit)));
      this.#throttle();
      return;
    }
    this.#inFlight.add(id, event, processId, inputBytes);
    if (event.type === 'initialize') this.#initialize(id, event);
    else this.#session.send(this.#prepared(event, routed.right));
    this.#throttle();
  }

  /** Output of a process that starts goes to this wire. */
  #prepared(event: ConnectionEvent, { processId }: Routed): ConnectionEvent {
    if (event.type === 'process.start' && 'log' in event.start) {
      const { launch, log } = event.start;
      log.countIn(this.#context.outputMemory);
      log.attach(this.outlet);
      this.#context.log.debug({ wire: this.#wire.name, processId, program: launch.argv[0] }, 'process start');
    }
    return event;
  }

  /** A client that comes back gets its session, and the fresh one is dropped. */
  #initialize(id: RequestId, event: Initialize): void {
    const { resumeSessionId } = event.params;
    const resumable = event.resumable && this.#wire.canResume;
    if (resumeSessionId === undefined || !this.#session.isFresh) {
      const refusal = this.#sessions.isOverfull() ? { refusal: this.#limitError('sessions') } : {};
      this.#session.send({ ...event, resumable, ...refusal });
      return;
    }
    const session = this.#sessions.find(resumeSessionId);
    if (session?.isDetached !== true || !this.#wire.canResume) {
      this.#session.send({ ...event, resumable, refusal: refusalOf(resumeSessionId, session) });
      return;
    }
    this.#session.detach();
    this.#session = session;
    session.attach(this);
    session.send({ type: 'attach', id: session.mark(id) });
  }

  #limitError(name: LimitName): RpcError {
    return { code: ErrorCode.limitReached, message: limitReached(name, this.#context.limits) };
  }

  #refuse(what: string): void {
    this.outlet.send(encodeMalformed(`${what} ends the connection`));
    this.violated(what);
  }

  #encode(reply: Reply): string | Buffer {
    if (reply.type === 'reply') {
      return 'error' in reply ? encodeError(reply.id, reply.error) : encodeResult(reply.id, reply.result);
    }
    if (reply.type === 'reply.encoded') return `{"id":${reply.id},"result":${reply.result.json}}`;
    const { id, log, afterSeq, maxBytes, exitCode, signal, reason, closed } = reply;
    const limit = Math.min(maxBytes ?? MAX_READ_BYTES, MAX_READ_BYTES);
    const { chunks, nextSeq } = log.page(afterSeq, limit, maxBytes !== undefined);
    return encodeAround(
      `{"id":${id},"result":{"chunks":[`,
      chunks,
      `],"nextSeq":${nextSeq},"exited":${exitCode !== null},"exitCode":${exitCode},` +
        `"signal":${JSON.stringify(signal)},"reason":${JSON.stringify(reason)},"closed":${closed},` +
        `"failure":null,"sandboxDenied":false,"droppedBytes":${log.droppedBytes}}}`,
    );
  }

  #throttle(): void {
    if (!this.outlet.isBacklogged) for (const result of this.#untaken.splice(0)) result.taken();
    const pause = this.#inFlight.isOverfull || this.outlet.isBacklogged;
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (this.#paused) this.#wire.pause();
    else this.#wire.resume();
  }

  /** The client sends no more: what is in flight is answered, then the wire is closed. */
  #ended(): void {
    this.#reason = 'the client closed it';
    this.#session.close();
  }

  #close(reason: string): void {
    if (!this.#wireClosed) this.#wire.close(reason);
  }
}

const refusalOf = (sessionId: string, session: Session | undefined): RpcError =>
  session?.isAttached === true
    ? {
        code: ErrorCode.sessionAttached,
        message: `session ${sessionId} is already attached to another connection`,
      }
    : { code: ErrorCode.invalidRequest, message: `unknown session id ${sessionId}` };
