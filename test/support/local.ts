import { createLog } from '../../src/log.js';
import { ExecServer, type ServerOptions } from '../../src/server.js';
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
