import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

/** IPv4 loopback: what is shown here is for this machine alone. */
const HOST = '127.0.0.1';

/** Pages have next to nothing to say. */
const MAX_INBOUND_BYTES = 1024;

/** What is at one path. */
export type Resource = {
  /** Answers a GET. */
  readonly get?: (response: http.ServerResponse) => void;
  /** Takes a WebSocket; who has cut it off or failed is gone by itself. */
  readonly socket?: (socket: WebSocket) => void;
};

export type Loopback = {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  serve(path: string, resource: Resource): void;
  /** Cuts everybody off and stops listening. */
  close(): Promise<void>;
};

/** A path of 256 random bits: whoever knows it was told it. */
export const unguessablePath = (): string => `/${randomBytes(32).toString('base64url')}`;

/**
 * 403 for what comes from another page than one of this server's own, or by a name that is not its address (a
 * rebound one). Programs send no Origin.
 */
const isForeign = ({ headers: { origin, host } }: http.IncomingMessage, own: string): boolean =>
  host !== own || (origin !== undefined && origin !== `http://${own}`);

const refuseUpgrade = (socket: Duplex, status: number): void => {
  socket.on('error', () => undefined); // it is gone: nothing to refuse any more
  socket.end(
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
  );
};

/**
 * An HTTP server on loopback for the pages of the inspector. What it serves is at paths that nobody can
 * guess; the caller closes it.
 *
 * @param port 0: a free one. Rejects with the system's error if it can't be bound.
 */
export const startLoopback = async (port: number): Promise<Loopback> => {
  const resources = new Map<string, Resource>();
  const webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_INBOUND_BYTES,
  });
  let host = '';

  const server = http.createServer((request, response) => {
    const get = resources.get(request.url ?? '')?.get;
    const refuse = (status: number): void => void response.writeHead(status, { 'Content-Length': 0 }).end();
    if (isForeign(request, host)) refuse(403);
    else if (get === undefined) refuse(404);
    else if (request.method === 'GET') get(response);
    else refuse(405);
  });
  server.on('upgrade', (request, connection, head) => {
    const take = resources.get(request.url ?? '')?.socket;
    if (isForeign(request, host)) refuseUpgrade(connection, 403);
    else if (take === undefined) refuseUpgrade(connection, 404);
    else {
      webSockets.handleUpgrade(request, connection, head, (socket) => {
        socket.on('error', () => socket.terminate());
        take(socket);
      });
    }
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: HOST, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const bound = server.address();
  host = `${HOST}:${typeof bound === 'object' && bound !== null ? bound.port : port}`;

  return {
    host,
    serve: (path, resource) => void resources.set(path, resource),
    close: () =>
      new Promise((resolve) => {
        for (const socket of webSockets.clients) socket.terminate();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
