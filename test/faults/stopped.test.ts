import { expect } from 'chai';
import { once } from 'node:events';
import fs from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  bytesOf,
  connectStdio,
  connectWebSocket,
  launchListener,
  type TestClient,
} from '../support/client.js';
import { cookie } from '../support/environment.js';
import { connectLocal } from '../support/local.js';

/** Counts, and then stops itself: what comes after that is never written. */
const STOPS_ITSELF = 'seq 1 1000; kill -STOP $$; echo never';

const COUNTED = Array.from({ length: 1000 }, (_, index) => `${index + 1}\n`).join('');

const stateOf = (pid: number): string =>
  /^State:\s+(\S)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? '';

const pidOf = async (client: TestClient, processId: string): Promise<number> => {
  const pid = (await client.list()).find((process) => process.processId === processId)?.pid;
  if (typeof pid !== 'number') throw new Error(`${processId} has no pid`);
  return pid;
};

/** Nothing tells the server that a child is stopped: its state is looked at. */
const stopped = async (pid: number): Promise<void> => {
  while (stateOf(pid) !== 'T') await nextTurn();
};

const output = (client: TestClient, id: string): string => client.output(id).toString().replaceAll('\r', '');

describe('a child that is stopped', () => {
  for (const tty of [false, true]) {
    const kind = tty ? 'in a PTY' : 'in pipes';

    it(`${kind}: its output is whole, reads wait for more, and terminate ends it`, async () => {
      const client = await connectLocal();
      await client.start('p', ['sh', '-c', STOPS_ITSELF], { tty });
      await stopped(await pidOf(client, 'p'));
      await client.waitOutput('p', '\n1000');
      const { nextSeq } = await client.read('p');
      const parked = client.read('p', { afterSeq: nextSeq - 1, waitMs: 60_000 });
      const overdue = await client.read('p', { afterSeq: nextSeq - 1, waitMs: 20 });
      expect(overdue).to.deep.include({ chunks: [], exited: false, closed: false });
      expect(await client.request('process/terminate', { processId: 'p' })).to.deep.equal({ running: true });
      expect(await client.exited('p')).to.include({ exitCode: 137, signal: 'SIGKILL' });
      // docs/protocol.md section 3.6
      await client.processClosed('p', 2_000);
      expect(await parked).to.include({ exited: true, exitCode: 137 });
      expect(output(client, 'p')).to.equal(COUNTED);
      expect(bytesOf(await client.read('p'))).to.deep.equal(client.output('p'));
    });

    it(`${kind}: goes on with continue, and nothing is lost`, async () => {
      const client = await connectLocal();
      await client.start('p', ['sh', '-c', 'while read line; do echo "got $line"; done'], {
        tty,
        pipeStdin: true,
      });
      const pid = await pidOf(client, 'p');
      await client.request('process/signal', { processId: 'p', signal: 'stop' });
      await stopped(pid);
      for (let line = 0; line < 20; line++) await client.write('p', `${line}\n`);
      await client.request('process/signal', { processId: 'p', signal: 'continue' });
      await client.waitOutput('p', 'got 19');
      expect(output(client, 'p').match(/got \d+/g)).to.deep.equal(
        Array.from({ length: 20 }, (_, line) => `got ${line}`),
      );
    });
  }

  it('ends with its session and with its server', async () => {
    const client = await connectStdio();
    await client.initialize();
    for (const tty of [false, true]) {
      await client.start(`p${tty}`, ['sh', '-c', 'sleep 300 & kill -STOP $$'], { tty });
      await stopped(await pidOf(client, `p${tty}`));
    }
    // that nothing of it is left is looked at after the test
    await client.close();
    expect(client.server?.exitCode).to.equal(0);
  });

  it('as a job of a shell: Ctrl-Z stops it, fg goes on, and terminate ends both', async () => {
    const client = await connectLocal();
    await client.start('shell', ['bash', '--norc', '--noprofile', '-i'], {
      tty: true,
      env: { PATH: process.env['PATH'] ?? '', PS1: 'ready>', ...cookie },
    });
    await client.waitOutput('shell', 'ready>');
    await client.write('shell', 'sh -c \'echo job $$; while read line; do echo "got $line"; done\'\n');
    const job = Number(/job (\d+)/.exec(await client.waitOutput('shell', /job \d+\r\n/))?.[1]);
    await client.write('shell', '\x1a');
    await client.waitOutput('shell', 'Stopped');
    await stopped(job);
    await client.write('shell', 'fg\n');
    await client.write('shell', 'hello\n');
    await client.waitOutput('shell', 'got hello');
    await client.write('shell', '\x1a');
    await stopped(job);
    await client.request('process/terminate', { processId: 'shell' });
    await client.processClosed('shell', 2_000);
  });
});

describe('a server that is stopped', () => {
  it('goes on where it was: nothing is lost, and nobody is dropped', async () => {
    const { url, server } = await launchListener();
    if (server.pid === undefined) throw new Error('no server');
    const clients = await Promise.all(Array.from({ length: 5 }, async () => connectWebSocket(url)));
    for (const client of clients) {
      await client.initialize();
      await client.start('p', ['sh', '-c', 'read line; seq 1 20000; echo "got $line"'], { pipeStdin: true });
    }
    server.kill('SIGSTOP');
    await stopped(server.pid);
    for (const client of clients) void client.write('p', 'hello\n');
    const late = connectWebSocket(url);
    server.kill('SIGCONT');
    const counted = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join('');
    for (const client of clients) {
      await client.processClosed('p');
      expect(output(client, 'p')).to.equal(`${counted}got hello\n`);
      expect(client.closed).to.equal(false);
    }
    await (await late).initialize();
  });

  it('can be killed', async () => {
    const { server } = await launchListener();
    if (server.pid === undefined) throw new Error('no server');
    server.kill('SIGSTOP');
    await stopped(server.pid);
    const gone = once(server, 'exit');
    server.kill('SIGTERM');
    server.kill('SIGCONT');
    expect(await gone).to.deep.equal([143, null]);
  });
});
