import { expect } from 'chai';
import { connectLocal } from '../support/local.js';

/** A family that ignores every signal it can. */
const STUBBORN =
  'trap "" HUP INT TERM; sleep 300 & (sleep 300 & wait) & echo go; wait; while :; do sleep 300; done';

describe('process/terminate', () => {
  for (const tty of [false, true]) {
    it(`kills the whole group of a ${tty ? 'PTY' : 'pipe'} child`, async () => {
      const client = await connectLocal();
      await client.start('p', ['sh', '-c', STUBBORN], { tty });
      await client.waitOutput('p', 'go');
      expect(await client.request('process/terminate', { processId: 'p' })).to.deep.equal({ running: true });
      expect(await client.exited('p')).to.include({ exitCode: 137, signal: 'SIGKILL' });
      await client.processClosed('p');
    });

    it(`reaches a ${tty ? 'PTY' : 'pipe'} child right after its fork, 30 times`, async () => {
      const client = await connectLocal();
      for (let run = 0; run < 30; run++) {
        const processId = `p${run}`;
        await client.start(processId, ['sleep', '60'], { tty });
        await client.request('process/terminate', { processId });
        expect(await client.exited(processId)).to.include({ exitCode: 137 });
      }
    });

    it(`cancels the start of a ${tty ? 'PTY' : 'pipe'} child that has not run yet, and frees its id`, async () => {
      const client = await connectLocal();
      const started = client.refused('process/start', {
        processId: 'p',
        argv: ['sleep', '60'],
        cwd: '/',
        env: { PATH: '/usr/bin:/bin' },
        tty,
      });
      expect(await client.request('process/terminate', { processId: 'p' })).to.deep.equal({ running: true });
      expect(await started).to.deep.equal({ code: -32600, message: 'process p start was cancelled' });
      await client.start('p', ['true'], { tty });
      await client.processClosed('p');
    });
  }

  it('delivers what was written before', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', 'printf before; exec sleep 60']);
    await client.waitOutput('p', 'before');
    await client.request('process/terminate', { processId: 'p' });
    await client.processClosed('p');
    expect(client.output('p').toString()).to.equal('before');
  });

  it('kills what is left of the group of a child that has exited', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', 'sleep 300 & echo go']);
    await client.exited('p');
    expect(client.about('p').at(-1)?.method).to.equal('process/exited');
    expect(await client.request('process/terminate', { processId: 'p' })).to.deep.equal({ running: false });
    await client.processClosed('p');
  });

  it('closes the output though a stranger outside the group holds it', async () => {
    const client = await connectLocal();
    await client.start('p', [
      'sh',
      '-c',
      'setsid sh -c "trap \\"\\" HUP; echo $$ > /dev/null; exec sleep 4" & sleep 0.2; echo go; sleep 300',
    ]);
    await client.waitOutput('p', 'go');
    await client.request('process/terminate', { processId: 'p' });
    await client.processClosed('p', 2_000);
  }).timeout(10_000);

  it('says false for a process that is unknown or retained', async () => {
    const client = await connectLocal();
    expect(await client.request('process/terminate', { processId: 'nobody' })).to.deep.equal({
      running: false,
    });
    await client.start('p', ['true']);
    await client.processClosed('p');
    expect(await client.request('process/terminate', { processId: 'p' })).to.deep.equal({ running: false });
  });
});

describe('process/signal', () => {
  for (const [name, signal, exitCode] of [
    ['interrupt', 'SIGINT', 130],
    ['terminate', 'SIGTERM', 143],
    ['hangup', 'SIGHUP', 129],
    ['kill', 'SIGKILL', 137],
    ['user1', 'SIGUSR1', 138],
  ] as const) {
    it(`sends ${signal} for ${name}, told alike by PTY and pipe`, async () => {
      const client = await connectLocal();
      for (const tty of [false, true]) {
        const processId = `p${tty}`;
        await client.start(processId, ['sh', '-c', 'echo go; exec sleep 60'], { tty });
        await client.waitOutput(processId, 'go');
        expect(await client.request('process/signal', { processId, signal: name })).to.deep.equal({});
        expect(await client.exited(processId)).to.include({ exitCode, signal });
      }
    });
  }

  it('stops and continues', async () => {
    const client = await connectLocal();
    await client.start('p', [
      'sh',
      '-c',
      'trap "echo continued; exit" CONT; echo go; while :; do sleep 0.05; done',
    ]);
    await client.waitOutput('p', 'go');
    await client.request('process/signal', { processId: 'p', signal: 'stop' });
    await client.request('process/signal', { processId: 'p', signal: 'continue' });
    await client.processClosed('p');
    expect(client.output('p').toString()).to.equal('go\ncontinued\n');
  });
});

describe('process/list', () => {
  it('names every process whose id is taken, with its state', async () => {
    const client = await connectLocal();
    await client.start('done', ['sh', '-c', 'exit 4']);
    await client.processClosed('done');
    await client.start('left', ['sh', '-c', 'sleep 300 & exit 5']);
    await client.exited('left');
    await client.start('runs', ['sleep', '60'], { tty: true });
    const plain = (await client.list()).map(({ pid, ...others }) => ({
      ...others,
      pid: pid !== null && pid > 0,
    }));
    expect(plain).to.deep.equal([
      { processId: 'done', state: 'retained', tty: false, exitCode: 4, pid: true },
      { processId: 'left', state: 'exited', tty: false, exitCode: 5, pid: true },
      { processId: 'runs', state: 'running', tty: true, exitCode: null, pid: true },
    ]);
  });
});
