import { type Inspector, startInspector } from '../../src/inspect.js';
import { createLog } from '../../src/log.js';
import { ExecServer } from '../../src/server.js';
import { memoryClient, type TestClient } from './client.js';
import { cleanup } from './environment.js';

// it is loaded when it is asked for; what translates it opens descriptors then, amid a test
before(async () => {
  await import('../../src/inspect/stately.js');
});

/** A server in this process with both viewers, ended after the test. */
export const inspectedServer = async (): Promise<{
  readonly inspector: Inspector;
  readonly server: ExecServer;
  /** Another client that has initialized. */
  readonly connect: (clientName?: string) => Promise<TestClient>;
}> => {
  const log = createLog('silent');
  const inspector = await startInspector(0, log);
  cleanup(() => inspector.close());
  const server = new ExecServer(log, { onSession: inspector.onSession });
  cleanup(() => server.close('the test is over'));
  return {
    inspector,
    server,
    connect: async (clientName = 'test') => {
      const { client, wire } = memoryClient();
      server.accept(wire);
      await client.initialize({ clientName });
      return client;
    },
  };
};
