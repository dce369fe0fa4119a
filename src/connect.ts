import { randomUUID } from 'node:crypto';
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Actor, createActor, type InspectionEvent, type Observer } from 'xstate';
import { connectionMachine } from '../machines/connection.js';
import { processMachine } from '../machines/process.js';
import type { Reply } from '../machines/reply.js';
import { InFlight } from './in-flight.js';
import type { Log } from './log.js';
import { encodeChunks } from './output/encode.js';
import { Outbox } from './output/outbox.js';
import type { Outlet } from './output/outlet.js';
import { TextOutlet } from './output/text-outlet.js';
import { childActor, ProcessHost } from './process/actor.js';
import type { FifoPool } from './process/fifos.js';
import { SessionGroups } from './process/groups.js';
import type { Turns } from './process/turns.js';
import { type EnvironmentInfo, PROTOCOL_VERSION } from './protocol.js';
import {
  encodeError,
  encodeMalformed,
  encodeResult,
  ErrorCode,
  type Message,
  parseMessage,
  type RpcError,
} from './rpc.js';
import { routeRequest } from './routes.js';
import type { Wire } from './wire/wire.js';

/** What all connections of a server share. */
export type ServerContext = {
  readonly log: Log;
  readonly fifos: FifoPool;
  readonly turns: Turns;
  readonly environmentInfo: EnvironmentInfo;
  readonly retentionMs: number;
  /** Sees every event and snapshot; undefined, and it costs nothing. */
  readonly inspect: Observer<InspectionEvent> | undefined;
};

/** An answer stays below the longest message that clients take (48 MiB, docs/protocol.md section 1). */
const MAX_READ_BYTES = 32 * 1024 * 1024;

/** Answers that are still on their way when the client stops sending are waited for, but not for ever. */
const LAST_WORDS_MS = 2_000;

// parsing a chart takes 1–4 ms: once, not once a connection
const machine = connectionMachine.provide({
  actors: { process: processMachine.provide({ actors: { child: childActor } }) },
});

/**
 * One wire and the actor that it speaks to: decodes what comes and sends it as events, encodes what the
 * actor emits. Opens the wire; closes it when the session is over.
 */
export class Connection {
  readonly closed: Promise<void>;
  readonly #actor: Actor<typeof machine>;
  readonly #outbox: Outlet;
  readonly #inFlight = new InFlight();
  readonly #wire: Wire;
  readonly #context: ServerContext;
  #paused = false;
  #wireClosed = false;
  #resolveClosed: () => void = () => undefined;

  constructor(wire: Wire, context: ServerContext) {
    this.#wire = wire;
    this.#context = context;
    this.#outbox =
      wire.sendText === undefined ? new Outbox(wire, () => this.#throttle()) : new TextOutlet(wire.sendText);
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#actor = createActor(machine, {
      input: {
        sessionId: randomUUID(),
        protocolVersion: PROTOCOL_VERSION,
        environmentInfo: context.environmentInfo,
        host: new ProcessHost(new SessionGroups(), context.fifos, context.turns),
        retentionMs: context.retentionMs,
      },
      ...(context.inspect === undefined ? {} : { inspect: context.inspect }),
      // xstate's default writes to stdout, which is the protocol
      logger: (...args) => context.log.debug({ wire: wire.name }, args.map(String).join(' ')),
    });
    this.#listen();
  }

  /** Ends the session as if the client had gone: for the end of the server. */
  end(reason: string): void {
    this.#endSession();
    this.#outbox.flush();
    this.#close(reason);
  }

  #listen(): void {
    const { log } = this.#context;
    const wire = this.#wire;
    this.#actor.on('reply', (reply) => this.#reply(reply));
    this.#actor.on('reply.output', (reply) => this.#reply(reply));
    this.#actor.on('violation', ({ reason }) => {
      this.#outbox.flush();
      this.#close(`protocol violation: ${reason}`);
    });
    this.#actor.on('crash', ({ processId, error }) => this.#crashed(processId, error));
    this.#actor.subscribe({
      // without this observer an error would be thrown from a timer, and take the server with it
      error: (error) => {
        log.error({ wire: wire.name, err: error }, 'the connection actor crashed');
        this.#close('internal error');
      },
    });
    this.#actor.start();
    log.debug({ wire: wire.name }, 'connection opened');
    wire.open({
      message: (text) => this.#receive(text),
      malformed: (reason) => this.#outbox.send(encodeMalformed(reason)),
      ended: () => this.#ended(),
      drain: () => this.#outbox.drained(),
      closed: (reason) => {
        log.info({ wire: wire.name, reason }, 'connection closed');
        this.#wireClosed = true;
        this.#outbox.close();
        this.#endSession();
        this.#resolveClosed();
      },
    });
  }

  #receive(text: string): void {
    const message = parseMessage(text);
    if (isLeft(message)) this.#outbox.send(encodeMalformed(message.left));
    else this.#dispatch(message.right);
  }

  #dispatch(message: Message): void {
    switch (message.kind) {
      case 'request': {
        const { id, method, params } = message;
        const routed = routeRequest(method, id, params);
        if (isLeft(routed)) {
          this.#outbox.send(encodeError(id, routed.left));
          return;
        }
        const { event, processId, inputBytes = 0 } = routed.right;
        if (event.type === 'process.start' && 'log' in event.start) {
          const { launch, log } = event.start;
          log.attach(this.#outbox);
          this.#context.log.debug(
            { wire: this.#wire.name, processId, program: launch.argv[0] },
            'process start',
          );
        }
        this.#inFlight.add(id, processId, inputBytes);
        this.#actor.send(event);
        this.#throttle();
        break;
      }
      case 'notification':
        if (message.method === 'initialized') {
          this.#actor.send({ type: 'initialized' });
          return;
        }
        this.#violated('a notification other than initialized');
        break;
      case 'response':
        this.#violated('a response to nothing that was asked');
        break;
    }
  }

  #violated(what: string): void {
    this.#outbox.send(encodeMalformed(`${what} ends the connection`));
    this.#outbox.flush();
    this.#close(`protocol violation: ${what}`);
  }

  #reply(reply: Reply): void {
    this.#inFlight.settle(reply.id);
    this.#outbox.send(this.#encode(reply));
    this.#throttle();
  }

  #encode(reply: Reply): string {
    if (reply.type === 'reply') {
      return 'error' in reply ? encodeError(reply.id, reply.error) : encodeResult(reply.id, reply.result);
    }
    const { id, log, afterSeq, maxBytes, exitCode, closed } = reply;
    const limit = Math.min(maxBytes ?? MAX_READ_BYTES, MAX_READ_BYTES);
    const { chunks, nextSeq } = log.page(afterSeq, limit, maxBytes !== undefined);
    return (
      `{"id":${id},"result":{"chunks":[${encodeChunks(chunks)}],"nextSeq":${nextSeq},` +
      `"exited":${exitCode !== null},"exitCode":${exitCode},"closed":${closed},` +
      `"failure":null,"sandboxDenied":false,"droppedBytes":${log.droppedBytes}}}`
    );
  }

  /** A process actor is gone without having answered. */
  #crashed(processId: string, cause: unknown): void {
    this.#context.log.error({ wire: this.#wire.name, err: cause }, 'a process actor crashed');
    const error: RpcError = {
      code: ErrorCode.internalError,
      message: `process ${processId} failed: internal error`,
    };
    for (const id of this.#inFlight.of(processId)) this.#reply({ type: 'reply', id, error });
  }

  #throttle(): void {
    const pause = this.#inFlight.isOverfull || this.#outbox.isBacklogged;
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (this.#paused) this.#wire.pause();
    else this.#wire.resume();
  }

  /** The client sends no more: what is in flight is answered, then the wire is closed. */
  #ended(): void {
    this.#endSession();
    this.#outbox.flush();
    if (this.#outbox.isEmpty) {
      this.#close('the client closed it');
      return;
    }
    const timer = setTimeout(() => this.#close('the client did not take its last answers'), LAST_WORDS_MS);
    this.#outbox.onEmpty(() => {
      clearTimeout(timer);
      this.#close('the client closed it');
    });
  }

  #endSession(): void {
    if (this.#actor.getSnapshot().status === 'active') this.#actor.send({ type: 'wire.closed' });
  }

  #close(reason: string): void {
    if (!this.#wireClosed) this.#wire.close(reason);
  }
}
