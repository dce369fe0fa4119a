import fs from 'node:fs';
import path from 'node:path';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { type Launch, type LaunchFailure, errorCode, failureOfCode, launchFailure } from './launch.js';

/**
 * What can be known to be wrong before the fork. In a PTY the exec comes after it: the child could only
 * print its error into the terminal and exit 1, and the client would take that for the program.
 */

/** As much of a launch as can be checked. */
export type Command = Pick<Launch, 'argv' | 'cwd' | 'env'>;

/** Where execvp(3) looks when there is no PATH in the environment (glibc's confstr(_CS_PATH)). */
const DEFAULT_PATH = '/bin:/usr/bin';

/** Linux: MAX_ARG_STRLEN, 32 pages; one argument or variable longer than that is E2BIG. */
const MAX_ARGUMENT_BYTES = 32 * 4096;

/** Linux: never more than three quarters of the 8 MiB that a stack has by default (fs/exec.c). */
const MAX_ARGUMENTS_BYTES = 6 * 1024 * 1024;

const shown = (program: string): string =>
  JSON.stringify(program.length > 100 ? `${program.slice(0, 100)}…` : program);

const notFound = (message: string): LaunchFailure => ({ kind: 'spawnNotFound', message });
const denied = (message: string): LaunchFailure => ({ kind: 'spawnPermissionDenied', message });

const checkCwd = (cwd: string): LaunchFailure | undefined => {
  try {
    // a directory, by the dot, and may be entered
    fs.accessSync(`${cwd}/.`, fs.constants.X_OK);
    return undefined;
  } catch (error) {
    return launchFailure('use cwd', error);
  }
};

/** Is this a file that execve(2) would take? */
const checkFile = (file: string, program: string): LaunchFailure | undefined => {
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return failureOfCode(`run ${shown(program)}`, 'ENOENT');
    if (stat.isDirectory()) return denied(`cannot run ${shown(program)}: it is a directory`);
    if (!stat.isFile()) return denied(`cannot run ${shown(program)}: it is not a regular file`);
    fs.accessSync(file, fs.constants.X_OK);
    return undefined;
  } catch (error) {
    return errorCode(error) === 'EACCES'
      ? denied(
          `cannot run ${shown(program)}: it is not executable, or a directory above it cannot be entered`,
        )
      : launchFailure(`run ${shown(program)}`, error);
  }
};

/** Looks the program up as execvp(3) does in the child: in its PATH, from its cwd. */
const findProgram = ({ argv, cwd, env }: Command): Either<LaunchFailure, string> => {
  const [program = ''] = argv;
  if (program === '') return left(notFound('cannot run "": argv[0] is empty'));
  if (program.includes('/')) {
    const file = path.resolve(cwd, program);
    const failure = checkFile(file, program);
    return failure === undefined ? right(file) : left(failure);
  }
  let failure = notFound(`cannot run ${shown(program)}: not found in the PATH of the child's environment`);
  for (const directory of (env.get('PATH') ?? DEFAULT_PATH).split(':')) {
    const file = path.resolve(cwd, directory, program);
    const found = checkFile(file, program);
    if (found === undefined) return right(file);
    if (found.kind === 'spawnPermissionDenied') failure = found;
  }
  return left(failure);
};

/** The first line of a script names a program, too. */
const checkInterpreter = (file: string, program: string, cwd: string): LaunchFailure | undefined => {
  let descriptor: number;
  try {
    descriptor = fs.openSync(file, 'r');
  } catch (error) {
    // executable, but not readable: only the kernel may look into it
    return errorCode(error) === 'EACCES' ? undefined : launchFailure(`run ${shown(program)}`, error);
  }
  try {
    const head = Buffer.alloc(256);
    const line = head.toString('latin1', 0, fs.readSync(descriptor, head, 0, head.length, 0));
    const interpreter = /^#![ \t]*([^ \t\n\0]+)/.exec(line)?.[1];
    if (interpreter === undefined) return undefined;
    const failure = checkFile(path.resolve(cwd, interpreter), interpreter);
    return failure && { ...failure, message: `${failure.message} (the interpreter of ${shown(program)})` };
  } catch (error) {
    return launchFailure(`run ${shown(program)}`, error);
  } finally {
    fs.closeSync(descriptor);
  }
};

/** execve(2): arguments and environment share a quarter of the stack's limit. */
const argumentsLimit = (): number => {
  try {
    const soft = /^Max stack size\s+(\S+)/m.exec(fs.readFileSync('/proc/self/limits', 'latin1'))?.[1];
    const stack = soft === 'unlimited' ? Infinity : Number(soft ?? NaN);
    if (!Number.isNaN(stack)) return Math.min(MAX_ARGUMENTS_BYTES, Math.max(stack / 4, MAX_ARGUMENT_BYTES));
  } catch {
    // no /proc: the next line
  }
  // ARG_MAX of macOS, the smallest of the systems served
  return 1024 * 1024;
};

let knownLimit: number | undefined;

const checkArguments = ({ argv, env }: Command): LaunchFailure | undefined => {
  let total = 0;
  let longest = 0;
  const count = (bytes: number): void => {
    longest = Math.max(longest, bytes + 1);
    // each costs its NUL and its pointer
    total += bytes + 9;
  };
  for (const argument of argv) count(Buffer.byteLength(argument));
  for (const [name, value] of env) count(Buffer.byteLength(name) + 1 + Buffer.byteLength(value));
  // most launches are far below: don't read /proc for them
  if (longest <= MAX_ARGUMENT_BYTES && total < MAX_ARGUMENT_BYTES) return undefined;
  knownLimit ??= argumentsLimit();
  return longest > MAX_ARGUMENT_BYTES || total > knownLimit
    ? {
        kind: 'spawnFailed',
        message: 'cannot run the program: Argument list too long (argv and env together)',
      }
    : undefined;
};

/** The absolute path of the program, or why it cannot be run. */
export const preflight = (launch: Command): Either<LaunchFailure, string> => {
  const failure = checkCwd(launch.cwd) ?? checkArguments(launch);
  if (failure !== undefined) return left(failure);
  const file = findProgram(launch);
  if (isLeft(file)) return file;
  const interpreter = checkInterpreter(file.right, launch.argv[0] ?? '', launch.cwd);
  return interpreter === undefined ? file : left(interpreter);
};
