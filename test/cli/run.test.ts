import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import { expect } from 'chai';
import { launchListener } from '../support/client.js';
import { EXEC_SERVER } from '../support/environment.js';
import { run, runText, start, startProgram } from './command-line.js';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The command as a shell would be given it. */
const SHELL_RUN = `'${process.execPath}' '${EXEC_SERVER.join(' ')}' run`;

/** How a program and its child end that catch this signal, sent to `exec-server run`. */
const passed = async (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): Promise<object> => {
  const name = signal.slice(3);
  // the subshell is of the same group, and the shell waits for it
  const script = `trap 'echo caught; exit 3' ${name}
    (trap 'echo sub; exit' ${name}; echo ready; while :; do sleep 0.02; done); sleep 300`;
  const { child, printed, finished } = start(['run', 'sh', '-c', script]);
  await printed('ready');
  child.kill(signal);
  const { status, stdout } = await finished;
  return { status, stdout: stdout.toString() };
};

describe('exec-server run', () => {
  it('keeps stdout and stderr apart, and exits with the code of the program', async () => {
    const { status, stdout, stderr } = await run([
      'run',
      '--',
      'sh',
      '-c',
      String.raw`printf '\000\377\012out'; printf 'err\r\n' >&2; exit 7`,
    ]);
    expect({ status, stderr }).to.deep.equal({ status: 7, stderr: 'err\r\n' });
    expect([...stdout]).to.deep.equal([0, 255, 10, 111, 117, 116]);
  });

  it('gives a local program this directory and this environment, without what is for exec-server', async () => {
    const cwd = fs.realpathSync(os.tmpdir());
    const script = 'pwd; echo "$OURS $ADDED $REPLACED, $EXEC_SERVER_X$EXEC_SERVER_URL."';
    const options = { cwd, env: { OURS: 'ours', REPLACED: 'old', EXEC_SERVER_X: 'x', EXEC_SERVER_URL: '' } };
    const added = ['--env', 'ADDED=a=b', '--env=REPLACED=new'];
    expect(await runText(['run', ...added, 'sh', '-c', script], options)).to.deep.equal({
      status: 0,
      stdout: `${cwd}\nours a=b new, .\n`,
      stderr: '',
    });
  });

  it('leaves the options after the program to it, and takes a relative --cwd', async () => {
    const words = ['run', '--cwd', '..', 'sh', '-c', 'pwd; echo "$@"', 'sh', '-t', '--cwd', '/', '--', 'x'];
    expect(await runText(words, { cwd: '/usr/bin' })).to.deep.equal({
      status: 0,
      stdout: '/usr\n-t --cwd / -- x\n',
      stderr: '',
    });
  });

  it('gives no stdin without -i: the program is at end of file, and who writes keeps the rest', async () => {
    const script = `(${SHELL_RUN} cat; cat) < <(echo kept)`;
    const { finished } = startProgram(['bash', '-c', script]);
    expect(await finished).to.deep.include({ status: 0, stdout: Buffer.from('kept\n'), stderr: '' });
  });

  it('exits with 143 when SIGTERM has killed the program', async () => {
    expect(await runText(['run', 'sh', '-c', 'kill -TERM $$'])).to.deep.equal({
      status: 143,
      stdout: '',
      stderr: '',
    });
  });

  it('ends by --timeout with 124', async () => {
    expect(await runText(['run', '--timeout', '0.2', 'sleep', '300'])).to.deep.equal({
      status: 124,
      stdout: '',
      stderr: 'exec-server: sleep ran for more than 200 ms; it was ended\n',
    });
  });

  it('ends by --idle-timeout with 124, in the words of the server', async () => {
    expect(await runText(['run', '--idle-timeout', '0.2', 'sleep', '300'])).to.deep.equal({
      status: 124,
      stdout: '',
      stderr: 'exec-server: process-1 was quiet for too long; it was ended\n',
    });
  });

  it('passes 50 MB through both ways', async () => {
    const bytes = randomBytes(50_000_000);
    const { status, stdout, stderr } = await run(['run', '-i', 'cat'], { input: bytes });
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    expect(sha256(stdout)).to.equal(sha256(bytes));
  });

  it('ends quietly with 141 when nobody reads its output any more', async () => {
    const { finished } = startProgram(['bash', '-c', `${SHELL_RUN} -- yes | head -1; echo $PIPESTATUS`]);
    expect(await finished).to.deep.include({ status: 0, stdout: Buffer.from('y\n141\n'), stderr: '' });
  });

  it('stops whoever writes to a program that reads no more', async () => {
    const { finished } = startProgram(['bash', '-c', `yes | ${SHELL_RUN} -i -- head -1; echo $PIPESTATUS`]);
    expect(await finished).to.deep.include({ status: 0, stdout: Buffer.from('y\n141\n'), stderr: '' });
  });

  it('passes SIGINT, SIGTERM and SIGHUP on to the group, and exits as the program does', async () => {
    const all = await Promise.all([passed('SIGINT'), passed('SIGTERM'), passed('SIGHUP')]);
    const expected = { status: 3, stdout: 'ready\nsub\ncaught\n' };
    expect(all).to.deep.equal([expected, expected, expected]);
  });

  it('ends at once by a second signal', async () => {
    const script = "trap 'echo caught' TERM INT; echo ready; while :; do sleep 0.02; done";
    const { child, printed, finished } = start(['run', 'sh', '-c', script]);
    await printed('ready');
    child.kill('SIGTERM');
    await printed('caught');
    child.kill('SIGINT');
    const { status, stdout } = await finished;
    expect({ status, stdout: stdout.toString() }).to.deep.equal({ status: 130, stdout: 'ready\ncaught\n' });
  });

  it('leaves nothing when it is killed itself', async () => {
    const { child, printed, finished } = start([
      'run',
      'sh',
      '-c',
      'trap "" HUP TERM; echo ready; sleep 300',
    ]);
    await printed('ready');
    child.kill('SIGKILL');
    expect(await finished).to.deep.include({ status: null, signal: 'SIGKILL', stderr: '' });
  });

  it('exits with 125 when its server is killed', async () => {
    const { status, stderr } = await runText(['run', 'sh', '-c', 'kill -9 $PPID']);
    expect(status).to.equal(125);
    expect(stderr).to.match(/^exec-server: the connection to the server is closed: .*\n$/);
  });

  it('exits with 127 for what is not found, and with 126 for what cannot be run', async () => {
    const { url } = await launchListener();
    const cases = [
      [127, ['/nope'], 'cannot run "/nope": No such file or directory'],
      [127, ['nope'], 'cannot run "nope": not found in the PATH of the child\'s environment'],
      [127, ['--cwd', '/nope', 'true'], 'cannot use cwd: No such file or directory'],
      [126, ['/tmp'], 'cannot run "/tmp": it is a directory'],
      [126, ['--cwd', '/dev/null', 'true'], 'cannot use cwd: Not a directory'],
    ] as const;
    expect(
      await Promise.all(cases.map(([, words]) => runText(['run', '--connect', url, ...words]))),
    ).to.deep.equal(
      cases.map(([status, , line]) => ({ status, stdout: '', stderr: `exec-server: ${line}\n` })),
    );
  });

  it('exits with 2 for words that cannot be used, and says which', async () => {
    const anywhere = ['--connect', 'ws://127.0.0.1:1'];
    const timeout = '--timeout must be a number of seconds above 0 (and below 25 days)';
    const cases = [
      [[], 'run: the program is missing: exec-server run -- CMD ARG…'],
      [['--nope', 'ls'], 'Unknown argument: nope'],
      [['--timeout', 'soon', 'ls'], timeout],
      [['--timeout', '0', 'ls'], timeout],
      [['--env', '=x', 'ls'], 'an --env is not of the form `K=V`'],
      [
        ['--connect', 'http://x', 'ls'],
        '--connect `http://x` is no URL of a server; expected `ws://HOST:PORT` or `ws+unix:PATH`',
      ],
      [[...anywhere, '--cwd', 'x', 'ls'], '--cwd must be an absolute path on the machine of the server'],
      // `true` is the program
      [['-t', 'true'], 'run: -t needs a terminal on stdin; use -i to pass on a file or a pipe'],
    ] as const;
    expect(await Promise.all(cases.map(([words]) => runText(['run', ...words])))).to.deep.equal(
      cases.map(([, line]) => ({
        status: 2,
        stdout: '',
        stderr: `exec-server: ${line}\nTry exec-server run --help.\n`,
      })),
    );
  });
});

describe('exec-server run --connect', () => {
  it('runs at the server, in its directory and with a plain environment', async () => {
    const { url } = await launchListener();
    const script = 'pwd; echo "$OURS, $ADDED, ${PATH%%:*}, $HOME"';
    const { status, stdout, stderr } = await runText(
      [
        'run',
        '--connect',
        'ws://127.0.0.1:1',
        '--connect',
        url,
        '--env',
        'ADDED=a',
        '--',
        'sh',
        '-c',
        script,
      ],
      { cwd: '/', env: { OURS: 'ours' } },
    );
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    expect(stdout).to.equal(`${process.cwd()}\n, a, /usr/local/sbin, ${os.homedir()}\n`);
  });

  it('takes the server from EXEC_SERVER_URL', async () => {
    const { url, server } = await launchListener();
    const { stdout } = await runText(['run', 'sh', '-c', 'echo $PPID'], { env: { EXEC_SERVER_URL: url } });
    expect(Number(stdout)).to.equal(server.pid);
  });

  it('exits with 125 when nobody listens', async () => {
    expect(await runText(['run', '--connect', 'ws://127.0.0.1:1', 'ls'])).to.deep.equal({
      status: 125,
      stdout: '',
      stderr:
        'exec-server: cannot connect to ws://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1; ' +
        'is a server there? Start one with: exec-server --listen ws://127.0.0.1:1\n',
    });
  });
});
