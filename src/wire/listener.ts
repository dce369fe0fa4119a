import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { webSocketWire } from './websocket.js';
import type { Wire } from './wire.js';

export type ListenerOptions = {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** A longer message closes its connection with code 1009. */
  readonly maxMessageBytes: number;
  /** Names for this server that a Host header may have, besides the address and the loopback names. */
  readonly allowedHosts: readonly string[];
  /** Why no further connection from this address is taken now; undefined: one is. Default: all are taken. */
  readonly admit?: (address: string) => Refusal | undefined;
  readonly onWire: (wire: Wire, address: string) => void;
  /** A request was refused: for the log. */
  readonly onRefused: (status: number, reason: string) => void;
  /** What else GET answers, by path. */
  readonly pages?: ReadonlyMap<string, () => Promise<Page>>;
};

export type Page = { readonly type: string; readonly body: string };

export type Listener = {
  /** `ws://IP:PORT`, with the port that was bound. */
  readonly url: string;
  readonly closed: Promise<void>;
  /** Takes no more connections. Those that are open are their wires' business. */
  close(): Promise<void>;
};

const unwrapped = (host: string): string => host.replace(/^\[|\]$/g, '');

/** The name in a Host header, without its port. */
const hostName = (header: string): string => unwrapped(header.replace(/:\d+$/, '')).toLowerCase();

const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || (net.isIPv4(name) && name.startsWith('127.'));

export type Refusal = { readonly status: 403 | 404 | 429 | 503; readonly reason: string };

/**
 * Browsers send an Origin with every WebSocket and every cross-site request, and nothing else does: no web
 * page may speak to this server. The Host check keeps out one that rebound its name to this address.
 */
const refusalOf = (request: http.IncomingMessage, allowedHosts: readonly string[]): Refusal | undefined => {
  if (request.headers.origin !== undefined) return { status: 403, reason: 'it has an Origin header' };
  const name = hostName(request.headers.host ?? '');
  const bound = unwrapped(request.socket.localAddress ?? '').replace(/^::ffff:/, '');
  if (name !== bound && !isLoopback(name) && !allowedHosts.includes(name)) {
    return { status: 403, reason: 'its Host is not a name of this server' };
  }
  return undefined;
};

const pathOf = (request: http.IncomingMessage): string => (request.url ?? '').replace(/\?.*$/s, '');

const refuseUpgrade = (socket: Duplex, status: number): void => {
  socket.on('error', () => undefined); // it is gone: nothing to refuse any more
  socket.end(
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
  );
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

/** Listens for WebSockets at `/`, and answers /readyz and /healthz. Rejects with the system's error. */
export const listen = async (options: ListenerOptions): Promise<Listener> => {
  const { host, port, maxMessageBytes, onWire, onRefused } = options;
  const allowedHosts = options.allowedHosts.map(hostName);
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // output is random enough, or already compressed; it would cost CPU and latency
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
  });

  const server = http.createServer((request, response) => {
    const refusal = refusalOf(request, allowedHosts);
    const path = pathOf(request);
    const page = request.method === 'GET' ? options.pages?.get(path) : undefined;
    if (refusal === undefined && page !== undefined) {
      void sendPage(response, page);
      return;
    }
    const known = request.method === 'GET' && (path === '/readyz' || path === '/healthz');
    const status = refusal?.status ?? (known ? 200 : 404);
    if (refusal !== undefined) onRefused(status, refusal.reason);
    response.writeHead(status, { 'Content-Length': 0 }).end();
  });

  server.on('upgrade', (request, socket, head) => {
    const { remoteAddress = '?', remotePort = 0 } = request.socket;
    const refusal =
      refusalOf(request, allowedHosts) ??
      (pathOf(request) === '/' ? undefined : { status: 404, reason: 'its path is not /' }) ??
      options.admit?.(remoteAddress);
    if (refusal !== undefined) {
      onRefused(refusal.status, refusal.reason);
      refuseUpgrade(socket, refusal.status);
      return;
    }
    request.socket.setNoDelay(true);
    webSockets.handleUpgrade(request, socket, head, (webSocket) =>
      onWire(webSocketWire(`ws ${remoteAddress}:${remotePort}`, webSocket, socket), remoteAddress),
    );
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: unwrapped(host), port }, () => {
      server.off('error', reject);
      resolve();
    });
  });

  const bound = server.address();
  const boundPort = typeof bound === 'object' && bound !== null ? (bound satisfies AddressInfo).port : port;
  const closed = new Promise<void>((resolve) => {
    server.once('close', resolve);
  });
  return {
    url: `ws://${host}:${boundPort}`,
    closed,
    close: () => {
      server.close();
      server.closeAllConnections();
      return closed;
    },
  };
};
