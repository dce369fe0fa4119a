import { expect } from 'chai';
import { once } from 'node:events';
import { connectStdio, connectWebSocket, launchListener, type TestClient } from './support/client.js';
import { allGone, startTree } from './support/processes.js';

const FIXTURE = new URL('./fixtures/throws-on-usr2.mjs', import.meta.url).href;

/** Starts a tree in a PTY and one in pipes, goes out, and waits until none of the eight processes is left. */
const expectNoneLeft = async (client: TestClient, goOut: () => Promise<void> | void): Promise<void> => {
  const trees = await Promise.all([
    startTree(client, 'pty', { tty: true }),
    startTree(client, 'pipes', { tty: false }),
  ]);
  for (const pids of trees) {
    expect([...pids.keys()]).to.deep.equal(['child', 'daemon', 'grandchild', 'session']);
  }
  await goOut();
  await allGone(trees);
};

const overStdio = async (env: NodeJS.ProcessEnv = {}): Promise<TestClient> => {
  const client = await connectStdio(['--sweep'], env);
  await client.initialize();
  return client;
};

const exitOf = async (client: TestClient): Promise<number | NodeJS.Signals | null | undefined> => {
  await client.until(() => client.closed, 'the exit');
  return client.server?.exitCode ?? client.server?.signalCode;
};

describe('with --sweep nothing is left of a tree of four kinds, in a PTY and in pipes', () => {
  it('after process/terminate', async () => {
    const client = await overStdio();
    await expectNoneLeft(client, async () => {
      for (const processId of ['pty', 'pipes']) await client.request('process/terminate', { processId });
    });
    expect(client.server?.exitCode).to.equal(null);
  });

  it('after the end of stdin', async () => {
    const client = await overStdio();
    await expectNoneLeft(client, () => client.close());
    expect(await exitOf(client)).to.equal(0);
  });

  it('after the end of stdout (EPIPE)', async () => {
    const client = await overStdio();
    await expectNoneLeft(client, () => {
      client.server?.stdout?.destroy();
      client.raw(JSON.stringify({ id: 100, method: 'process/list' }));
    });
    expect(await exitOf(client)).to.equal(0);
  });

  for (const [signal, status] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
    ['SIGQUIT', 'SIGQUIT'],
    ['SIGKILL', 'SIGKILL'],
  ] as const) {
    it(`after ${signal} to the server`, async () => {
      const client = await overStdio();
      await expectNoneLeft(client, () => void client.server?.kill(signal));
      expect(await exitOf(client)).to.equal(status);
    });
  }

  it('after an exception that nobody catches', async () => {
    const client = await overStdio({ NODE_OPTIONS: `--import=${FIXTURE}` });
    await expectNoneLeft(client, () => void client.server?.kill('SIGUSR2'));
    expect(await exitOf(client)).to.equal(1);
  });

  it('after the end of a WebSocket, whose server goes on', async () => {
    const { server, url } = await launchListener(['--sweep']);
    const client = await connectWebSocket(url);
    await client.initialize();
    await expectNoneLeft(client, () => client.close());
    expect(server.exitCode).to.equal(null);
  });

  it('after the time for which a detached session is kept', async () => {
    const { server, url } = await launchListener(['--sweep', '--detached-ttl', '0.05']);
    const client = await connectWebSocket(url);
    await client.initialize({ resumeSessionId: null });
    await expectNoneLeft(client, () => client.close());
    expect(server.exitCode).to.equal(null);
  });

  it('after SIGTERM to a listener, while a session of it is detached', async () => {
    const { server, url } = await launchListener(['--sweep']);
    const client = await connectWebSocket(url);
    await client.initialize({ resumeSessionId: null });
    await expectNoneLeft(client, async () => {
      await client.close();
      server.kill('SIGTERM');
      await once(server, 'exit');
    });
    expect(server.exitCode).to.equal(143);
  });
});
