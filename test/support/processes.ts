import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestClient } from './client.js';
import { cleanup } from './environment.js';
import { temporaryDirectory } from './files.js';

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // ESRCH
  }
};

/** No event tells of processes that are no children of this one: they are looked at now and then. */
const LOOK_EVERY_MS = 5;
const PATIENCE_MS = 8_000;

/** Resolves as soon as `find` gives something. */
export const eventually = async <T>(find: () => T | undefined | false, what: string): Promise<T> => {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(LOOK_EVERY_MS)) {
    const found = find();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`waited ${PATIENCE_MS} ms in vain for ${what}`);
};

const fileOf = (pid: number, name: string): string => {
  try {
    return fs.readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return ''; // gone
  }
};

/** Nothing runs there any more; an orphan that nobody has reaped yet has ended, too. */
export const hasEnded = (pid: number): boolean => {
  const stat = fileOf(pid, 'stat');
  return stat === '' || stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
};

/** The arguments of a process. */
export const commandLineOf = (pid: number): string[] => fileOf(pid, 'cmdline').split('\0').slice(0, -1);

/** The guard of a server that is a process of its own. */
export const guardOf = (server: number | undefined): number | undefined =>
  fs
    .readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && commandLineOf(pid).at(-1) === 'process-guard')
    .find((pid) => fileOf(pid, 'stat').split(') ').at(-1)?.split(' ')[1] === String(server));

/**
 * A tree of four kinds, each of which ignores SIGHUP and writes a line `KIND PID` into a file: a child, a
 * grandchild in its group, one in a session of its own, and a daemon by double fork that closes its streams.
 */
const TREE = `trap "" HUP
echo "child $$" >> "$1"
sh -c 'echo "grandchild $$" >> "$1"; exec sleep 300' sh "$1" &
setsid sh -c 'echo "session $$" >> "$1"; exec sleep 300' sh "$1" &
(setsid sh -c 'echo "daemon $$" >> "$1"; exec sleep 300 <&- >&- 2>&-' sh "$1" &)
while [ "$(wc -l < "$1")" -lt 4 ]; do sleep 0.01; done
echo ready
exec sleep 300`;

/** Pids by their kinds, in the order of their kinds' names. */
type Pids = ReadonlyMap<string, number>;

/** Has a client run such a tree. Resolves when all of it runs. */
export const startTree = async (client: TestClient, processId: string, more: object = {}): Promise<Pids> => {
  const file = path.join(temporaryDirectory(), 'pids');
  await client.start(processId, ['sh', '-c', TREE, 'sh', file], more);
  await client.waitOutput(processId, 'ready');
  const lines = fs.readFileSync(file, 'utf8').trim().split('\n').sort();
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
};

/** Resolves when none of them is there any more. */
export const allGone = async (trees: readonly Pids[]): Promise<void> => {
  const left = (): string[] =>
    trees.flatMap((pids) => [...pids].filter(([, pid]) => isAlive(pid)).map(([kind]) => kind));
  await eventually(() => left().length === 0, 'the end of all').catch((error: unknown) => {
    throw new Error(`still there: ${left().join(', ')}`, { cause: error });
  });
};

/** Somebody in a process group of their own, who is no child of a server. Killed after the test. */
export const startSleeper = (env: NodeJS.ProcessEnv = {}): ChildProcess & { readonly pid: number } => {
  const sleeper = spawn('sleep', ['300'], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], ...env },
  });
  const { pid } = sleeper;
  if (pid === undefined) throw new Error('no sleep');
  const gone = once(sleeper, 'exit');
  cleanup(async () => {
    sleeper.kill('SIGKILL');
    await gone;
  });
  return Object.assign(sleeper, { pid });
};
