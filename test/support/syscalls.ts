import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

/** Calls that move bytes. */
const MOVING = new Set(['read', 'readv', 'write', 'writev', 'recvfrom', 'recvmsg', 'sendto', 'sendmsg']);

/** Why the calls of a process can't be counted here; undefined if they can. */
export const whyNoStrace = (): string | undefined => {
  const { error, status } = spawnSync('strace', ['-c', '-o', '/dev/null', 'true']);
  if (error !== undefined) return 'there is no strace';
  return status === 0 ? undefined : 'strace may not trace here';
};

/** Has the calls of a program counted into a file; of its main thread alone, where all input and output is. */
export const countingInto = (file: string): readonly string[] => [
  'strace',
  '-c',
  '-U',
  'calls,name',
  '-o',
  file,
];

/** How many calls that move bytes a file of strace tells of. */
export const movingCalls = (file: string): number =>
  fs
    .readFileSync(file, 'latin1')
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\w+)$/.exec(line))
    .filter((found) => MOVING.has(found?.[2] ?? ''))
    .reduce((sum, found) => sum + Number(found?.[1]), 0);
