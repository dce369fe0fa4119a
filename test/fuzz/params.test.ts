import { expect } from 'chai';
import * as fc from 'fast-check';
import { isLeft } from 'fp-ts/lib/Either.js';
import { createLog } from '../../src/log.js';
import { type Method, methods } from '../../src/protocol.js';
import { ExecServer } from '../../src/server.js';
import { type CheckingClient, overMemory, overStdio } from '../support/checking-client.js';
import { launchServer } from '../support/client.js';
import { cleanup, cookie } from '../support/environment.js';
import { makeTree, temporaryDirectory } from '../support/files.js';
import { nobody } from '../support/http.js';
import { anyCall, anyJson, mutatedParams, validParams } from './params.js';
import { runs } from './settings.js';
import { isHarmless, processIds, type World } from './world.js';

const isMethod = (name: string): name is Method => Object.hasOwn(methods, name);
const methodNames = Object.keys(methods).filter(isMethod);

/** What a request may be refused with that decodes. */
const CODES: ReadonlySet<number | undefined> = new Set([undefined, -32600, -32602, -32603, -32004]);

/** A directory with a bit of everything that is safe to destroy. */
const makeWorld = async (): Promise<World> => {
  const root = temporaryDirectory();
  makeTree(root, { 'a/b/file': 'content', 'b/c': null, file: 'x', link: '->a', loop: '->loop' });
  return { root, nobody: await nobody(), cookie };
};

/** Sends it, and checks the answer: -32602 if the params do not decode. */
const checked = async (client: CheckingClient, method: Method, params: unknown): Promise<void> => {
  const asSent: unknown = params === undefined ? undefined : JSON.parse(JSON.stringify(params));
  const decodes = !isLeft(methods[method].params.decode(asSent));
  const { error } = await client.call(method, params);
  const answer = `${error?.code} ${error?.message}`;
  if (decodes) expect(CODES.has(error?.code), answer).to.equal(true);
  else expect(error?.code, answer).to.equal(-32602);
};

/** Sends all of these at once; ends what they started. */
const exchange = async (
  client: CheckingClient,
  calls: readonly { method: Method; params: unknown }[],
): Promise<void> => {
  const answers = Promise.all(calls.map(async ({ method, params }) => checked(client, method, params)));
  await client.settle(processIds);
  await answers;
  expect(client.faults).to.deep.equal([]);
  expect(client.closed).to.equal(false);
};

/** A client of a server in this process. */
const connect = async (allowHttp: boolean): Promise<CheckingClient> => {
  const server = new ExecServer(createLog('silent'), { retentionMs: 0, allowHttp });
  const { client, wire } = overMemory();
  cleanup(() => server.close('the test is over'));
  server.accept(wire);
  await client.initialize();
  return client;
};

describe('whatever the params of a request are, it is answered', () => {
  for (const method of methodNames) {
    it(method, async () => {
      const world = await makeWorld();
      const client = await connect(true);
      const params = fc.oneof(
        { weight: 2, arbitrary: validParams(method, world) },
        { weight: 2, arbitrary: mutatedParams(method, world) },
        { weight: 1, arbitrary: anyJson },
      );
      const harmless = params.filter((one) => isHarmless(one, world));
      const property = fc.asyncProperty(
        fc.array(harmless, { minLength: 1, maxLength: 5 }),
        async (several) => {
          await exchange(
            client,
            several.map((one) => ({ method, params: one })),
          );
        },
      );
      await fc.assert(property, runs(8));
    });
  }

  it('http/request is unknown where it is not allowed', async () => {
    const world = await makeWorld();
    const client = await connect(false);
    const property = fc.asyncProperty(validParams('http/request', world), async (params) => {
      expect((await client.call('http/request', params)).error?.code).to.equal(-32601);
    });
    await fc.assert(property, runs(10));
  });

  it('all methods at once, by the built server', async () => {
    const world = await makeWorld();
    const launched = launchServer(['--log-level', 'error', '--retention', '0', '--allow-http']);
    let stderr = '';
    launched.stderr?.on('data', (data: Buffer) => {
      stderr += data.toString();
    });
    const client = overStdio(launched);
    cleanup(() => client.end());
    await client.initialize();
    const calls = fc.array(anyCall(world, methodNames), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(calls, async (several) => exchange(client, several)),
      runs(10),
    );
    expect(stderr).to.equal('');
  });
});
