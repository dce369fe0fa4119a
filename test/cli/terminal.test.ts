import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { cleanup, EXEC_SERVER } from '../support/environment.js';
import type { TestClient } from '../support/client.js';
import { connectLocal } from '../support/local.js';
import { mark } from './command-line.js';

const SHELL = 'outer';
const SIZE = { rows: 24, cols: 80 };

/** A shell in a terminal, as somebody sits before it, who can type `run …` for the built `exec-server run`. */
const openTerminal = async (): Promise<TestClient> => {
  const client = await connectLocal();
  await client.start(SHELL, ['bash', '--norc', '--noprofile', '-i'], {
    tty: true,
    size: SIZE,
    env: {
      ...mark,
      PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}`,
      TERM: 'xterm',
      PS1: 'OUT> ',
      HOME: os.tmpdir(),
      HISTFILE: '',
    },
  });
  // `tidy` says whether the line settings are those of the beginning
  await type(
    client,
    `before=$(stty -g); run() { '${process.execPath}' '${EXEC_SERVER.join(' ')}' run "$@"; }; ` +
      `tidy() { echo "status=$?" $([ "$(stty -g)" = "$before" ] && echo tidy || stty -a); }; echo op''en\n`,
  );
  await client.waitOutput(SHELL, 'open\r\n');
  return client;
};

const type = async (client: TestClient, keys: string): Promise<void> => {
  await client.write(SHELL, keys);
};

/** Resolves with everything that was shown, when it holds this. */
const shown = (client: TestClient, what: string | RegExp): Promise<string> => client.waitOutput(SHELL, what);

/** A file for the test, in a directory of its own. */
const temporaryFile = (name: string): string => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'exec-server-'));
  cleanup(() => fs.rmSync(directory, { recursive: true }));
  return path.join(directory, name);
};

const childrenOf = (pid: number): number[] =>
  fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').map(Number);

const isAlive = (pid: number): boolean => {
  try {
    // a zombie waits for a parent that doesn't look
    return !/^\d+ \(.*\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
};

/** The `exec-server run` that the shell waits for, and the server of it. */
const processesOf = async (client: TestClient): Promise<{ run: number; server: number }> => {
  const [shell] = await client.list();
  const [run = 0] = childrenOf(shell?.pid ?? 0);
  const [server = 0] = childrenOf(run);
  return { run, server };
};

describe('exec-server run -t', () => {
  it('is a terminal: its size, a new size, keys, and all as before when the program has ended', async () => {
    const client = await openTerminal();
    await type(client, `run -t --env 'PS1=IN> ' -- bash --norc --noprofile; tidy\n`);
    await shown(client, 'IN> ');
    await type(client, 'stty size; echo "$TERM"; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo term\'\'inal\n');
    await shown(client, '24 80\r\nxterm\r\nterminal\r\n');

    await type(client, `sh -c 'trap "stty size" WINCH; echo wa""iting; while :; do sleep 0.02; done'\n`);
    await shown(client, 'waiting\r\n');
    await client.request('process/resize', { processId: SHELL, rows: 31, cols: 101 });
    await shown(client, '31 101\r\n');
    await type(client, '\x03');
    await shown(client, /\^C[^]*IN> /);
    await type(client, 'echo "interrupted=$?"\n');
    await shown(client, 'interrupted=130\r\n');

    await type(client, 'exit 9\n');
    await shown(client, 'status=9 tidy\r\n');
  });

  it('runs an editor that saves and leaves the screen as it was', async () => {
    const client = await openTerminal();
    const file = temporaryFile('text');
    await type(client, `run -t -- vim -u NONE ${file}; tidy\n`);
    await shown(client, '\x1b[?1049h');
    await type(client, 'ihello\x1b:wq\r');
    const text = await shown(client, 'status=0 tidy\r\n');
    expect(text.lastIndexOf('\x1b[?1049l')).to.be.above(text.lastIndexOf('\x1b[?1049h'));
    expect(fs.readFileSync(file, 'utf8')).to.equal('hello\n');
  });

  it('passes the bytes of the program through as they are', async () => {
    const client = await openTerminal();
    await type(client, `run -t -- sh -c 'stty raw; printf "<\\n\\r>\\n\\r"'; tidy\n`);
    // a terminal that still translates would make \r\n of the \n
    expect(await shown(client, 'status=0 tidy')).to.include('<\n\r>\n\r');
  });

  it('restores the terminal, the screen too, when the server is killed', async () => {
    const client = await openTerminal();
    await type(client, `run -t -- vim -u NONE; tidy\n`);
    await shown(client, '\x1b[?1049h');
    process.kill((await processesOf(client)).server, 'SIGKILL');
    const text = await shown(client, 'status=125 tidy\r\n');
    expect(text.lastIndexOf('\x1b[?1049l')).to.be.above(text.lastIndexOf('\x1b[?1049h'));
    expect(text).to.match(/exec-server: the connection to the server is closed: .*\r\n/);
  });

  it('restores the terminal when it fails itself', async () => {
    const client = await openTerminal();
    // Node takes quotes and blanks out of this variable
    const module = 'data:text/javascript,process.once(`SIGUSR2`,()=>{throw%20new%20Error(`bo`+`om`)})';
    await type(client, `NODE_OPTIONS='--import ${module}' run -t -- sh -c 'echo rea""dy; read line'; tidy\n`);
    await shown(client, 'ready');
    process.kill((await processesOf(client)).run, 'SIGUSR2');
    expect(await shown(client, /status=\d+ tidy\r\n/)).to.include('Error: boom');
  });

  it('tells the program of the end by SIGHUP when it is ended by a signal', async () => {
    const client = await openTerminal();
    const file = temporaryFile('saved');
    await type(
      client,
      `run -t -- sh -c 'trap "echo saved > ${file}; exit" HUP; echo rea""dy; read line'; tidy\n`,
    );
    await shown(client, 'ready');
    process.kill((await processesOf(client)).run, 'SIGTERM');
    await shown(client, 'status=143 tidy\r\n');
    expect(fs.readFileSync(file, 'utf8')).to.equal('saved\n');
  });

  it('ends with its terminal, and the program too', async () => {
    const client = await openTerminal();
    await type(client, `run -t -- sh -c 'trap "" HUP; echo rea""dy; read line; sleep 300'; tidy\n`);
    await shown(client, 'ready');
    const { run, server } = await processesOf(client);
    await client.request('process/terminate', { processId: SHELL });
    // no event tells of the end of somebody else's child
    while (isAlive(run) || isAlive(server)) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(client.output(SHELL).toString()).to.not.include('Error');
  });

  it('ends by Ctrl-] three times', async () => {
    const client = await openTerminal();
    await type(client, `run -t -- sh -c 'trap "" INT HUP; stty raw; printf "rea""dy"; cat'; tidy\n`);
    await shown(client, 'ready');
    await type(client, '\x1d\x1dx\x1d');
    await shown(client, '\x1d\x1dx\x1d');
    await type(client, '\x1d\x1d');
    expect(await shown(client, 'status=137 tidy\r\n')).to.include(
      'exec-server: disconnected; the program ends with the connection\r\n',
    );
  });
});
