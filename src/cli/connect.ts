import type { ExecServerClient } from '../client/index.js';
import { last, UsageError } from './command.js';

export const connectOption = {
  connect: {
    type: 'string',
    requiresArg: true,
    coerce: last<string>,
    describe: 'a server that listens, `ws://HOST:PORT`; default: EXEC_SERVER_URL, or a local one of its own',
  },
} as const;

/** Which server is meant; undefined: a local one. Throws UsageError if it is no WebSocket URL. */
export const serverUrl = (option: string | undefined): string | undefined => {
  const url = option ?? process.env['EXEC_SERVER_URL'] ?? '';
  if (url === '' && option === undefined) return undefined;
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  if (protocol === 'ws:' || protocol === 'wss:') return url;
  throw new UsageError(
    `${option === undefined ? 'EXEC_SERVER_URL' : '--connect'} \`${url}\` is no URL of a server; ` +
      'expected `ws://HOST:PORT`',
  );
};

/** Somebody else who uses the session is most often a person, for whom nobody waits. */
const CONNECT_TIMEOUT_MS = 5_000;

export type Connected = {
  readonly client: ExecServerClient;
  /** Ends the connection with all that it runs, and a server of its own. */
  readonly close: () => Promise<void>;
};

/**
 * A terminal in which nothing moves is not looked at for long: a network that comes back does so within this
 * time, a server that was killed does not.
 */
const RESUME_WINDOW_MS = 15_000;

/** How the server is called in messages. */
export const serverName = (url: string | undefined): string => url ?? 'the local server';

/**
 * Rejects with the errors of the client.
 *
 * @param resume the session can be left, and outlives a lost connection; not of a local server
 */
export const connect = async (
  url: string | undefined,
  clientName: string,
  { resume = false }: { readonly resume?: boolean } = {},
): Promise<Connected> => {
  if (url === undefined) return launchLocal(clientName);
  const { ExecServerClient } = await import('../client/index.js');
  const client = await ExecServerClient.connectWebSocket({
    url,
    clientName,
    resume,
    resumeWindow: RESUME_WINDOW_MS,
  });
  return { client, close: () => client.close() };
};

/** Goes on with a session that another command has left. Rejects with the errors of the client. */
export const resumeSession = async (
  url: string,
  sessionId: string,
  clientName: string,
): Promise<ExecServerClient> => {
  const { ExecServerClient } = await import('../client/index.js');
  return ExecServerClient.connectWebSocket({
    url,
    sessionId,
    clientName,
    resumeWindow: RESUME_WINDOW_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
  });
};

/**
 * A server of its own as a child over stdio. One in this process would start a tenth of a second sooner, but
 * what it runs would live on when this process is killed; what this one runs ends with it, and when the server
 * dies there is still somebody to restore the terminal.
 */
const launchLocal = async (clientName: string): Promise<Connected> => {
  const { launchTransport } = await import('../client/transports/launch.js');
  // the client is loaded while the server starts
  const [{ ExecServerClient }, transport] = await Promise.all([
    import('../client/index.js'),
    launchTransport(),
  ]);
  const client = await ExecServerClient.over(transport, { clientName });
  return { client, close: () => client.close() };
};
