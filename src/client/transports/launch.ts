import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { SpawnFailedError } from '../errors.js';
import type { Transport } from '../transport.js';
import { streamTransport } from './streams.js';

/** exec-server ends within milliseconds of its stdin. A program that does not watch it is asked by SIGTERM. */
const TERMINATE_AFTER_MS = 500;

/** What has not ended so long after its stdin did is killed. */
const KILL_AFTER_MS = 5_000;

export type LaunchOptions = {
  /** The program; default: the exec-server of this package, with this Node. */
  readonly command?: string;
  /** Its arguments. It must speak over stdio. */
  readonly args?: readonly string[];
  /** Its environment; default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where its log goes. Default: this process's stderr. */
  readonly stderr?: 'inherit' | 'ignore';
};

type Server = ChildProcessByStdio<Writable, Readable, null>;

const ownServer = (): string => fileURLToPath(new URL('../../cli.js', import.meta.url));

/** Some failures are thrown (arguments too long), others are told later (no such program). */
const start = ({ command = process.execPath, args, env, stderr = 'inherit' }: LaunchOptions): Server =>
  spawn(command, args ?? [], {
    stdio: ['pipe', 'pipe', stderr],
    // a session of its own: Ctrl-C in a terminal is for this process, which decides what becomes of the server
    detached: true,
    ...(env === undefined ? {} : { env }),
  });

const spawned = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('spawn', resolve);
    server.once('error', reject);
  });

const exitOf = (server: Server, name: string): Promise<string> =>
  new Promise((resolve) => {
    server.once('exit', (code, signal) =>
      resolve(signal === null ? `${name} exited with code ${code}` : `${name} was killed by ${signal}`),
    );
  });

/**
 * Starts a server and speaks to it over stdio. It ends with the transport, and when this process dies: its
 * stdin ends then. Rejects with SpawnFailedError.
 */
export const launchTransport = async (options: LaunchOptions = {}): Promise<Transport> => {
  const { command = 'exec-server' } = options;
  const own = { args: [ownServer(), '--log-level', 'warn'] };
  let server: Server;
  let exited: Promise<string>;
  try {
    server = start(options.command === undefined ? { ...own, ...options } : options);
    exited = exitOf(server, command);
    await spawned(server);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SpawnFailedError(`cannot start ${command}: ${reason}`, { cause: error });
  }

  const transport = streamTransport(server.stdout, server.stdin);
  let ending: Promise<string> | undefined;
  const ended = async (): Promise<string> => {
    server.stdin.end();
    const terminate = setTimeout(() => server.kill('SIGTERM'), TERMINATE_AFTER_MS);
    const kill = setTimeout(() => server.kill('SIGKILL'), KILL_AFTER_MS);
    const how = await exited;
    clearTimeout(terminate);
    clearTimeout(kill);
    // a descendant of it may hold the other end open
    server.stdout.destroy();
    return how;
  };
  // once: a second SIGTERM would end exec-server before it has ended its processes
  const end = (): Promise<string> => (ending ??= ended());
  return {
    open: (events) =>
      transport.open({
        message: (message) => events.message(message),
        closed: () => void end().then((how) => events.closed(how)),
      }),
    send: (message) => transport.send(message),
    close: async () => {
      await end();
    },
  };
};
