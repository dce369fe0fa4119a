import { expect } from 'chai';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createLog } from '../../src/log.js';
import { spawnGuard } from '../../src/process/guard.js';
import { startTimeOf } from '../../src/process/process-table.js';
import { ExecServer } from '../../src/server.js';
import { collectStderr, connectStdio, memoryClient, type TestClient } from '../support/client.js';
import { allGone, commandLineOf, eventually, guardOf, isAlive, startSleeper } from '../support/processes.js';

/** A child and a grandchild, which ignore that their terminal hangs up. */
const FAMILY = 'trap "" HUP; sleep 300 & echo "$$ $!"; wait';

const startFamily = async (client: TestClient, tty: boolean): Promise<ReadonlyMap<string, number>> => {
  await client.start(`p${tty}`, ['sh', '-c', FAMILY], { tty });
  const [child, grandchild] = (await client.waitOutput(`p${tty}`, '\n')).trim().split(' ').map(Number);
  return new Map(Object.entries({ child: child ?? NaN, grandchild: grandchild ?? NaN }));
};

/** A server without `--sweep`, with a family in a PTY and one in pipes. */
const startFamilies = async (
  detached = false,
): Promise<{ client: TestClient; server: ChildProcess; families: ReadonlyMap<string, number>[] }> => {
  const client = await connectStdio([], {}, [], detached);
  const { server } = client;
  if (server === undefined) throw new Error('no server');
  await client.initialize();
  const families = [await startFamily(client, true), await startFamily(client, false)];
  return { client, server, families };
};

const guardFor = (server: ChildProcess): Promise<number> =>
  eventually(() => guardOf(server.pid), 'a guard of the server');

const descriptorsOf = (pid: number): string[] =>
  fs.readdirSync(`/proc/${pid}/fd`).map((descriptor) => fs.readlinkSync(`/proc/${pid}/fd/${descriptor}`));

describe('the guard', () => {
  it('kills the groups in PTYs and in pipes when the server was killed by SIGKILL, and ends', async () => {
    const { server, families } = await startFamilies();
    const guard = await guardFor(server);
    server.kill('SIGKILL');
    await allGone([...families, new Map([['guard', guard]])]);
  });

  it('is missed by a SIGKILL to the process group of the server', async () => {
    const { server, families } = await startFamilies(true);
    process.kill(-Number(server.pid), 'SIGKILL');
    await allGone(families);
  });

  it('is started with the first process', async () => {
    const client = await connectStdio();
    await client.initialize();
    expect(guardOf(client.server?.pid)).to.equal(undefined);
    await client.start('p', ['true']);
    await client.processClosed('p');
    expect(guardOf(client.server?.pid)).to.be.a('number');
  });

  it('ends before a server does that ends in good order', async () => {
    const { client, server } = await startFamilies();
    const guard = await guardFor(server);
    await client.close();
    expect(isAlive(guard)).to.equal(false);
  });

  it('of a server in this process ends with it', async () => {
    const server = new ExecServer(createLog('silent'));
    const { client, wire } = memoryClient();
    server.accept(wire);
    await client.initialize();
    await client.start('p', ['true']);
    await client.processClosed('p');
    const guard = Number(guardOf(process.pid));
    expect(isAlive(guard)).to.equal(true);
    await server.close('the test is over');
    expect(isAlive(guard)).to.equal(false);
  });

  it('has nothing of the server’s but the end of a pipe, and a name of its own', async () => {
    const { server } = await startFamilies();
    const guard = await guardFor(server);
    expect(descriptorsOf(guard).sort().slice(0, -1)).to.deep.equal(['/dev/null', '/dev/null']);
    expect(descriptorsOf(guard).sort().at(-1)).to.match(/^(socket|pipe):/);
    expect(fs.readlinkSync(`/proc/${guard}/cwd`)).to.equal('/');
    expect(commandLineOf(guard).join(' ')).not.to.match(/exec-server|node/);
    const environment = fs.readFileSync(`/proc/${guard}/environ`, 'utf8').split('\0').filter(Boolean);
    expect(environment.map((variable) => variable.split('=')[0])).to.deep.equal(['PATH']);
  });

  it('that was killed is followed by another one, which knows all groups and holds no terminal', async () => {
    const { server, families } = await startFamilies();
    const stderr = collectStderr(server);
    const first = await guardFor(server);
    process.kill(first, 'SIGKILL');
    const second = await eventually(() => {
      const guard = guardOf(server.pid);
      return guard !== first && guard;
    }, 'another guard');
    await eventually(
      () => stderr().includes('the guard had ended; another one knows all groups'),
      'a warning',
    );
    expect(descriptorsOf(second).filter((name) => /pts|ptmx|tty/.test(name))).to.deep.equal([]);
    server.kill('SIGKILL');
    await allGone(families);
  });

  it('kills no stranger to whom a pid has gone, and no group that it was told is empty', async () => {
    const [ours, stranger, forgotten] = [startSleeper(), startSleeper(), startSleeper()];
    const guard = spawnGuard();
    const ended = once(guard, 'exit');
    guard.stdin?.end(
      [
        `+ 0 ${ours.pid} ${startTimeOf(ours.pid)}`,
        `+ 1 ${stranger.pid} ${Number(startTimeOf(stranger.pid)) - 1}`,
        `+ 2 ${forgotten.pid} -`,
        '- 2\n',
      ].join('\n'),
    );
    await Promise.all([ended, once(ours, 'exit')]);
    expect([stranger, forgotten].map(({ pid }) => isAlive(pid))).to.deep.equal([true, true]);
  });

  it('goes by the pid where start times are unknown', async () => {
    const ours = startSleeper();
    const guard = spawnGuard();
    const ended = once(guard, 'exit');
    guard.stdin?.end(`+ 0 ${ours.pid} -\n`);
    await Promise.all([ended, once(ours, 'exit')]);
    expect(ours.signalCode).to.equal('SIGKILL');
  });
});
