import type { AnyActorRef } from 'xstate';
import { Feed } from './inspect/feed.js';
import { startLoopback } from './inspect/loopback.js';
import { Roots } from './inspect/roots.js';
import type { StatelyPage } from './inspect/stately.js';
import { serveViewer } from './inspect/viewer-page.js';
import type { Log } from './log.js';
import { errorCode } from './process/launch.js';

export type Inspector = {
  /** The server's own page, which needs nothing but this server. */
  readonly viewerUrl: string;
  /** Stately's; undefined where its package is not installed. */
  readonly stately: Pick<StatelyPage, 'url' | 'pageUrl'> | undefined;
  /** To be called with the root actor of every session, before it is started. */
  readonly onSession: (actor: AnyActorRef) => void;
  close(): Promise<void>;
};

/**
 * Serves both viewers on loopback. Actors are observed while somebody looks, and not before: till then they have
 * nothing attached and pay nothing. The caller closes it.
 *
 * @param port 0: a free one. Rejects with the system's error if it can't be bound.
 */
export const startInspector = async (port: number, log: Log): Promise<Inspector> => {
  const stately = await import('./inspect/stately.js').catch((error: unknown) => {
    if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    return undefined;
  });
  const server = await startLoopback(port);
  const roots = new Roots(log);
  const feed = new Feed(roots);
  const viewerUrl = serveViewer(server, (socket) => feed.add(socket));
  const statelyPage = stately?.serveStately(server, roots);
  return {
    viewerUrl,
    stately: statelyPage,
    onSession: (actor) => roots.add(actor),
    close: async () => {
      feed.close();
      await statelyPage?.flush();
      await server.close();
    },
  };
};
