import type { InspectionEvent, Observer } from 'xstate';
import { Connection, type ServerContext } from './connect.js';
import { environmentInfo } from './environment.js';
import { combineObservers } from './inspect/observers.js';
import type { Log } from './log.js';
import { FifoPool } from './process/fifos.js';
import { killEveryGroup } from './process/groups.js';
import { Turns } from './process/turns.js';
import { version } from './version.js';
import type { Wire } from './wire/wire.js';

/** How long a closed process stays readable (docs/protocol.md, Exit). */
export const DEFAULT_RETENTION_MS = 30_000;

/** A message longer than this ends its connection (docs/protocol.md section 1). */
export const DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

export type ServerOptions = {
  /** How long a closed process stays readable, in milliseconds. Default: 30,000. */
  readonly retentionMs?: number;
  /**
   * Observers of every actor, event and snapshot (XState's inspection API), in this process. One that throws
   * is left out from then on. Default: none.
   */
  readonly inspect?: readonly Observer<InspectionEvent>[];
};

/** What is behind every listener: serves each wire that it is given. */
export class ExecServer {
  readonly #connections = new Set<Connection>();
  readonly #context: ServerContext;
  #closing = false;

  constructor(log: Log, { retentionMs = DEFAULT_RETENTION_MS, inspect = [] }: ServerOptions = {}) {
    this.#context = {
      log,
      fifos: new FifoPool(),
      turns: new Turns(),
      environmentInfo: environmentInfo(version),
      retentionMs,
      inspect: combineObservers(inspect, log),
    };
    // the last resort: however this process ends (but by SIGKILL), its children end before it
    process.on('exit', killEveryGroup);
  }

  /** Serves one client until its wire is closed. The wire is the server's from now on. */
  accept(wire: Wire): Connection {
    const connection = new Connection(wire, this.#context);
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    if (this.#closing) connection.end('the server is closing');
    return connection;
  }

  /** Ends every session, with all of its processes. */
  async close(reason: string): Promise<void> {
    this.#closing = true;
    const open = [...this.#connections];
    for (const connection of open) connection.end(reason);
    await Promise.all(open.map(({ closed }) => closed));
    this.#context.fifos.close();
    process.off('exit', killEveryGroup);
  }
}
