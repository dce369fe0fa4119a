import net from 'node:net';
import type { WebSocket } from 'ws';
import { bytesOf } from '../../wire/raw-data.js';
import { after } from '../deadline.js';
import { ConnectRefusedError, ConnectTimeoutError, TokenRefusedError } from '../errors.js';
import { MAX_MESSAGE_BYTES, parseJson, type Transport } from '../transport.js';

/** A server that does not answer the close frame is not waited for. */
const CLOSE_TIMEOUT_MS = 2_000;

export type WebSocketOptions = {
  /** `ws://IP:PORT`, or `ws+unix:PATH`: everything after the colon is the path. */
  readonly url: string;
  /** Sent as `Authorization: Bearer …`. */
  readonly token?: string;
  /** Milliseconds until the connection must stand. */
  readonly connectTimeout: number;
};

/** The server pings every 30 s (docs/protocol.md section 6): two of them were missed, and some time more. */
const SILENCE_MS = 75_000;

/** Where a name has several addresses, what went wrong with each. */
const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
};

const opened = (socket: WebSocket, { url, connectTimeout }: WebSocketOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    const cancel = after(connectTimeout, () => {
      reject(new ConnectTimeoutError(`no connection to ${url} within ${connectTimeout} ms`));
      socket.terminate();
    });
    socket.once('open', () => {
      cancel();
      resolve();
    });
    socket.once('error', (error) => {
      cancel();
      reject(refused(url, error));
    });
  });

/** What the server says of a token; 429 is the 401 of an address from which too many came. */
const TOKEN_REFUSED = /^Unexpected server response: (401|429)$/;

const refused = (url: string, error: unknown): ConnectRefusedError => {
  const reason = reasonOf(error);
  const status = TOKEN_REFUSED.exec(reason)?.[1];
  return status === undefined
    ? new ConnectRefusedError(`cannot connect to ${url}: ${reason}`, { cause: error })
    : new TokenRefusedError(
        `cannot connect to ${url}: the server wants a token, or another one (HTTP ${status})`,
        { cause: error },
      );
};

const UNIX = 'ws+unix:';

/** ws would cut a path at a colon, and take `%20` for three characters of it. */
const addressOf = (url: string): { url: string; createConnection?: () => net.Socket } =>
  url.startsWith(UNIX)
    ? { url: 'ws://localhost/', createConnection: () => net.connect(url.slice(UNIX.length)) }
    : { url };

/** Ends a connection over which nothing came for too long: a network can be lost without a word. */
const expectPings = (socket: WebSocket, onSilence: () => void): (() => void) => {
  let heard = true;
  const timer = setInterval(() => {
    if (!heard && !socket.isPaused) {
      onSilence();
      socket.terminate();
    }
    heard = false;
  }, SILENCE_MS);
  const hear = (): void => {
    heard = true;
  };
  for (const event of ['message', 'ping', 'pong'] as const) socket.on(event, hear);
  return () => clearInterval(timer);
};

/** Connects. Rejects with ConnectTimeoutError or ConnectRefusedError. */
export const connectWebSocketTransport = async (options: WebSocketOptions): Promise<Transport> => {
  const { url, token } = options;
  const { WebSocket } = await import('ws');
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const { url: address, ...connection } = addressOf(url);
  let socket: WebSocket;
  try {
    socket = new WebSocket(address, {
      ...connection,
      headers,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
    });
  } catch (error) {
    throw refused(url, error); // no WebSocket URL, or a token that no header can hold
  }
  let failure: string | undefined;
  socket.on('error', (error) => {
    failure = error.message; // 'close' follows
  });
  const over = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  try {
    await opened(socket, options);
  } catch (error) {
    await over;
    throw error;
  }
  const stopListening = expectPings(socket, () => {
    failure = 'no sign of life from the server';
  });
  void over.finally(stopListening);
  return {
    open: (events) => {
      socket.on('message', (data) => events.message(parseJson(bytesOf(data).toString())));
      socket.once('close', (code) => events.closed(`${url}: ${failure ?? `closed with code ${code}`}`));
    },
    send: (message) => socket.send(JSON.stringify(message)),
    close: async () => {
      socket.close(1000);
      const cancel = after(CLOSE_TIMEOUT_MS, () => socket.terminate());
      await over;
      cancel();
    },
  };
};
