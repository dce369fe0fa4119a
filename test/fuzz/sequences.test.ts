import * as fc from 'fast-check';
import type { ServerOptions } from '../../src/server.js';
import { type CheckingClient, overStdio, overWebSocket } from '../support/checking-client.js';
import { launchServer } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { listenLocal } from '../support/local.js';
import { commands, endAll, startSome } from './commands.js';
import type { Command, Model, Real } from './model.js';
import { runs } from './settings.js';

const compare = async (real: Real, sequence: Iterable<Command>): Promise<void> => {
  const model: Model = { processes: new Map() };
  await startSome(model, real);
  await fc.asyncModelRun(() => ({ model, real }), sequence);
  await endAll(model, real);
};

/** A client that can come back, and the server. */
const overSocket = async (url: string, evicts: boolean): Promise<Real> => {
  const connect = async (resumeSessionId: string | null): Promise<[CheckingClient, string]> => {
    const { client } = await overWebSocket(url);
    return [client, await client.initialize({ resumeSessionId })];
  };
  const [first, sessionId] = await connect(null);
  const real: Real = {
    client: first,
    evicts,
    comeBack: async () => {
      const lost = real.client;
      await lost.end();
      for (const fault of lost.faults) throw new Error(fault);
      const [next] = await connect(sessionId);
      return next;
    },
  };
  return real;
};

const againstListener = (evicts: boolean, options: ServerOptions) => async (): Promise<void> => {
  const { url } = await listenLocal(options);
  const property = fc.asyncProperty(commands(40), async (sequence) => {
    const real = await overSocket(url, evicts);
    try {
      await compare(real, sequence);
    } finally {
      await real.client.end();
    }
  });
  await fc.assert(property, runs(6));
};

describe('any sequence of requests is answered as the life of a process says', () => {
  it(
    'with processes that are retained, and lost connections',
    againstListener(false, { retentionMs: 600_000, detachedTtlMs: 600_000 }),
  );

  it('with ids that are free again after the close', againstListener(true, { retentionMs: 0 }));

  it('by the built server over stdio', async () => {
    const property = fc.asyncProperty(commands(40), async (sequence) => {
      const server = launchServer(['--log-level', 'error', '--retention', '600']);
      server.stderr?.resume();
      const client = overStdio(server);
      cleanup(() => client.end());
      await client.initialize();
      await compare({ client, evicts: false, comeBack: undefined }, sequence);
    });
    await fc.assert(property, runs(2));
  });
});
