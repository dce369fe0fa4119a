import type { AnyActorRef, InspectionEvent, Observer } from 'xstate';
import { Connection } from './connect.js';
import { environmentInfo } from './environment.js';
import { combineObservers } from './inspect/observers.js';
import { DEFAULT_LIMITS, limitReached, type Limits } from './limits.js';
import type { Log } from './log.js';
import { Metrics } from './metrics.js';
import { OutputMemory } from './output/memory.js';
import { FifoPool } from './process/fifos.js';
import { Guard } from './process/guard.js';
import { Sweeper } from './process/sweeper.js';
import { Places } from './process/places.js';
import { Turns } from './process/turns.js';
import { ServerState } from './server-state.js';
import { type ServerContext, Session } from './session.js';
import { version } from './version.js';
import type { Wire } from './wire/wire.js';

/** How long a closed process stays readable (docs/protocol.md, Exit). */
export const DEFAULT_RETENTION_MS = 30_000;

/** How long a resumable session waits for its client (docs/protocol.md section 2). */
export const DEFAULT_DETACHED_TTL_MS = 90_000;

export type ServerOptions = {
  /** How long a closed process stays readable, in milliseconds. Default: 30,000. */
  readonly retentionMs?: number;
  /** How long a client that can resume is waited for after its connection ended, in milliseconds. Default: 90,000. */
  readonly detachedTtlMs?: number;
  /**
   * This machine is the sandbox: processes that ask for one run as they are. Default: they are refused, since
   * the server has none of its own.
   */
  readonly externalSandbox?: boolean;
  /**
   * Clients may send HTTP requests from this machine, to whatever it can reach. Default: `http/request` is
   * not served.
   */
  readonly allowHttp?: boolean;
  /** What clients may make it hold at most. Default, where one isn't given: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /**
   * Processes that have left their group are killed too, when what they come from is terminated or its session
   * ends. Adds EXEC_SERVER_PROCESS to every environment. Needs /proc (Linux). Default: groups alone.
   */
  readonly sweep?: boolean;
  /**
   * Observers of every actor, event and snapshot (XState's inspection API), in this process. One that throws
   * is left out from then on. Default: none.
   */
  readonly inspect?: readonly Observer<InspectionEvent>[];
  /** Is given the root actor of every session before it is started, to attach observers for a while. */
  readonly onSession?: (actor: AnyActorRef) => void;
};

/** How many of each there are, by state. */
export type Population = {
  readonly connections: number;
  readonly sessions: [state: string, count: number][];
  readonly processes: [state: string, count: number][];
};

/** What is behind every listener: serves each wire that it is given. */
export class ExecServer {
  readonly metrics = new Metrics();
  readonly #connections = new Set<Connection>();
  readonly #sessions = new Map<string, Session>();
  readonly #context: ServerContext;
  #closing = false;

  constructor(
    log: Log,
    {
      retentionMs = DEFAULT_RETENTION_MS,
      detachedTtlMs = DEFAULT_DETACHED_TTL_MS,
      externalSandbox = false,
      allowHttp = false,
      limits: givenLimits = {},
      sweep = false,
      inspect = [],
      onSession = () => undefined,
    }: ServerOptions = {},
  ) {
    const limits = { ...DEFAULT_LIMITS, ...givenLimits };
    const sweeper = sweep ? Sweeper.make(log) : undefined;
    this.#context = {
      log,
      fifos: new FifoPool(),
      turns: new Turns(),
      metrics: this.metrics,
      limits,
      places: new Places(limits.processes, limitReached('processes', limits)),
      outputMemory: new OutputMemory(limits.retainedBytes),
      custody: { guard: new Guard(log, sweeper), sweeper },
      environmentInfo: environmentInfo(version),
      state: new ServerState(() => this.#sessions.values()),
      retentionMs,
      detachedTtlMs,
      settings: { externalSandbox, allowHttp },
      inspect: combineObservers(inspect, log),
      onSession,
    };
  }

  /** Serves one client until its wire is closed. The wire is the server's from now on. */
  accept(wire: Wire): Connection {
    const { principal } = wire;
    const connection = new Connection(wire, this.#context, {
      create: () => this.#createSession(principal),
      find: (sessionId) => this.#findSession(sessionId, principal),
      isOverfull: () => this.#sessions.size > this.#context.limits.sessions,
    });
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    if (this.#closing) connection.end('the server is closing');
    return connection;
  }

  /** Who is there now. */
  get population(): Population {
    const sessions = { attached: 0, detached: 0 };
    const processes = { starting: 0, running: 0, exited: 0, retained: 0 };
    for (const session of this.#sessions.values()) {
      sessions[session.isAttached ? 'attached' : 'detached']++;
      for (const state of session.processStates()) processes[state]++;
    }
    return {
      connections: this.#connections.size,
      sessions: Object.entries(sessions),
      processes: Object.entries(processes),
    };
  }

  /** Ends every session, with all of its processes. */
  async close(reason: string): Promise<void> {
    this.#closing = true;
    const connections = [...this.#connections];
    for (const connection of connections) connection.end(reason);
    const sessions = [...this.#sessions.values()];
    for (const session of sessions) session.close();
    await Promise.all([...connections, ...sessions].map(({ closed }) => closed));
    await this.#context.fifos.close();
    const { guard, sweeper } = this.#context.custody;
    sweeper?.close();
    await guard.close();
  }

  /** Another's session is as unknown as one that never was. */
  #findSession(sessionId: string, principal: string | undefined): Session | undefined {
    const session = this.#sessions.get(sessionId);
    return session?.principal === principal ? session : undefined;
  }

  #createSession(principal: string | undefined): Session {
    const session = new Session(this.#context, principal);
    this.#sessions.set(session.id, session);
    void session.closed.then(() => this.#sessions.delete(session.id));
    return session;
  }
}
