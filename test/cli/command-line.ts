import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cleanup, cookie, EXEC_SERVER } from '../support/environment.js';

/** Variables that begin with EXEC_SERVER_ are kept from what `run` runs: the same mark by another name. */
export const mark = { TEST_MARK: cookie.EXEC_SERVER_TEST } as const;

export type Finished = {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: string;
};

export type Running = {
  readonly child: ChildProcess;
  /** Resolves when stdout holds this. */
  readonly printed: (text: string) => Promise<void>;
  readonly finished: Promise<Finished>;
};

type Options = {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** For its stdin, which ends after it. */
  readonly input?: Uint8Array | string;
};

/** Starts a program; it is killed after the test. */
export const startProgram = (
  [program = '', ...args]: readonly string[],
  { env = {}, cwd, input = '' }: Options = {},
): Running => {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...cookie, ...mark, ...env } });
  const gone = once(child, 'close');
  cleanup(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  const chunks: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => chunks.push(data));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  child.stdin.on('error', () => undefined); // not everybody reads all of it
  child.stdin.end(input);
  const finish = async (): Promise<Finished> => {
    await gone;
    return { status: child.exitCode, signal: child.signalCode, stdout: Buffer.concat(chunks), stderr };
  };
  const finished = finish();
  const printed = async (text: string): Promise<void> => {
    const has = (): boolean => Buffer.concat(chunks).includes(text);
    while (!has()) {
      if (child.exitCode !== null) throw new Error(`it ended without having printed ${text}: ${stderr}`);
      await Promise.race([once(child.stdout, 'data'), gone]);
    }
  };
  return { child, printed, finished };
};

/** Starts the built exec-server with these words. */
export const start = (words: readonly string[], options?: Options): Running =>
  startProgram([process.execPath, ...EXEC_SERVER, ...words], options);

/** Runs the built exec-server with these words, to its end. */
export const run = (words: readonly string[], options?: Options): Promise<Finished> =>
  start(words, options).finished;

/** The same, with stdout as text. */
export const runText = async (
  words: readonly string[],
  options?: Options,
): Promise<{ status: number | null; stdout: string; stderr: string }> => {
  const { status, stdout, stderr } = await run(words, options);
  return { status, stdout: stdout.toString(), stderr };
};
