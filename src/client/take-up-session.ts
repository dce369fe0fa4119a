import { ErrorCode } from '../rpc.js';
import { after } from './deadline.js';
import { ConnectTimeoutError, ServerError, SessionLostError } from './errors.js';

/** Most often the other client has just ended, and the server is about to notice; each later try waits twice as long. */
const FIRST_DELAY_MS = 50;
const LAST_DELAY_MS = 1_000;

type Wanted = { readonly url: string; readonly sessionId: string; readonly timeoutMs: number };

/**
 * Opens a session that another client has left, by trying again while that client is still attached.
 *
 * @param open one try; rejects with ServerError if the server refuses
 */
export const takeUpSession = async <T>(
  { url, sessionId, timeoutMs }: Wanted,
  open: () => Promise<T>,
): Promise<T> => {
  // not the clock on the wall, which somebody may set
  const end = performance.now() + timeoutMs;
  for (let delay = FIRST_DELAY_MS; ; delay = Math.min(delay * 2, LAST_DELAY_MS)) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (error.rpcCode === ErrorCode.invalidRequest) throw lost(url, sessionId, error);
      if (error.rpcCode !== ErrorCode.sessionAttached) throw error;
      if (performance.now() + delay > end) throw inUse(url, sessionId, timeoutMs, error);
    }
    await new Promise<void>((resolve) => void after(delay, resolve));
  }
};

const lost = (url: string, sessionId: string, cause: ServerError): SessionLostError =>
  new SessionLostError(
    `${url} has no session ${sessionId}: it has ended, or was not resumed within the server's --detached-ttl`,
    { cause },
  );

const inUse = (url: string, sessionId: string, timeoutMs: number, cause: ServerError): ConnectTimeoutError =>
  new ConnectTimeoutError(
    `session ${sessionId} at ${url} was in use by another client for ${timeoutMs} ms; detach that one, ` +
      'or wait until the server has noticed that its connection is lost (90 s at most)',
    { cause },
  );
