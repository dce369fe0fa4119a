import path from 'node:path';
import { expect } from 'chai';
import { EXEC_SERVER } from '../support/environment.js';
import { launchListener, type TestClient } from '../support/client.js';
import { connectLocal } from '../support/local.js';
import { mark, runText } from './command-line.js';

const SHELL = 'outer';

/** The words by which a process that was left is come back to. */
type Left = { readonly session: readonly string[]; readonly sessionId: string; readonly processId: string };

const LEFT =
  /exec-server: left running, for as long as the server's --detached-ttl; come back by: exec-server attach --connect (\S+) --session (\S+) (\S+)\r?\n/;

const leftIn = (text: string): Left => {
  const [, url, sessionId, processId] = LEFT.exec(text) ?? [];
  if (url === undefined || sessionId === undefined || processId === undefined) throw new Error(text);
  return { session: ['--connect', url, '--session', sessionId], sessionId, processId };
};

const cookieOption = ['--env', `TEST_MARK=${mark.TEST_MARK}`];

/** Starts this by `run -d`. */
const leave = async (url: string, words: readonly string[]): Promise<Left> => {
  const { status, stdout, stderr } = await runText([
    'run',
    '--connect',
    url,
    '-d',
    ...cookieOption,
    ...words,
  ]);
  expect({ status, stdout }).to.deep.equal({ status: 0, stdout: '' });
  return leftIn(stderr);
};

/** A shell in a terminal, in which `x` is the built exec-server. */
const openTerminal = async (): Promise<TestClient> => {
  const client = await connectLocal();
  const env = {
    ...mark,
    PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}`,
    TERM: 'xterm',
    PS1: 'OUT> ',
  };
  await client.start(SHELL, ['bash', '--norc', '--noprofile', '-i'], { tty: true, env });
  await type(
    client,
    `before=$(stty -g); x() { '${process.execPath}' '${EXEC_SERVER.join(' ')}' "$@"; }; ` +
      `tidy() { echo "status=$?" $([ "$(stty -g)" = "$before" ] && echo tidy || stty -a); }; echo op''en\n`,
    'open\r\n',
  );
  return client;
};

/** Types, and resolves with what is shown from then on when that holds this. */
const type = async (client: TestClient, keys: string, awaited: string): Promise<string> => {
  const before = client.output(SHELL).length;
  const shown = (): string => client.output(SHELL).subarray(before).toString();
  await client.write(SHELL, keys);
  return client.until(() => shown().includes(awaited) && shown(), `${awaited} after ${keys}`);
};

const ok = (stdout: string, status = 0) => ({ status, stdout, stderr: '' });

const failing = async (words: readonly string[], status: number, line: string): Promise<void> => {
  expect(await runText(words)).to.deep.equal({ status, stdout: '', stderr: `exec-server: ${line}\n` });
};

const usage = (words: readonly string[], line: string): Promise<void> =>
  failing(words, 2, `${line}\nTry exec-server ${words[0]} --help.`);

describe('exec-server ps, logs, kill, attach', () => {
  it('look after a process that run --detach has left', async () => {
    const { url } = await launchListener();
    const script = "trap 'echo told; exit 3' USR1; echo out; echo err >&2; sleep 300 & wait";
    const { session, processId } = await leave(url, ['sh', '-c', script]);

    const [listed, json, long] = await Promise.all([
      runText(['ps', ...session]),
      runText(['ps', '--json', ...session]),
      runText(['ps', '--long', ...session]),
    ]);
    expect(listed).to.deep.include({ status: 0, stderr: '' });
    expect(listed.stdout).to.match(/^ID +STATE +PID +TTY +EXIT\nprocess-1 +running +\d+ +no +-\n$/);
    const [{ pid, ...told }]: [Record<string, unknown>] = JSON.parse(json.stdout);
    expect(told).to.deep.equal({ processId, state: 'running', tty: false, exitCode: null });
    expect(pid).to.be.a('number');
    expect(long.stdout).to.match(
      /^ID +STATE +PID +TTY +EXIT +SECONDS +OUTPUT +PROGRAM\nprocess-1 +running +\d+ +no +- +\d+ +8 +sh\nexec-server [\d.]+, up \d+ s: \d+ sessions? with a client, \d+ without, 1 process\n$/,
    );

    const printed = { status: 0, stdout: 'out\n', stderr: 'err\n' };
    expect(await runText(['logs', ...session, processId])).to.deep.equal(printed);
    expect(await runText(['kill', '--signal', 'sigusr1', ...session, processId])).to.deep.equal(ok(''));
    // the two take turns
    const [attached, followed] = await Promise.all([
      runText(['attach', ...session, processId]),
      runText(['logs', '-f', ...session, processId]),
    ]);
    expect(attached).to.deep.equal({ status: 3, stdout: 'out\ntold\n', stderr: 'err\n' });
    expect(followed).to.deep.equal({ status: 0, stdout: 'out\ntold\n', stderr: 'err\n' });
  });

  it('kill what does not end by itself in its time', async () => {
    const { url } = await launchListener();
    const { session, processId } = await leave(url, ['sh', '-c', 'trap "" TERM; echo deaf; sleep 60']);
    // deaf once it says so
    while ((await runText(['logs', ...session, processId])).stdout === '');
    expect(await runText(['kill', '--grace', '0.1', ...session, processId])).to.deep.equal(ok(''));
    expect(await runText(['attach', ...session, processId])).to.deep.equal({
      status: 137,
      stdout: 'deaf\n',
      stderr: '',
    });
    await usage(['kill', ...session, '--grace', '-1', 'p'], '--grace must be a number of seconds, 0 or more');
  });

  it('pass stdin on to a process in pipes, and say in one line what is wrong', async () => {
    const { url } = await launchListener();
    const { session, sessionId, processId } = await leave(url, ['-i', 'sort']);
    const [sorted] = await Promise.all([
      runText(['attach', ...session, processId], { input: 'b\na\n' }),
      failing(
        ['ps', '--connect', url, '--session', 'nope'],
        125,
        `${url} has no session nope: it has ended, or was not resumed within the server's --detached-ttl`,
      ),
      usage(
        ['kill', ...session, '-s', 'FOO', 'p'],
        '--signal `FOO` is none of INT, TERM, HUP, QUIT, KILL, USR1, USR2, STOP, CONT, WINCH',
      ),
      usage(
        ['ps', '--session', 'x'],
        'ps needs the server of the session: --connect URL, or EXEC_SERVER_URL',
      ),
      usage(
        ['run', '-d', 'true'],
        'run: --detach needs a server that stays: --connect URL, or EXEC_SERVER_URL',
      ),
    ]);
    expect(sorted).to.deep.equal(ok('a\nb\n'));
    await Promise.all([
      failing(['kill', ...session, processId], 125, `process ${processId} has exited already, with 0`),
      failing(
        ['logs', ...session, 'p'],
        125,
        `session ${sessionId} has no process p; see which it has: exec-server ps ${session.join(' ')}`,
      ),
    ]);
  });
});

describe('exec-server run -t --connect', () => {
  it('leaves the program by Ctrl-] three times; attach goes on with it, and leaves it the same way', async () => {
    const { url } = await launchListener();
    const client = await openTerminal();
    const shell = `--env 'PS1=IN> ' ${cookieOption.join(' ')} -- sh -i`;
    await type(client, `x run -t --connect ${url} ${shell}; tidy\n`, 'IN> ');
    await type(client, "kept=42; echo se''en\n", 'seen\r\n');
    const { session, processId } = leftIn(await type(client, '\x1d\x1d\x1d', 'status=0 tidy\r\n'));

    // the end of a file would end the shell
    expect(await runText(['attach', ...session, processId])).to.deep.equal({
      status: 2,
      stdout: '',
      stderr:
        'exec-server: attach: this process is in a terminal, and stdin is none; watch it with: logs -f\n' +
        'Try exec-server attach --help.\n',
    });
    await client.request('process/resize', { processId: SHELL, rows: 31, cols: 101 });
    const attach = `x attach ${session.join(' ')} ${processId}; tidy\n`;
    // what is retained is shown again
    await type(client, attach, 'seen\r\n');
    // Ctrl-C: what the detach key had typed there is dropped. A prompt that is retained may come late, and is
    // not the one that follows
    await type(client, '\x03', '^C\r\nIN> ');
    await type(client, 'echo "$kept"; stty size\n', '42\r\n31 101\r\n');
    const left = leftIn(await type(client, '\x1d\x1d\x1d', 'status=0 tidy\r\n'));
    expect(left).to.deep.equal(leftIn(client.output(SHELL).toString()));

    await type(client, attach, '42\r\n31 101\r\n');
    await type(client, '\x03', '^C\r\nIN> ');
    await type(client, 'exit 9\n', 'status=9 tidy\r\n');
  });
});
