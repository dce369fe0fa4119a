import path from 'node:path';
import type { ArgumentsCamelCase, InferredOptionTypes } from 'yargs';
import { Parser } from 'yargs/helpers';
import type { ExecServerClient, StartOptions } from '../client/index.js';
import { type Command, type Context, last, MAX_TIMEOUT_S, UsageError } from './command.js';
import { connect, connectOption, serverName, serverToken, serverUrl } from './connect.js';
import { DETACH_KEY } from './detach-key.js';
import { localEnvironment, plainEnvironment, terminalEnvironment, toVariables } from './environment.js';
import { failureOf, LeftRunning } from './failure.js';
import { play } from './play.js';
import { attachWords } from './session.js';
import { watchErrors } from './streams.js';
import { Terminal } from './terminal.js';

const runOptions = {
  // nargs 0: the next word is never their value, be it `true`
  tty: { alias: 't', type: 'boolean', nargs: 0, default: false, describe: 'in a terminal, which is yours' },
  stdin: { alias: 'i', type: 'boolean', nargs: 0, default: false, describe: 'pass stdin on' },
  detach: {
    alias: 'd',
    type: 'boolean',
    nargs: 0,
    default: false,
    describe: 'with --connect: start it, leave it running, and tell how to come back',
  },
  cwd: {
    type: 'string',
    requiresArg: true,
    coerce: last<string>,
    describe: 'its directory; default: this one, or with --connect that of the server',
  },
  env: {
    type: 'string',
    requiresArg: true,
    coerce: (value: string | string[]): string[] => [value].flat(),
    describe: 'K=V: a variable of its environment, besides this one, or with --connect a plain one',
  },
  timeout: {
    type: 'number',
    requiresArg: true,
    coerce: last<number>,
    describe: 'seconds after which it is killed, with exit status 124',
  },
  'idle-timeout': {
    type: 'number',
    requiresArg: true,
    coerce: last<number>,
    describe: 'the same for seconds without output and input; with --detach, too',
  },
  ...connectOption,
} as const;

const USAGE =
  '$0 run [options] [--] CMD [ARG…]\n\n' +
  'Runs a program through a server: its output, its input, its signals and its exit status are those of this command.';

const EPILOGUE = `Without -i its stdin is empty. With -t ${DETACH_KEY} (within a second) leaves it running with --connect, and tells how to come back; without, it ends the program.

Exit status: that of the program, 128 + n if signal n killed it;
  2    the words here can't be used
  124  it ran for longer than --timeout, or was quiet for longer than --idle-timeout
  125  the server could not be reached, or was lost
  126  the program can't be executed
  127  the program or --cwd was not found`;

const namesOf = (type: string): string[] =>
  Object.entries(runOptions).flatMap(([name, option]) => (option.type === type ? [name] : []));

/**
 * Splits the words of a `run` where its program begins: after `--`, or at the first word that is neither an
 * option nor the value of one. What follows is the program's, also what looks like an option of ours.
 */
export const splitProgram = ([name = '', ...words]: readonly string[]): {
  own: string[];
  program: string[];
} => {
  const flags = namesOf('boolean');
  const { _: rest } = Parser(words, {
    string: [...namesOf('string'), ...namesOf('number')],
    boolean: flags,
    narg: Object.fromEntries(flags.map((flag) => [flag, 0])),
    alias: { tty: ['t'], stdin: ['i'], detach: ['d'] },
    configuration: { 'halt-at-non-option': true },
  });
  const start = words.length - rest.length;
  const own = words.slice(0, start);
  if (own.at(-1) === '--') own.pop();
  return { own: [name, ...own], program: words.slice(start) };
};

type Argv = ArgumentsCamelCase<InferredOptionTypes<typeof runOptions>>;

/** What can be known to be wrong before a server is asked. */
const check = (argv: Argv, url: string | undefined, program: readonly string[]): void => {
  const { cwd, timeout, idleTimeout, tty, detach } = argv;
  if (program.length === 0) throw new UsageError('run: the program is missing: exec-server run -- CMD ARG…');
  for (const [name, seconds] of Object.entries({ timeout, 'idle-timeout': idleTimeout })) {
    if (seconds === undefined || (seconds > 0 && seconds <= MAX_TIMEOUT_S)) continue;
    throw new UsageError(`--${name} must be a number of seconds above 0 (and below 25 days)`);
  }
  if (url !== undefined && cwd !== undefined && !/^(\/|file:)/.test(cwd)) {
    throw new UsageError('--cwd must be an absolute path on the machine of the server');
  }
  if (detach && url === undefined) {
    throw new UsageError('run: --detach needs a server that stays: --connect URL, or EXEC_SERVER_URL');
  }
  if (detach && timeout !== undefined) {
    throw new UsageError('run: --timeout is counted here, and ends with --detach; use timeout(1) there');
  }
  if (tty && !detach && !process.stdin.isTTY) {
    throw new UsageError('run: -t needs a terminal on stdin; use -i to pass on a file or a pipe');
  }
};

const startOptions = (
  argv: Argv,
  client: ExecServerClient,
  program: readonly string[],
  variables: Readonly<Record<string, string>>,
  isLocal: boolean,
): StartOptions => {
  const { cwd, stdin, timeout, idleTimeout, tty } = argv;
  const base = isLocal ? localEnvironment() : plainEnvironment(client.environmentInfo);
  const directory = isLocal ? path.resolve(cwd ?? '.') : cwd;
  return {
    argv: program,
    env: { ...base, ...(tty ? terminalEnvironment() : {}), ...variables },
    tty,
    pipeStdin: stdin,
    ...(directory === undefined ? {} : { cwd: directory }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout * 1000 }),
    ...(idleTimeout === undefined ? {} : { idleTimeoutMs: idleTimeout * 1000 }),
  };
};

const run = async (argv: Argv, { stdout, program }: Context): Promise<number> => {
  const url = serverUrl(argv.connect);
  check(argv, url, program);
  const { tokenFile } = argv;
  const token = serverToken(tokenFile, url);
  const variables = toVariables(argv.env ?? []);
  for (const stream of [stdout, process.stderr]) watchErrors(stream);
  const screen = [stdout, process.stderr].find(({ isTTY }) => isTTY);
  const terminal = argv.tty && process.stdin.isTTY ? new Terminal(process.stdin, screen) : undefined;
  const restore = (): void => terminal?.restore(true);
  // also when this process ends by an error of its own
  process.once('exit', restore);
  try {
    const { client, close } = await connect(url, 'exec-server run', {
      resume: argv.tty || argv.detach,
      token,
    });
    try {
      const options = startOptions(argv, client, program, variables, url === undefined);
      const remote = await client.start({ ...options, ...(terminal && { size: terminal.size }) });
      const { sessionId } = client;
      const comeBack =
        url === undefined ? undefined : attachWords({ url, tokenFile, sessionId }, remote.processId);
      if (argv.detach && comeBack !== undefined) throw new LeftRunning(comeBack);
      const { exitCode, signal } = await play(remote, stdout, { terminal, takesStdin: argv.stdin, comeBack });
      terminal?.restore(signal !== null);
      return exitCode;
    } catch (error) {
      restore(); // first: without a network the rest takes its time
      if (error instanceof LeftRunning) await client.detach();
      throw error;
    } finally {
      restore();
      await close();
    }
  } catch (error) {
    const { status, line } = failureOf(error, serverName(url));
    if (line !== undefined) process.stderr.write(`exec-server: ${line}\n`);
    return status;
  }
};

export const runCommand: Command<InferredOptionTypes<typeof runOptions>> = {
  name: 'run',
  describe: 'run a program through a server',
  options: (parser) => parser.usage(USAGE).options(runOptions).epilogue(EPILOGUE),
  run,
};
