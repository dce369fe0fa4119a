import { randomUUID } from 'node:crypto';
import { type Actor, type AnyActorRef, createActor, type InspectionEvent, type Observer } from 'xstate';
import { type ConnectionEvent, connectionMachine, summary } from '../machines/connection.js';
import { processMachine } from '../machines/process.js';
import type { Notification, Reply } from '../machines/reply.js';
import { filesActor } from './files/actor.js';
import { httpActor } from './http/actor.js';
import { limitReached, type Limits } from './limits.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import type { OutputLog } from './output/log.js';
import type { OutputMemory } from './output/memory.js';
import type { Outlet } from './output/outlet.js';
import { childActor, ProcessHost } from './process/actor.js';
import type { FifoPool } from './process/fifos.js';
import { type Custody, SessionGroups } from './process/groups.js';
import { Places } from './process/places.js';
import type { Turns } from './process/turns.js';
import { type EnvironmentInfo, type ProcessSummary, PROTOCOL_VERSION } from './protocol.js';
import type { RequestSettings } from './routes.js';
import type { RequestId } from './rpc.js';
import type { ServerState } from './server-state.js';

/** What all sessions of a server share. */
export type ServerContext = {
  readonly log: Log;
  readonly fifos: FifoPool;
  readonly turns: Turns;
  readonly metrics: Metrics;
  readonly limits: Limits;
  /** Those of the server; a session has some of them. */
  readonly places: Places;
  readonly outputMemory: OutputMemory;
  readonly custody: Custody;
  readonly environmentInfo: EnvironmentInfo;
  readonly state: ServerState;
  readonly retentionMs: number;
  /** How long a resumable client is waited for. */
  readonly detachedTtlMs: number;
  readonly settings: RequestSettings;
  /** Sees every event and snapshot; undefined, and it costs nothing. */
  readonly inspect: Observer<InspectionEvent> | undefined;
  /** Gets the root actor of every session, before it is started. */
  readonly onSession: (actor: AnyActorRef) => void;
};

/** Whoever holds the wire of a session. */
export type Attachment = {
  /** For the log. */
  readonly name: string;
  readonly outlet: Outlet;
  reply(reply: Reply): void;
  notify(notification: Notification): void;
  /** The client has broken the protocol. */
  violated(reason: string): void;
  /** A process is gone without having answered. */
  crashed(processId: string): void;
  /** The session is over. */
  ended(reason: string): void;
};

// parsing a chart takes 1–4 ms: once, not once a session
const machine = connectionMachine.provide({
  actors: {
    process: processMachine.provide({ actors: { child: childActor } }),
    files: filesActor,
    http: httpActor,
  },
});

/**
 * A connection actor, which outlives its wire if its client can resume: process ids, sequence numbers, write
 * ids and retained output belong to it. One wire at a time is attached.
 */
export class Session {
  readonly id = randomUUID();
  /** Resolves when nothing of it is left. */
  readonly closed: Promise<void>;
  readonly #actor: Actor<typeof machine>;
  #attachment: Attachment | undefined;
  /** Counts the wires. A request's id is marked with it, for answers that come when its wire is gone. */
  #wires = 0;

  /** @param principal whose wires may take it up; see Wire */
  constructor(
    context: ServerContext,
    readonly principal?: string,
  ) {
    const { log, fifos, turns, metrics, limits, custody, environmentInfo } = context;
    const { retentionMs, detachedTtlMs, inspect } = context;
    const groups = new SessionGroups(custody);
    const places = new Places(
      limits.processesPerSession,
      limitReached('processesPerSession', limits),
      context.places,
    );
    this.#actor = createActor(machine, {
      input: {
        sessionId: this.id,
        protocolVersion: PROTOCOL_VERSION,
        environmentInfo,
        host: new ProcessHost({ groups, fifos, turns, places, metrics }),
        server: context.state,
        retentionMs,
        detachedTtlMs,
      },
      ...(inspect === undefined ? {} : { inspect }),
      // xstate's default writes to stdout, which is the protocol
      logger: (...args) => log.debug({ wire: this.#name }, args.map(String).join(' ')),
    });
    const answer = (reply: Reply): void => this.#answer(reply);
    this.#actor.on('reply', answer);
    this.#actor.on('reply.output', answer);
    this.#actor.on('reply.encoded', answer);
    this.#actor.on('notification', (notification) => this.#attachment?.notify(notification));
    this.#actor.on('violation', ({ reason }) => this.#attachment?.violated(reason));
    this.#actor.on('crash', ({ processId, error }) => {
      log.error({ wire: this.#name, err: error }, 'a process actor crashed');
      this.#attachment?.crashed(processId);
    });
    this.closed = new Promise((resolve) => {
      this.#actor.subscribe({
        // without this observer an error would be thrown from a timer, and take the server with it
        error: (error) => {
          log.error({ wire: this.#name, err: error }, 'the connection actor crashed');
          // it can't end its processes any more
          groups.end();
          this.#attachment?.ended('internal error');
          resolve(groups.ended);
        },
        complete: () => {
          this.#attachment?.ended('the session is over');
          resolve(groups.ended);
        },
      });
    });
    context.onSession(this.#actor);
    this.#actor.start();
  }

  get isAttached(): boolean {
    return this.#attachment !== undefined;
  }

  get processCount(): number {
    return this.#actor.getSnapshot().context.processes.size;
  }

  get isActive(): boolean {
    return this.#actor.getSnapshot().status === 'active';
  }

  /** It waits for its client: another wire may take it up. */
  get isDetached(): boolean {
    return this.#actor.getSnapshot().matches('detached');
  }

  /** No client has initialized it yet. */
  get isFresh(): boolean {
    return this.#actor.getSnapshot().matches({ open: 'awaitingInitialize' });
  }

  /** Of each of its processes. */
  processStates(): ProcessSummary['state'][] {
    return [...this.#actor.getSnapshot().context.processes].map(([id, ref]) => summary(id, ref).state);
  }

  /** From now on this wire gets the replies, and all new output. */
  attach(attachment: Attachment): void {
    this.#attachment = attachment;
    this.#wires++;
    for (const log of this.#logs()) log.attach(attachment.outlet);
  }

  /** Its wire has ended. What is still answered to that goes nowhere, and no process waits for its client. */
  detach(): void {
    this.#attachment = undefined;
    for (const log of this.#logs()) log.detach();
    this.send({ type: 'wire.closed' });
  }

  /** Ends it, and all of its processes; what is in flight is answered first. */
  close(): void {
    this.send({ type: 'session.close' });
  }

  send(event: ConnectionEvent): void {
    if (this.isActive) this.#actor.send(event);
  }

  /** A request's id, as this session's actors see it. */
  mark(id: RequestId): RequestId {
    return `${this.#wires}:${id}`;
  }

  #answer(reply: Reply): void {
    const wire = `${this.#wires}:`;
    if (reply.id.startsWith(wire)) this.#attachment?.reply({ ...reply, id: reply.id.slice(wire.length) });
  }

  #logs(): OutputLog[] {
    return [...this.#actor.getSnapshot().context.processes.values()].map(
      (ref) => ref.getSnapshot().context.log,
    );
  }

  get #name(): string {
    return this.#attachment?.name ?? 'detached';
  }
}
