import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { cleanup } from './environment.js';

/** Starts listening on a free port of 127.0.0.1, and answers which. */
const listening = async (server: net.Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
};

const ended = (server: net.Server): (() => Promise<void>) => {
  return async () => {
    server.close();
    await once(server, 'close');
  };
};

/** An HTTP server for one test, and its origin. */
export const serveHttp = async (
  answer: (request: http.IncomingMessage, response: http.ServerResponse) => unknown,
): Promise<string> => {
  const server = http.createServer((request, response) => void answer(request, response));
  cleanup(ended(server));
  cleanup(() => server.closeAllConnections());
  return `http://127.0.0.1:${await listening(server)}`;
};

/** A server that knows no HTTP: says this, and closes. */
export const serveText = async (text: string): Promise<string> => {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined); // the other side may go first
    socket.once('data', () => socket.end(text));
  });
  cleanup(ended(server));
  return `http://127.0.0.1:${await listening(server)}`;
};

/** The origin of a port where nobody listens. */
export const nobody = async (): Promise<string> => {
  const server = net.createServer();
  const port = await listening(server);
  await ended(server)();
  return `http://127.0.0.1:${port}`;
};

/** Resolves with the body of a request. */
export const bodyOf = async (request: http.IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
};
