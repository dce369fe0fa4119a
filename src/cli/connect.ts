import { isLeft } from 'fp-ts/lib/Either.js';
import type { ExecServerClient } from '../client/index.js';
import { parseToken, readTokenFile } from '../token.js';
import { last, UsageError } from './command.js';

export const connectOption = {
  connect: {
    type: 'string',
    requiresArg: true,
    coerce: last<string>,
    describe:
      'a server that listens, `ws://HOST:PORT` or `ws+unix:PATH`; default: EXEC_SERVER_URL, or a local one of its own',
  },
  'token-file': {
    type: 'string',
    requiresArg: true,
    coerce: last<string>,
    describe:
      'with --connect: a file with the token for it, which only you may read; default: EXEC_SERVER_TOKEN',
  },
} as const;

/** Which server is meant; undefined: a local one. Throws UsageError if it is no WebSocket URL. */
export const serverUrl = (option: string | undefined): string | undefined => {
  const url = option ?? process.env['EXEC_SERVER_URL'] ?? '';
  if (url === '' && option === undefined) return undefined;
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  if (['ws:', 'wss:', 'ws+unix:'].includes(protocol)) return url;
  throw new UsageError(
    `${option === undefined ? 'EXEC_SERVER_URL' : '--connect'} \`${url}\` is no URL of a server; ` +
      'expected `ws://HOST:PORT` or `ws+unix:PATH`',
  );
};

/**
 * The token for a server; undefined: none is shown. A file goes before EXEC_SERVER_TOKEN; of several tokens in it
 * the first counts. Throws UsageError, which never quotes a token.
 *
 * @param url undefined: a local server, which asks for none
 */
export const serverToken = (tokenFile: string | undefined, url: string | undefined): string | undefined => {
  if (tokenFile !== undefined) {
    if (url === undefined) {
      throw new UsageError('--token-file needs a server that listens: --connect URL, or EXEC_SERVER_URL');
    }
    const tokens = readTokenFile(tokenFile);
    if (isLeft(tokens)) throw new UsageError(`--token-file ${tokenFile} ${tokens.left}`);
    return tokens.right[0];
  }
  const variable = process.env['EXEC_SERVER_TOKEN'] ?? '';
  if (url === undefined || variable === '') return undefined;
  const token = parseToken(variable);
  if (isLeft(token)) throw new UsageError(`EXEC_SERVER_TOKEN ${token.left}`);
  return token.right;
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
 * @param token for the server at the URL
 */
export const connect = async (
  url: string | undefined,
  clientName: string,
  { resume = false, token }: { readonly resume?: boolean; readonly token?: string | undefined } = {},
): Promise<Connected> => {
  if (url === undefined) return launchLocal(clientName);
  const { ExecServerClient } = await import('../client/index.js');
  const client = await ExecServerClient.connectWebSocket({
    url,
    ...(token === undefined ? {} : { token }),
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
  { clientName, token }: { readonly clientName: string; readonly token: string | undefined },
): Promise<ExecServerClient> => {
  const { ExecServerClient } = await import('../client/index.js');
  return ExecServerClient.connectWebSocket({
    url,
    ...(token === undefined ? {} : { token }),
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
