import { createLog } from '../../src/log.js';
import { ExecServer, type ServerOptions } from '../../src/server.js';
import { listen } from '../../src/wire/listener.js';
import { memoryClient, type TestClient } from './client.js';
import { cleanup } from './environment.js';

/** A server in this process, and an initialized client of it: real children, no socket. */
export const connectLocal = async (options: ServerOptions = {}): Promise<TestClient> => {
  const server = new ExecServer(createLog('silent'), options);
  const { client, wire } = memoryClient();
  cleanup(() => server.close('the test is over'));
  server.accept(wire);
  await client.initialize();
  return client;
};

/** A server in this process that listens: its URL, and how to stop it before the test is over. */
export const listenLocal = async (
  options: ServerOptions = {},
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> => {
  const server = new ExecServer(createLog('silent'), options);
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    maxMessageBytes: 16 * 1024 * 1024,
    allowedHosts: [],
    onWire: (wire) => void server.accept(wire),
    onRefused: () => undefined,
  });
  const stop = async (): Promise<void> => {
    await Promise.all([listener.close(), server.close('the test is over')]);
  };
  cleanup(stop);
  return { url: listener.url, stop };
};
