import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';

/** What node runs as the server: the built one, as users get it. */
export const EXEC_SERVER: readonly string[] = [
  fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url)),
];

/** Marks every process that a test has started, in its environment: after each test none may be left. */
export const cookie = { EXEC_SERVER_TEST: randomUUID() } as const;

type Cleanup = () => Promise<void> | void;

let cleanups: Cleanup[] = [];

/** Runs after the test, last one first. */
export const cleanup = (task: Cleanup): void => {
  cleanups.push(task);
};

export const runCleanups = async (): Promise<void> => {
  const tasks = cleanups.toReversed();
  cleanups = [];
  for (const task of tasks) await task();
};
