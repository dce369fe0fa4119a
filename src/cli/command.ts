import type { ArgumentsCamelCase, Argv } from 'yargs';

/** What cli.ts hands to a command: nothing else touches this process's words, stdout and exit. */
export type Context = {
  readonly stdout: NodeJS.WriteStream;
  /** For `run`: the program and its arguments. */
  readonly program: readonly string[];
};

/**
 * One command. Its module loads fast, for the help and the completion name the options of all; what is heavy
 * is imported when it runs.
 */
export type Command<A> = {
  readonly name: string | readonly string[];
  readonly describe: string;
  readonly options: (parser: Argv) => Argv<A>;
  /** Resolves with the exit status. */
  readonly run: (argv: ArgumentsCamelCase<A>, context: Context) => Promise<number>;
};

/** The words on the command line can't be used; the message is the line that says so. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** For options that are meant to come once: of several the last one counts. yargs gives those as an array. */
export const last = <T extends string | number>(value: T | T[]): T =>
  Array.isArray(value) ? value.reduce((_, later) => later) : value;

/** setTimeout can't wait longer: 24.8 days. */
export const MAX_TIMEOUT_S = 2 ** 31 / 1000 - 1;
