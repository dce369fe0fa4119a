import { expect } from 'chai';
import { connectStdio } from '../support/client.js';
import { connectLocal } from '../support/local.js';

/** Says goodbye when it is asked to end. */
const POLITE = '$| = 1; $SIG{TERM} = sub { print "bye\n"; exit 3 }; print "go\n"; sleep 60';
/** Doesn't, and neither does its child. */
const STUBBORN = 'trap "" TERM; sleep 60 & echo go; while :; do sleep 60; done';

for (const tty of [false, true]) {
  describe(`a ${tty ? 'PTY' : 'pipe'} child`, () => {
    it('that is asked to end may do it by itself', async () => {
      const client = await connectLocal();
      await client.start('p', ['perl', '-e', POLITE], { tty });
      await client.waitOutput('p', 'go');
      const params = { processId: 'p', signal: 'terminate', graceMs: 60_000 };
      expect(await client.request('process/terminate', params)).to.deep.equal({ running: true });
      expect(await client.exited('p')).to.include({ exitCode: 3, signal: null, reason: 'terminated' });
      await client.processClosed('p');
      expect(client.output('p').toString()).to.match(/^go\r?\nbye\r?\n$/);
    });

    it('that does not is killed after its grace, with its group', async () => {
      const client = await connectLocal();
      await client.start('p', ['sh', '-c', STUBBORN], { tty });
      await client.waitOutput('p', 'go');
      await client.request('process/terminate', { processId: 'p', graceMs: 50 });
      expect(await client.exited('p')).to.include({ signal: 'SIGKILL', reason: 'terminated' });
      await client.processClosed('p');
    });

    it('ends at its timeout, though it prints', async () => {
      const client = await connectLocal();
      await client.start('p', ['sh', '-c', 'while :; do echo x; sleep 0.01; done'], { tty, timeoutMs: 100 });
      expect(await client.exited('p')).to.include({ signal: 'SIGKILL', reason: 'timeout' });
      await client.processClosed('p');
    });

    it('ends when it has been quiet for too long, and not before', async () => {
      const client = await connectLocal();
      const script = 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done; sleep 60';
      await client.start('p', ['sh', '-c', script], { tty, idleTimeoutMs: 250 });
      expect(await client.exited('p')).to.include({ signal: 'SIGKILL', reason: 'idle' });
      expect(client.output('p').toString().replaceAll('\r', '')).to.equal('1\n2\n3\n4\n5\n6\n');
    });

    it('that ends with its session is told to who still listens', async () => {
      const client = await connectStdio();
      await client.initialize();
      await client.start('p', ['sh', '-c', 'trap "" HUP; echo go; sleep 60'], { tty });
      await client.waitOutput('p', 'go');
      await client.close();
      expect(await client.exited('p')).to.include({ signal: 'SIGKILL', reason: 'disconnected' });
      expect(client.about('p').at(-1)?.method).to.equal('process/closed');
    });
  });
}

describe('why a process ended', () => {
  it('is nobody here, for an exit or a signal of its own', async () => {
    const client = await connectLocal();
    await client.start('exit', ['sh', '-c', 'exit 4']);
    await client.start('signal', ['sh', '-c', 'kill -USR1 $$']);
    expect(await client.exited('exit')).to.include({ exitCode: 4, signal: null, reason: 'exited' });
    expect(await client.exited('signal')).to.include({ signal: 'SIGUSR1', reason: 'signalled' });
    expect(await client.read('signal')).to.include({ signal: 'SIGUSR1', reason: 'signalled' });
  });
});
