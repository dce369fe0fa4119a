import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { type Either, isLeft, left, right, tap } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { WebSocketServer } from 'ws';
import {
  Access,
  type AccessOptions,
  answeredProtocol,
  isProbe,
  mayUpgrade,
  pathOf,
  type Refusal,
  unwrapped,
} from './access.js';
import { listenOnUnixSocket } from './unix.js';
import { webSocketWire } from './websocket.js';
import type { Wire } from './wire.js';

/** A client sends its headers in one packet: who dribbles them, or sends nothing, holds a socket for no longer. */
export const HEADERS_TIMEOUT_MS = 5_000;

/** How often node looks whether a request is overdue: its own 30 s would make 35 of the 5. */
const OVERDUE_CHECK_MS = 1_000;

/**
 * A frame that comes in more pieces than this closes its connection (1008): each piece costs some 400 bytes
 * until the frame is whole. 64 MiB in packets of 1,400 bytes are 48,000.
 */
const MAX_BUFFERED_CHUNKS = 65_536;

/** What holds for every request, whatever it came through. */
export type RequestOptions = AccessOptions & {
  /** A longer message closes its connection with code 1009. */
  readonly maxMessageBytes: number;
  /** A client has so long until its session is open. Default: as long as it likes. */
  readonly handshakeTimeoutMs?: number | undefined;
  /** A request has so long until its headers have come. Default: HEADERS_TIMEOUT_MS. */
  readonly headersTimeoutMs?: number | undefined;
  /** Why no further connection from this address is taken now; undefined: one is. Default: all are taken. */
  readonly admit?: (address: string) => Refusal | undefined;
  readonly onWire: (wire: Wire, address: string) => void;
  /** A request was refused: for the log. */
  readonly onRefused: (status: number, reason: string, address: string | undefined) => void;
  /** It listens, and something failed nevertheless: for the log. */
  readonly onFailed?: (error: Error) => void;
  /** What else GET answers, by path. */
  readonly pages?: ReadonlyMap<string, () => Promise<Page>>;
};

export type Page = { readonly type: string; readonly body: string };

export type ListenerOptions = RequestOptions & {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
};

export type Listener = {
  /** `ws://IP:PORT`, with the port that was bound, or `ws+unix:PATH`. */
  readonly url: string;
  readonly closed: Promise<void>;
  /** Takes no more connections. Those that are open are their wires' business. */
  close(): Promise<void>;
};

/** Refusals are short and alike: nothing in them tells what is here. */
const headersOf = ({ headers = {} }: Refusal): Record<string, string> => ({
  ...headers,
  Connection: 'close',
  'Content-Length': '0',
});

const refuseUpgrade = (socket: Duplex, refusal: Refusal): void => {
  const { status } = refusal;
  socket.on('error', () => undefined); // it is gone: nothing to refuse any more
  const lines = [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`,
    ...Object.entries(headersOf(refusal)).map(([name, value]) => `${name}: ${value}`),
  ];
  // a client that keeps its own end open does not hold this one
  socket.end(`${lines.join('\r\n')}\r\n\r\n`, () => socket.destroy());
};

const NOT_FOUND: Refusal = { status: 404, reason: 'there is nothing at its path' };
const NO_HANDSHAKE: Refusal = {
  status: 400,
  reason: 'it is no handshake of a WebSocket',
  headers: { 'Sec-WebSocket-Version': '13' },
};

/** Never rejects: what fails is answered with 500. */
const sendPage = async (response: http.ServerResponse, page: () => Promise<Page>): Promise<void> => {
  try {
    const { type, body } = await page();
    response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
  } catch {
    // whoever makes the page logs why
    response.writeHead(500, { 'Content-Length': 0 }).end();
  }
};

/** Serves WebSockets at `/`, and answers /readyz and /healthz. The server listens nowhere yet. */
const createServer = (options: RequestOptions, { isUnix }: { readonly isUnix: boolean }): http.Server => {
  const access = new Access(options, { checksHost: !isUnix });
  const { maxMessageBytes, handshakeTimeoutMs, headersTimeoutMs = HEADERS_TIMEOUT_MS, onWire } = options;
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // output is random enough, or already compressed; it would cost CPU and latency
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    maxBufferedChunks: MAX_BUFFERED_CHUNKS,
    handleProtocols: answeredProtocol,
  });
  const roomFor = (address: string): Either<Refusal, undefined> => {
    const refusal = options.admit?.(address);
    return refusal === undefined ? right(undefined) : left(refusal);
  };
  const tell = ({ status, reason, isRepeated = false }: Refusal, request: http.IncomingMessage): void => {
    if (!isRepeated) options.onRefused(status, reason, request.socket.remoteAddress);
  };
  // ws would answer by a page of HTML
  webSockets.on('wsClientError', (_error, socket, request) => {
    tell(NO_HANDSHAKE, request);
    refuseUpgrade(socket, NO_HANDSHAKE);
  });

  const timeouts = {
    headersTimeout: headersTimeoutMs,
    // nothing that is served has a body
    requestTimeout: headersTimeoutMs,
    connectionsCheckingInterval: Math.min(OVERDUE_CHECK_MS, headersTimeoutMs),
  };
  const server = http.createServer(timeouts, (request, response) => {
    const admitted = access.admit(request);
    response.sendDate = false; // as it is without one after an upgrade
    if (isLeft(admitted)) {
      tell(admitted.left, request);
      response.writeHead(admitted.left.status, headersOf(admitted.left)).end();
      return;
    }
    const page = request.method === 'GET' ? options.pages?.get(pathOf(request)) : undefined;
    if (page !== undefined) void sendPage(response, page);
    else if (isProbe(request)) response.writeHead(200, { 'Content-Length': 0 }).end();
    else response.writeHead(NOT_FOUND.status, headersOf(NOT_FOUND)).end();
  });

  server.on('upgrade', (request, socket, head) => {
    const { remoteAddress = isUnix ? 'unix' : '?', remotePort = 0 } = request.socket;
    const admitted = pipe(
      access.admit(request),
      tap(() => mayUpgrade(request)),
      tap(() => roomFor(remoteAddress)),
    );
    if (isLeft(admitted)) {
      const refusal = admitted.left;
      tell(refusal, request);
      refuseUpgrade(socket, refusal);
      return;
    }
    const { principal } = admitted.right;
    const name = isUnix ? 'unix' : `ws ${remoteAddress}:${remotePort}`;
    request.socket.setNoDelay(true);
    webSockets.handleUpgrade(request, socket, head, (webSocket) =>
      onWire(webSocketWire(name, webSocket, socket, { principal, handshakeTimeoutMs }), remoteAddress),
    );
  });
  return server;
};

const listenerOf = (server: http.Server, url: string, onFailed?: (error: Error) => void): Listener => {
  server.on('error', (error) => onFailed?.(error));
  const closed = new Promise<void>((resolve) => {
    server.once('close', resolve);
  });
  return {
    url,
    closed,
    close: () => {
      server.close();
      server.closeAllConnections();
      return closed;
    },
  };
};

/** Listens at an address. Rejects with the system's error. */
export const listen = async (options: ListenerOptions): Promise<Listener> => {
  const { host, port } = options;
  const server = createServer(options, { isUnix: false });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: unwrapped(host), port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const bound = server.address();
  const boundPort = typeof bound === 'object' && bound !== null ? (bound satisfies AddressInfo).port : port;
  return listenerOf(server, `ws://${host}:${boundPort}`, options.onFailed);
};

/** Listens on a Unix socket, which is removed when it is closed. Rejects with UnixSocketError, or the system's error. */
export const listenUnix = async (options: RequestOptions & { readonly file: string }): Promise<Listener> => {
  const file = path.resolve(options.file);
  const server = createServer(options, { isUnix: true });
  await listenOnUnixSocket(server, file);
  return listenerOf(server, `ws+unix:${file}`, options.onFailed);
};
