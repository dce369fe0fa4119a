import { expect } from 'chai';
import fs from 'node:fs';
import path from 'node:path';
import { cookie } from '../support/environment.js';
import { temporaryDirectory } from '../support/files.js';
import { connectLocal } from '../support/local.js';

const PATH = process.env['PATH'] ?? '/usr/bin:/bin';

describe('a PTY', () => {
  it('has 24 rows and 80 columns, and is the terminal of a session that its child leads', async () => {
    const client = await connectLocal();
    const script = 'stty size; cut -d" " -f5,6,8 /proc/$$/stat; echo $$; tty';
    await client.start('p', ['sh', '-c', script], { tty: true });
    await client.processClosed('p');
    const [size, ids, pid, name] = client.output('p').toString().split('\r\n');
    expect(size).to.equal('24 80');
    expect(ids).to.equal(`${pid} ${pid} ${pid}`);
    expect(name).to.match(/^\/dev\/pts\/\d+$/);
  });

  it('starts with the size it is given and takes another', async () => {
    const client = await connectLocal();
    await client.start(
      'p',
      ['sh', '-c', 'trap "stty size; exit" WINCH; stty size; while :; do sleep 0.05; done'],
      {
        tty: true,
        size: { rows: 50, cols: 132 },
      },
    );
    await client.waitOutput('p', '50 132\r\n');
    expect(await client.request('process/resize', { processId: 'p', rows: 10, cols: 20 })).to.deep.equal({});
    await client.processClosed('p');
    expect(client.output('p').toString()).to.equal('50 132\r\n10 20\r\n');
  });

  it('gives the child exactly the environment it was given', async () => {
    const client = await connectLocal();
    const env = { PATH, ...cookie, EMPTY: '', 'odd-name.1': 'a=b', ['__proto__']: 'own' };
    for (const tty of [true, false]) {
      for (const arg0 of [undefined, 'other name']) {
        const processId = `${tty} ${arg0}`;
        await client.start(processId, ['cat', '/proc/self/environ'], { tty, env, arg0 });
        await client.processClosed(processId);
        const got = client.output(processId).toString().split('\0').filter(Boolean).sort();
        const want = Object.entries(env).map(([name, value]) => `${name}=${value}`);
        expect(got).to.deep.equal(want.sort());
      }
    }
  });

  it('shows the child another argv[0] where one is given', async () => {
    const client = await connectLocal();
    for (const tty of [true, false]) {
      for (const [arg0, want] of [
        ['-login shell', '-login shell'],
        [undefined, 'sh'],
      ] as const) {
        const processId = `${tty} ${arg0}`;
        await client.start(processId, ['sh', '-c', 'tr "\\0" "\\n" < /proc/$$/cmdline | head -n 1'], {
          tty,
          arg0,
        });
        await client.processClosed(processId);
        expect(client.output(processId).toString().trim()).to.equal(want);
      }
    }
  });

  it('lets bash do job control', async () => {
    const client = await connectLocal();
    const env = { PATH, ...cookie, PS1: 'prompt> ', TERM: 'dumb' };
    await client.start('p', ['bash', '--norc', '--noprofile', '-i'], { tty: true, env });
    await client.waitOutput('p', 'prompt> ');
    await client.write('p', 'sleep 100 &\njobs\n');
    await client.waitOutput('p', /Running +sleep 100/);
    // the job says itself when it is in the foreground, and when it is again: bash continues it after that. It forks
    // nothing: a child of vfork that is stopped before its exec keeps its parent from being stopped
    const job = 'trap "echo \'back\'" CONT; echo "in front"; while :; do :; done';
    await client.write('p', `sh -c '${job.replaceAll("'", "'\\''")}'\n`);
    await client.waitOutput('p', /\nin front\r\n/);
    await client.write('p', '\x1a');
    await client.waitOutput('p', /Stopped +sh -c/);
    await client.write('p', 'jobs; fg\n');
    await client.waitOutput('p', /fg\r\n.*Running +sleep 100.*\nback\r\n/s);
    await client.write('p', '\x03');
    await client.write('p', 'kill %1; exit 3\n');
    expect(await client.exited('p')).to.include({ exitCode: 3, signal: null });
    expect(client.output('p').toString()).not.to.match(/no job control|cannot set terminal/);
  });

  it('lets vim edit a file', async () => {
    const client = await connectLocal();
    const file = path.join(temporaryDirectory(), 'file');
    const env = { PATH, ...cookie, TERM: 'xterm', HOME: path.dirname(file) };
    await client.start('p', ['vim', '-u', 'NONE', file], { tty: true, env });
    await client.waitOutput('p', '[New');
    await client.write('p', 'ihello from vim\x1b:wq\r');
    expect(await client.exited('p')).to.include({ exitCode: 0 });
    expect(fs.readFileSync(file, 'utf8')).to.equal('hello from vim\n');
  });

  it('takes Ctrl-C, Ctrl-\\ and Ctrl-D as a terminal does', async () => {
    const client = await connectLocal();
    for (const [key, exitCode, signal] of [
      ['\x03', 130, 'SIGINT'],
      ['\x1c', 131, 'SIGQUIT'],
    ] as const) {
      await client.start(signal, ['sh', '-c', 'ulimit -c 0; echo go; exec sleep 60'], { tty: true });
      await client.waitOutput(signal, 'go');
      await client.write(signal, key);
      expect(await client.exited(signal)).to.include({ exitCode, signal });
    }
    await client.start('cat', ['cat'], { tty: true });
    await client.write('cat', 'abc\n\x04');
    expect(await client.exited('cat')).to.include({ exitCode: 0 });
    expect(client.output('cat').toString()).to.equal('abc\r\nabc\r\n');
  });

  it('ends its input by process/closeStdin', async () => {
    const client = await connectLocal();
    await client.start('cat', ['cat'], { tty: true });
    await client.request('process/closeStdin', { processId: 'cat' });
    expect(await client.exited('cat')).to.include({ exitCode: 0 });
  });
});
