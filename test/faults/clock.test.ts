import { expect } from 'chai';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { takeUpSession } from '../../src/client/take-up-session.js';
import { ConnectTimeoutError, ServerError, SessionLostError } from '../../src/client/errors.js';
import { ExecServerClient } from '../../src/client/index.js';
import { ErrorCode } from '../../src/rpc.js';
import { connectWebSocket, launchServer, type TestClient } from '../support/client.js';
import { rejection } from '../support/clients.js';
import { cleanup } from '../support/environment.js';
import { listenLocal } from '../support/local.js';
import { CuttingProxy } from '../support/cutting-proxy.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const FIXTURE = fileURLToPath(new URL('../fixtures/jumping-clock.mjs', import.meta.url));

type JumpingServer = { readonly url: string; readonly jump: () => Promise<void> };

/** A listener whose clock jumps a day on, then two back, then two on, and so forth. */
const launchJumping = async (args: readonly string[]): Promise<JumpingServer> => {
  const server: ChildProcess = launchServer(['--listen', 'ws://127.0.0.1:0', ...args], {
    NODE_OPTIONS: `--import ${FIXTURE}`,
    CLOCK_JUMPS: [1, -2, 2, -2, 2, -2].map((days) => days * DAY_MS).join(','),
  });
  if (server.stdout === null || server.stderr === null) throw new Error('no pipes');
  const said = createInterface({ input: server.stderr });
  const [url]: string[] = await once(createInterface({ input: server.stdout }), 'line');
  if (url === undefined) throw new Error('no URL');
  return {
    url,
    jump: async () => {
      const jumped = new Promise<void>((resolve) => {
        said.on('line', (line) => {
          if (line.startsWith('the clock says')) resolve();
        });
      });
      server.kill('SIGUSR2');
      await jumped;
    },
  };
};

const connected = async (url: string, params: object = {}): Promise<TestClient> => {
  const client = await connectWebSocket(url);
  await client.initialize(params);
  return client;
};

describe('a clock that jumps a day on and two back', () => {
  it('ends no read early and none late, and evicts no process early', async () => {
    const { url, jump } = await launchJumping([]);
    const client = await connected(url);
    await client.start('kept', ['echo', 'kept']);
    await client.processClosed('kept');
    await client.start('p', ['cat'], { pipeStdin: true });
    const patient = client.read('p', { waitMs: 60_000 });
    for (let jumps = 0; jumps < 2; jumps++) {
      const overdue = client.read('p', { waitMs: 150 });
      await jump();
      expect((await overdue).chunks).to.deep.equal([]);
      expect((await client.read('kept')).closed).to.equal(true);
    }
    await client.write('p', 'hello');
    const { chunks } = await patient;
    expect(chunks.map(({ chunk }) => Buffer.from(chunk.data).toString())).to.deep.equal(['hello']);
  });

  it('ends no detached session early', async () => {
    const { url, jump } = await launchJumping([]);
    const { sessionId } = await leaveSession(url);
    for (let jumps = 0; jumps < 2; jumps++) {
      await jump();
      const again = await connected(url, { resumeSessionId: sessionId });
      await again.write('p', `hello ${jumps}\n`);
      await again.waitOutput('p', `hello ${jumps}\n`);
      await again.close();
    }
  });

  it('evicts a process and ends a detached session though it has gone back', async () => {
    const { url, jump } = await launchJumping(['--retention', '0.3', '--detached-ttl', '0.5']);
    const client = await connected(url);
    await jump();
    await client.start('p', ['true']);
    await client.processClosed('p');
    const { pid } = await leaveSession(url);
    await jump();
    while ((await client.list()).length > 0) await sleep(10);
    // nobody is told of its end but its processes
    while (fs.existsSync(`/proc/${pid}`)) await sleep(10);
  });
});

/** A session with one process, whose client has gone and may come back. */
const leaveSession = async (url: string): Promise<{ sessionId: unknown; pid: number }> => {
  const client = await connectWebSocket(url);
  const { sessionId } = await client.initialize({ resumeSessionId: null });
  await client.start('p', ['cat'], { pipeStdin: true });
  const [process] = await client.list();
  await client.close();
  return { sessionId, pid: Number(process?.pid) };
};

/** From now on the clock of this process goes back an hour each time somebody looks. */
const goBack = (): void => {
  const { now } = Date;
  let hours = 0;
  Date.now = () => now() - ++hours * 60 * 60 * 1000;
  cleanup(() => {
    Date.now = now;
  });
};

describe('the clock of a client', () => {
  it('may go back while it waits for a session that is in use', async () => {
    goBack();
    const wanted = { url: 'ws://127.0.0.1:1', sessionId: 's', timeoutMs: 100 };
    await rejection(
      takeUpSession(wanted, async () => {
        throw new ServerError('initialize', { code: ErrorCode.sessionAttached, message: 'in use' });
      }),
      ConnectTimeoutError,
    );
  });

  it('may go back while it waits for a server that is gone', async () => {
    const { url, stop } = await listenLocal();
    const proxy = await CuttingProxy.before(url);
    const client = await ExecServerClient.connectWebSocket({
      url: proxy.url,
      resume: true,
      resumeWindow: 300,
    });
    cleanup(() => client.close());
    const disconnected = new Promise((resolve) => client.rpc.on('disconnected', resolve));
    goBack();
    await stop();
    expect(await disconnected).to.be.instanceOf(SessionLostError);
  });
});
