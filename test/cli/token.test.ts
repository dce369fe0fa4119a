import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { ServerTokenError, serverTokens } from '../../src/cli/server-tokens.js';
import { createLog } from '../../src/log.js';
import { ListenUrlError, serve } from '../../src/serve.js';
import { collectStderr, connectWebSocket, launchServer } from '../support/client.js';
import { rejection } from '../support/clients.js';
import { cookie } from '../support/environment.js';
import { temporaryDirectory } from '../support/files.js';
import { ask, statusOf, UPGRADE } from '../support/raw-http.js';
import { mark, runText } from './command-line.js';

// the server loads it when it is asked for; what translates it opens descriptors then, amid a test
before(async () => {
  await import('../../src/wire/listener.js');
});

const TOKEN = 'canary-0f9a1b2c3d';

/** A file in a directory of its own. */
const write = (text: string, mode = 0o600): string => {
  const file = path.join(temporaryDirectory(), 'token');
  fs.writeFileSync(file, text, { mode });
  fs.chmodSync(file, mode);
  return file;
};

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

type Started = { readonly server: ChildProcess; readonly url: string; readonly said: () => string };

/** A server that listens; what it said on stdout and stderr. */
const listening = async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Started> => {
  const server = launchServer(['--log-level', 'debug', ...args], env);
  if (server.stdout === null) throw new Error('no pipes');
  const stderr = collectStderr(server);
  let stdout = '';
  const lines = createInterface({ input: server.stdout }).on('line', (line) => (stdout += `${line}\n`));
  const [url = '']: string[] = await once(lines, 'line');
  return { server, url, said: () => stdout + stderr() };
};

/** A start that ends by itself. */
const refused = async (
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ status: number | null; stdout: string; stderr: string }> => {
  const found = await runText(args, { env });
  expect(found.stdout).to.equal('');
  return found;
};

const statusWith = async (url: string, token: string): Promise<number> =>
  statusOf(
    await ask(Number(new URL(url).port), [
      'GET / HTTP/1.1',
      'Host: 127.0.0.1',
      ...UPGRADE,
      `Authorization: Bearer ${token}`,
    ]),
  );

describe('a server without a token', () => {
  const hosts = [
    '0.0.0.0',
    '[::]',
    '10.1.2.3',
    '192.168.1.1',
    '[2001:db8::7]',
    '[fe80::1]',
    '[::ffff:10.0.0.1]',
  ];
  for (const host of hosts) {
    it(`does not listen on ${host}`, async () => {
      const error = await rejection(
        serve({ listen: `ws://${host}:0`, log: createLog('silent') }),
        ListenUrlError,
      );
      expect(error.message).to.equal(
        `refusing to listen on ${host} without a token, for whoever reaches it could run anything as this user: ` +
          'give one by --token-file PATH, or listen on 127.0.0.1',
      );
    });
  }

  for (const host of ['127.0.0.1', '127.8.9.10', '[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]']) {
    it(`listens on ${host}, with a warning in the log`, async () => {
      let text = '';
      const log = createLog('info', { write: (line) => void (text += line) });
      const serving = await serve({ listen: `ws://${host}:0`, log });
      await serving.close();
      expect(text).to.match(/^\{"level":40,.*"msg":"there is no token: [^"]*"\}\n$/);
    });
  }

  it('exits with 2 and a sentence; on loopback it prints what it always did', async () => {
    const [{ status, stderr }, { url, said }] = await Promise.all([
      refused(['--listen', 'ws://0.0.0.0:0']),
      listening(['--listen', 'ws://127.0.0.1:0']),
    ]);
    expect(status).to.equal(2);
    expect(stderr).to.match(/^refusing to listen on 0\.0\.0\.0 without a token, [^\n]+\n$/);
    expect(said()).to.include(`exec-server listening on ${url}\n`).and.include('"msg":"there is no token: ');
  });

  it('says nothing of it over stdio, nor on a Unix socket', async () => {
    const { said } = await listening(['--unix', path.join(temporaryDirectory(), 'socket')]);
    expect(said()).to.not.include('token');
    const { stderr } = await runText(['--log-level', 'info']);
    expect(stderr).to.not.include('token');
  });
});

describe('the token of a server', () => {
  for (const [what, args, env] of [
    ['in a file', () => ['--token-file', write(`${TOKEN}\n`)], {}],
    ['in EXEC_SERVER_TOKEN', () => [], { EXEC_SERVER_TOKEN: `${TOKEN}\n` }],
    ['as a digest', () => ['--token-sha256', sha256(TOKEN)], {}],
  ] as const) {
    it(`${what} opens it to whoever shows it, on any address`, async () => {
      const { url, said } = await listening(['--listen', 'ws://0.0.0.0:0', ...args()], env);
      expect(await statusWith(url, TOKEN)).to.equal(101);
      expect(await statusWith(url, `${TOKEN}0`)).to.equal(401);
      expect(said()).to.not.include('there is no token');
    });
  }

  const listen = ['--listen', 'ws://127.0.0.1:0'];
  type Sources = Omit<Parameters<typeof serverTokens>[0], 'isListener'>;
  const bad: readonly (readonly [string, () => Sources, string | undefined, RegExp])[] = [
    [
      'a file that others may read',
      () => ({ tokenFile: write(TOKEN, 0o644) }),
      undefined,
      /^--token-file \S+ is open to others than its owner; make it yours alone: chmod 600 \S+$/,
    ],
    ['an empty file', () => ({ tokenFile: write('') }), undefined, /^--token-file \S+ holds no token$/],
    [
      'a file that is not there',
      () => ({ tokenFile: '/nowhere/token' }),
      undefined,
      /^--token-file \/nowhere\/token can't be read: ENOENT/,
    ],
    [
      'a file with a blank in a token',
      () => ({ tokenFile: write(`${TOKEN} x`) }),
      undefined,
      / holds a blank in line 1/,
    ],
    ['an empty variable', () => ({}), '', /^EXEC_SERVER_TOKEN is empty$/],
    ['a variable with a blank', () => ({}), `${TOKEN} x`, /^EXEC_SERVER_TOKEN holds a blank/],
    [
      'a digest that is none',
      () => ({ tokenSha256: TOKEN }),
      undefined,
      /^--token-sha256 must be 64 hex digits, /,
    ],
    [
      'a file and a digest',
      () => ({ tokenFile: write(TOKEN), tokenSha256: sha256(TOKEN) }),
      undefined,
      /^--token-file and --token-sha256 exclude each other: give one of them$/,
    ],
    [
      'a file and the variable',
      () => ({ tokenFile: write(TOKEN) }),
      TOKEN,
      /^--token-file and EXEC_SERVER_TOKEN exclude each other/,
    ],
    [
      'all three',
      () => ({ tokenFile: write(TOKEN), tokenSha256: sha256(TOKEN) }),
      TOKEN,
      / and EXEC_SERVER_TOKEN exclude /,
    ],
  ];
  for (const [what, sources, variable, words] of bad) {
    it(`is refused: ${what}`, () => {
      expect(() => serverTokens({ ...sources(), isListener: true }, variable))
        .to.throw(ServerTokenError, words)
        .with.property('message')
        .that.does.not.include(TOKEN);
    });
  }

  it('is refused with exit status 2 and a sentence, and is never an argument', async () => {
    const file = write(TOKEN, 0o640);
    const [readable, argument] = await Promise.all([
      refused([...listen, '--token-file', file]),
      refused([...listen, '--token', TOKEN]),
    ]);
    expect(readable).to.include({
      status: 2,
      stderr: `exec-server: --token-file ${file} is open to others than its owner; make it yours alone: chmod 600 ${file}\n`,
    });
    expect(argument.status).to.equal(2);
    expect(argument.stderr).to.include('Unknown argument: token').and.not.include(TOKEN);
  });

  it('is refused over stdio, but a variable that was meant for another is no fault', async () => {
    const [{ status, stderr }, { status: other }] = await Promise.all([
      refused(['--token-file', write(TOKEN)]),
      runText([], { env: { EXEC_SERVER_TOKEN: '' } }),
    ]);
    expect({ status, stderr }).to.deep.equal({
      status: 2,
      stderr: 'exec-server: --token-file: only for --listen ws://IP:PORT and --unix PATH\n',
    });
    expect(other).to.equal(0);
  });

  it('is nowhere to be seen: not by children, in /proc, in what the server says, or in its answers', async () => {
    const { server, url, said } = await listening(['--listen', 'ws://127.0.0.1:0'], {
      EXEC_SERVER_TOKEN: TOKEN,
      EXEC_SERVER_OTHER: TOKEN,
    });
    const digest = sha256(TOKEN);
    expect(await statusWith(url, `${TOKEN}-wrong`)).to.equal(401);
    const client = await connectWebSocket(url, TOKEN);
    await client.initialize();
    const everything = { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] };
    const shown = `env; tr '\\0' '\\n' < /proc/${server.pid}/cmdline; tr '\\0' '\\n' < /proc/${server.pid}/environ | grep ^EXEC_SERVER_TOKEN`;
    await client.start('p', ['sh', '-c', shown], { envPolicy: everything, env: cookie });
    await client.processClosed('p');
    const output = client.output('p').toString();
    expect(output)
      .to.match(/^PATH=/m)
      .and.match(/^EXEC_SERVER_TOKEN=$/m);
    expect(
      output.replace(`EXEC_SERVER_TEST=${cookie.EXEC_SERVER_TEST}`, '').match(/^EXEC_SERVER_\w+=.+$/m),
    ).to.equal(null);
    for (const text of [output, said(), ...client.texts]) {
      expect(text).to.not.include(TOKEN);
      expect(text).to.not.include(digest);
    }
  });

  it('in a sub-protocol has a flag of its own', async () => {
    const lines = [
      'GET / HTTP/1.1',
      'Host: 127.0.0.1',
      ...UPGRADE,
      `Sec-WebSocket-Protocol: exec-server.v0, exec-server.token.${Buffer.from(TOKEN).toString('base64url')}`,
    ];
    for (const [flags, expected] of [
      [[], 401],
      [['--allow-token-in-protocol'], 101],
    ] as const) {
      const { url, said } = await listening([...listen, ...flags], { EXEC_SERVER_TOKEN: TOKEN });
      expect(statusOf(await ask(Number(new URL(url).port), lines))).to.equal(expected);
      expect(said()).to.not.match(/canary|exec-server\.token/);
    }
  });
});

describe('--unix', () => {
  it('prints its URL as --listen does, and serves the command line', async () => {
    const file = path.join(temporaryDirectory(), 'private', 'socket');
    const { url, said } = await listening(['--unix', file]);
    expect(url).to.equal(`ws+unix:${file}`);
    expect(said()).to.include(`exec-server listening on ws+unix:${file}\n`);
    const { status, stdout } = await runText(['run', '--connect', url, '--', 'echo', 'hi']);
    expect({ status, stdout }).to.deep.equal({ status: 0, stdout: 'hi\n' });
  });

  it('excludes --listen', async () => {
    const { status, stderr } = await refused(['--unix', '/nowhere/socket', '--listen', 'ws://127.0.0.1:0']);
    expect(status).to.equal(2);
    expect(stderr).to.match(/^exec-server: --listen and --unix exclude each other: give one of them\n/);
  });

  it('tells in a line why it can not', async () => {
    const directory = temporaryDirectory();
    fs.chmodSync(directory, 0o755);
    const { status, stderr } = await refused(['--unix', `${directory}/socket`]);
    expect(status).to.equal(1);
    expect(stderr).to.match(
      /^exec-server: cannot listen on ws\+unix:\S+: its directory \S+ is open to others; [^\n]+\n$/,
    );
  });
});

describe('a command with a token', () => {
  const cookieOption = ['--env', `TEST_MARK=${mark.TEST_MARK}`];

  it('shows the one in a file, or in EXEC_SERVER_TOKEN; the file goes before', async () => {
    const { url } = await listening(['--listen', 'ws://127.0.0.1:0'], { EXEC_SERVER_TOKEN: TOKEN });
    const file = write(`# for the server\n${TOKEN}\nanother\n`);
    const run = ['run', '--connect', url];
    const given = [
      { words: ['--token-file', file], env: {} },
      { words: ['--token-file', file], env: { EXEC_SERVER_TOKEN: 'wrong' } },
      { words: [], env: { EXEC_SERVER_TOKEN: TOKEN } },
    ];
    const found = await Promise.all(
      given.map(({ words, env }) => runText([...run, ...words, '--', 'echo', 'hi'], { env })),
    );
    for (const { status, stdout } of found)
      expect({ status, stdout }).to.deep.equal({ status: 0, stdout: 'hi\n' });
    expect((await runText(['ping', '--connect', url, '--token-file', file])).status).to.equal(0);
  });

  it('takes a session up by it, as the line says that tells how to come back', async () => {
    const { url } = await listening(['--listen', 'ws://127.0.0.1:0'], { EXEC_SERVER_TOKEN: TOKEN });
    const file = write(TOKEN);
    const server = ['--connect', url, '--token-file', file];
    const left = await runText([
      'run',
      ...server,
      '-d',
      ...cookieOption,
      '--',
      'sh',
      '-c',
      'echo hi; exec sleep 60',
    ]);
    expect(left.stderr).to.include(`come back by: exec-server attach ${server.join(' ')} --session `);
    const [, session = '', processId = ''] = /--session (\S+) (\S+)\n$/.exec(left.stderr) ?? [];
    const there = [...server, '--session', session];
    expect((await runText(['ps', ...there])).stdout).to.include(processId);
    expect((await runText(['logs', ...there, processId])).stdout).to.equal('hi\n');
    const { status, stderr } = await runText(['ps', '--connect', url, '--session', session]);
    expect(status).to.equal(125);
    expect(stderr).to.include('(HTTP 401)');
    expect((await runText(['kill', '-s', 'KILL', ...there, processId])).status).to.equal(0);
  });

  it('says what to do when it is a wrong one, or there is none', async () => {
    const { url } = await listening(['--listen', 'ws://127.0.0.1:0'], { EXEC_SERVER_TOKEN: TOKEN });
    const tries = [{}, { EXEC_SERVER_TOKEN: 'canary-wrong' }].map((env) =>
      runText(['ping', '--connect', url], { env }),
    );
    for (const found of await Promise.all(tries)) {
      expect(found).to.deep.equal({
        status: 125,
        stdout: '',
        stderr:
          `exec-server: cannot connect to ${url}: the server wants a token, or another one (HTTP 401); ` +
          'give it by --token-file PATH, or in EXEC_SERVER_TOKEN\n',
      });
    }
  });

  it('refuses a file that others may read, or without a server', async () => {
    const open = write(TOKEN, 0o644);
    const connect = ['--connect', 'ws://127.0.0.1:1'];
    const commands = [
      ['ping', ...connect, '--token-file', open],
      ['run', ...connect, '--token-file', open, '--', 'true'],
      ['ps', ...connect, '--session', 'S', '--token-file', open],
    ];
    for (const { status, stderr } of await Promise.all(commands.map((words) => runText(words)))) {
      expect(status).to.equal(2);
      expect(stderr).to.match(
        /^exec-server: --token-file \S+ is open to others than its owner; .*\nTry exec-server \w+ --help\.\n$/,
      );
    }
    const { status, stderr } = await runText(['run', '--token-file', write(TOKEN), '--', 'true']);
    expect(status).to.equal(2);
    expect(stderr).to.match(/^exec-server: --token-file needs a server that listens: /);
  });

  it('has none for what a local server runs', async () => {
    const { status, stdout } = await runText(['run', '--', 'env'], { env: { EXEC_SERVER_TOKEN: TOKEN } });
    expect(status).to.equal(0);
    expect(stdout).to.include('PATH=').and.not.include(TOKEN);
  });
});
