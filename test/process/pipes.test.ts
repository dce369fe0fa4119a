import { expect } from 'chai';
import { connectStdio } from '../support/client.js';
import { connectLocal } from '../support/local.js';

describe('pipes', () => {
  it('can be opened by name, as sockets can not', async () => {
    const client = await connectLocal();
    const script = 'echo one > /dev/stdout; echo two | tee /dev/stderr > /dev/null; cat < /dev/stdin';
    await client.start('p', ['sh', '-c', script], { pipeStdin: true });
    await client.write('p', 'three\n');
    await client.request('process/closeStdin', { processId: 'p' });
    expect(await client.exited('p')).to.include({ exitCode: 0 });
    expect(client.output('p', 'stdout').toString()).to.equal('one\nthree\n');
    expect(client.output('p', 'stderr').toString()).to.equal('two\n');
  });

  it('come with a session and a group of their own, and no terminal', async () => {
    const client = await connectLocal();
    await client.start('p', [
      'sh',
      '-c',
      'cut -d" " -f5-7 /proc/$$/stat; echo $$; test -t 0 || test -t 1 || echo no tty',
    ]);
    await client.processClosed('p');
    const [ids, pid, tty] = client.output('p').toString().split('\n');
    expect(ids).to.equal(`${pid} ${pid} 0`);
    expect(tty).to.equal('no tty');
  });

  it('and terminals give no child a descriptor above 2, however many are open', async () => {
    const client = await connectStdio();
    await client.initialize();
    await client.start('pty 1', ['sleep', '60'], { tty: true });
    await client.start('pty 2', ['sleep', '60'], { tty: true });
    await client.start('pipe', ['sleep', '60'], { pipeStdin: true });
    for (const tty of [false, true]) {
      const processId = `ls ${tty}`;
      // 3 is the directory that ls reads
      await client.start(processId, ['ls', '/proc/self/fd'], { tty });
      await client.processClosed(processId);
      expect(client.output(processId).toString().trim().split(/\s+/)).to.deep.equal(['0', '1', '2', '3']);
    }
  });

  it('leave signals as a program expects them: none blocked, none ignored', async () => {
    const client = await connectLocal();
    for (const tty of [false, true]) {
      const processId = `status ${tty}`;
      await client.start(processId, ['grep', '-E', '^Sig(Blk|Ign)', '/proc/self/status'], { tty });
      await client.processClosed(processId);
      expect(client.output(processId).toString().replaceAll('\r', '')).to.equal(
        'SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n',
      );
    }
  });

  it('are at end of file for a child whose stdin was not asked for; writes are refused', async () => {
    const client = await connectLocal();
    await client.start('cat', ['cat']);
    expect(await client.exited('cat')).to.include({ exitCode: 0 });
    await client.start('sleep', ['sleep', '60']);
    expect(await client.write('sleep', 'x', { writeId: '1' })).to.deep.equal({
      accepted: false,
      status: 'stdinClosed',
    });
    expect(await client.refused('process/write', { processId: 'sleep', chunk: '' })).to.deep.equal({
      code: -32600,
      message: 'stdin is closed for process sleep',
    });
  });

  it('refuse writes after the child closed its end', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', 'exec 0<&-; echo closed; exec sleep 60'], { pipeStdin: true });
    await client.waitOutput('p', 'closed');
    await client.write('p', 'x', { writeId: '1' });
    const again = await client.write('p', 'x', { writeId: '2' });
    expect(again).to.deep.equal({ accepted: false, status: 'stdinClosed' });
  });
});
