import type { ServerSummary } from './protocol.js';
import { version } from './version.js';

/** What is counted of a session. */
export type CountedSession = { readonly isAttached: boolean; readonly processCount: number };

/**
 * How a server is, as every client may know it: counts of its sessions. No client learns more of the sessions of
 * others, neither their names nor their processes.
 */
export class ServerState {
  readonly #startedAt = performance.now();

  constructor(private readonly sessions: () => Iterable<CountedSession>) {}

  summary(): ServerSummary {
    const sessions = [...this.sessions()];
    const attached = sessions.filter(({ isAttached }) => isAttached).length;
    return {
      version,
      uptimeMs: Math.round(performance.now() - this.#startedAt),
      attachedSessions: attached,
      detachedSessions: sessions.length - attached,
      processes: sessions.reduce((sum, { processCount }) => sum + processCount, 0),
    };
  }

  /** For the inspector. */
  toJSON(): object {
    return {};
  }
}
