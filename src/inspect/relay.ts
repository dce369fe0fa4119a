import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { page, pageHeaders } from './page.js';

/** IPv4 loopback: what is shown here is for this machine alone. */
const HOST = '127.0.0.1';

/** A page that is opened late gets this much of what was, so that it knows the actors that live. */
const MAX_KEPT_MESSAGES = 500;
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/** A viewer that is so far behind is cut off: it must not fill the memory of the server. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024;

/** Viewers have nothing to say. */
const MAX_INBOUND_BYTES = 1024;

export type Relay = {
  /** Where viewers get the messages: `ws://127.0.0.1:PORT/TOKEN`. */
  readonly url: string;
  /** The page to open in a browser: the same with `http`. */
  readonly pageUrl: string;
  /** Sends a message to every viewer, and keeps it for later ones. */
  publish(message: string): void;
  /** Cuts the viewers off and stops listening. */
  close(): Promise<void>;
};

/** The newest messages, oldest first. */
class History {
  readonly messages: string[] = [];
  #length = 0;

  add(message: string): void {
    this.messages.push(message);
    this.#length += message.length;
    while (this.messages.length > MAX_KEPT_MESSAGES || this.#length > MAX_KEPT_BYTES) {
      this.#length -= this.messages.shift()?.length ?? 0;
    }
  }
}

/**
 * 403 for what comes from another page than this relay's own, or by a name that is not its address (a
 * rebound one); 404 for whoever doesn't know the path. The viewer itself opens no socket: it sits in a frame
 * of the page, which hands it what it gets. Programs send no Origin.
 */
const refusalOf = (
  { headers, url }: http.IncomingMessage,
  host: string,
  path: string,
): number | undefined => {
  const { origin } = headers;
  if (headers.host !== host || (origin !== undefined && origin !== `http://${host}`)) return 403;
  return url === path ? undefined : 404;
};

const refuseUpgrade = (socket: Duplex, status: number): void => {
  socket.on('error', () => undefined); // it is gone: nothing to refuse any more
  socket.end(
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
  );
};

/**
 * Listens on loopback for viewers, at a path that nobody can guess.
 *
 * @param port 0: a free one. Rejects with the system's error if it can't be bound.
 */
export const startRelay = async (port: number): Promise<Relay> => {
  const path = `/${randomBytes(32).toString('base64url')}`;
  const history = new History();
  const webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_INBOUND_BYTES,
  });
  let host = '';

  const server = http.createServer((request, response) => {
    const status = refusalOf(request, host, path) ?? (request.method === 'GET' ? 200 : 405);
    if (status === 200) response.writeHead(status, pageHeaders(host)).end(page);
    else response.writeHead(status, { 'Content-Length': 0 }).end();
  });
  server.on('upgrade', (request, socket, head) => {
    const status = refusalOf(request, host, path);
    if (status !== undefined) {
      refuseUpgrade(socket, status);
      return;
    }
    webSockets.handleUpgrade(request, socket, head, (viewer) => {
      viewer.on('error', () => viewer.terminate());
      for (const message of history.messages) viewer.send(message);
    });
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
    url: `ws://${host}${path}`,
    pageUrl: `http://${host}${path}`,
    publish: (message) => {
      history.add(message);
      for (const viewer of webSockets.clients) {
        if (viewer.bufferedAmount > MAX_UNSENT_BYTES) viewer.terminate();
        else if (viewer.readyState === WebSocket.OPEN) viewer.send(message);
      }
    },
    close: () =>
      new Promise((resolve) => {
        for (const viewer of webSockets.clients) viewer.terminate();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
