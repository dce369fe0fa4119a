import { expect } from 'chai';
import type { ConnectionEventName, ConnectionState } from './connection-events.js';
import type { ConnectionWorld } from './connection-world.js';
import type { Path } from './paths.js';

/** What must be true at the end of a path, by what docs/protocol.md says. */
type Check = (world: ConnectionWorld, path: Path<ConnectionState, ConnectionEventName>) => Promise<void>;

/** A request of each family, and the word for that in refusals. */
const families: readonly (readonly [family: string, method: string, params: object])[] = [
  ['exec', 'process/list', {}],
  ['exec', 'process/read', { processId: 'p' }],
  ['exec', 'process/start', { processId: 'p', argv: ['true'], cwd: '/', env: {}, tty: false }],
  ['exec', 'process/terminate', { processId: 'p' }],
  ['filesystem', 'fs/canonicalize', { path: '/' }],
  ['http', 'http/request', { method: 'GET', url: 'http://127.0.0.1:1/', requestId: 'r' }],
  ['environment info', 'environment/info', {}],
  ['environment status', 'environment/status', {}],
  ['server state', 'server/state', {}],
];

/** Too early for all of them; what can't be understood at any time is told first. */
const refusesAll = async ({ client }: ConnectionWorld, what: string): Promise<void> => {
  for (const [family, method, params] of families) {
    const message = `client must ${what} before using ${family} methods`;
    expect(await client.refused(method, params), method).to.deep.equal({ code: -32600, message });
  }
  expect(await client.refused('nonsense')).to.have.property('code', -32601);
  expect(await client.refused('process/read', { processId: 7 })).to.have.property('code', -32602);
};

const refusesInitialize = async ({ client }: ConnectionWorld): Promise<void> => {
  const error = { code: -32600, message: 'initialize may only be sent once per connection' };
  expect(await client.refused('initialize', { clientName: 'model' })).to.deep.equal(error);
};

const isAwaitingInitialized: Check = async (world) => {
  await refusesAll(world, 'send initialized');
  await refusesInitialize(world);
};

/** Nothing is left of it: no process, and no session that could be resumed. */
const isOver: Check = async (world, { steps }) => {
  await world.gone();
  if (world.url === undefined) {
    expect(world.client.server?.exitCode).to.equal(0);
  } else if (steps.some(({ name }) => name === 'session.close')) {
    expect(world.server?.exitCode).to.equal(143);
  } else {
    expect(world.client.closed).to.equal(true);
    const { sessionId } = world;
    if (sessionId === '') return; // it had none
    expect(await world.resume()).to.deep.equal({ code: -32600, message: `unknown session id ${sessionId}` });
  }
};

/** Each state of the chart by its path in it. */
export const connectionStates: Readonly<Record<string, Check>> = {
  'open.awaitingInitialize': async (world) => {
    await refusesAll(world, 'call initialize');
    // one that failed may be tried again
    await world.client.request('initialize', { clientName: 'model' });
    await refusesInitialize(world);
  },

  'open.awaitingInitialized': isAwaitingInitialized,

  'open.ready': async (world, { state: { context } }) => {
    const { client } = world;
    const known = context.processes.size > 0;
    expect((await client.list()).map(({ state }) => state)).to.deep.equal(known ? ['running'] : []);
    if (!known) {
      const error = { code: -32600, message: 'unknown process id p' };
      expect(await client.refused('process/read', { processId: 'p' })).to.deep.equal(error);
    } else expect(await client.read('p')).to.include({ exited: false, closed: false });
    expect(await client.request('environment/status')).to.deep.equal({ status: 'ready' });
    expect(await client.request('environment/info')).to.include({ platformOs: 'linux' });
    expect(await client.request('fs/canonicalize', { path: '/' })).to.deep.equal({ path: 'file:///' });
    await refusesInitialize(world);
  },

  detached: async (world, path) => {
    const { processes } = path.state.context;
    expect(world.isProcessThere).to.equal(processes.size > 0);
    expect(await world.resume()).to.equal(undefined);
    await isAwaitingInitialized(world, path);
    world.client.notify('initialized');
    expect((await world.client.list()).map(({ processId }) => processId)).to.deep.equal([
      ...processes.keys(),
    ]);
  },

  closing: async (world, path) => {
    // it is over as soon as all has ended, and that nobody has to ask for
    await world.gone();
    await world.client.until(() => world.client.closed, 'the end of the connection');
    await isOver(world, path);
  },

  closed: isOver,
};
