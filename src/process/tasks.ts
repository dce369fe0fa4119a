import fs from 'node:fs';
import { readKernelFile } from './kernel-file.js';

/**
 * How many more tasks (what the kernel counts where it says that no processes are left: processes and
 * threads) may be made. Only what this process can see is counted: the answer may be too high, and somebody
 * else may take them in between.
 */
export const tasksLeft = (): number =>
  Math.min(leftForUser(), ...limitingCgroups().map((directory) => leftInCgroup(directory)));

/** Empty where there is no such file: another system than Linux, or a process that has ended meanwhile. */
const read = (file: string): string => readKernelFile(file) ?? '';

/** Those that this process is in, of version 1 or 2, up to the root that can be seen from here. */
const cgroups = (): string[] => {
  const directories: string[] = [];
  for (const line of read('/proc/self/cgroup').split('\n')) {
    const [, controllers = '-', path = '/'] = line.split(':');
    const root = controllers === '' ? '/sys/fs/cgroup' : '/sys/fs/cgroup/pids';
    if (controllers !== '' && !controllers.split(',').includes('pids')) continue;
    const names = path.split('/').filter((name) => name !== '');
    for (let depth = 0; depth <= names.length; depth++) {
      directories.push([root, ...names.slice(0, depth)].join('/'));
    }
  }
  return directories;
};

let known: readonly string[] | undefined;

const limitingCgroups = (): readonly string[] =>
  (known ??= cgroups().filter((directory) => fs.existsSync(`${directory}/pids.max`)));

const leftInCgroup = (directory: string): number => {
  const left =
    Number.parseInt(read(`${directory}/pids.max`), 10) -
    Number.parseInt(read(`${directory}/pids.current`), 10);
  return Number.isNaN(left) ? Infinity : left; // «max»: no limit
};

/** RLIMIT_NPROC. All processes are looked at only where that limit may be near: that takes milliseconds. */
const leftForUser = (): number => {
  const limit = Number(/^Max processes\s+(\d+)/m.exec(read('/proc/self/limits'))?.[1] ?? Infinity);
  const onThisMachine = Number(/\/(\d+)/.exec(read('/proc/loadavg'))?.[1] ?? 0);
  return limit - onThisMachine > ROOM || isExempt() ? Infinity : limit - tasksOfUser();
};

/** More than anybody here asks for. */
const ROOM = 16;

const uidIn = (status: string): string | undefined => /^Uid:\s+(\d+)/m.exec(status)?.[1];

const tasksOfUser = (): number => {
  const uid = uidIn(read('/proc/self/status'));
  let tasks = 0;
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const status = read(`/proc/${pid}/status`);
    if (uidIn(status) === uid) tasks += Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }
  return tasks;
};

/** CAP_SYS_ADMIN and CAP_SYS_RESOURCE. */
const EXEMPTING = (1n << 21n) | (1n << 24n);

/** The limit is not for root nor for these capabilities, outside of user namespaces (kernel/fork.c). */
const isExempt = (): boolean => {
  if (!/^\s*0\s+0\s+4294967295\s*$/.test(read('/proc/self/uid_map'))) return false;
  const status = read('/proc/self/status');
  const capabilities = /^CapEff:\s+([0-9a-f]+)/m.exec(status)?.[1] ?? '0';
  return uidIn(status) === '0' || (BigInt(`0x${capabilities}`) & EXEMPTING) !== 0n;
};
