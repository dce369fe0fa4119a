import { ExecServerClient, launchExecServer } from '../../src/client/index.js';
import type { InitializeOptions, LaunchOptions } from '../../src/client/index.js';
import { cleanup, cookie, EXEC_SERVER } from './environment.js';

// the client loads it when it is asked for; what translates it opens descriptors then, amid a test
before(async () => {
  await import('../../src/client/transports/in-process.js');
});

/** Closed after the test. */
const closing = (client: ExecServerClient): ExecServerClient => {
  cleanup(() => client.close());
  return client;
};

/** A client of a server in this process. */
export const connectInProcess = async (): Promise<ExecServerClient> =>
  closing(await ExecServerClient.connectInProcess());

/** A client of the built server, launched. */
export const launch = async (options: LaunchOptions & InitializeOptions = {}): Promise<ExecServerClient> =>
  closing(
    await launchExecServer({
      command: process.execPath,
      args: [...EXEC_SERVER, '--log-level', 'warn'],
      env: { ...process.env, ...cookie },
      ...options,
    }),
  );

/** An environment in which programs are found, and that of what a test has started is known by. */
export const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...cookie };

export const collect = async (texts: AsyncIterable<string>): Promise<string> => {
  let all = '';
  for await (const text of texts) all += text;
  return all;
};

/** What a promise rejects with, which must be of this class. */
export const rejection = async <E extends Error>(
  promise: Promise<unknown>,
  kind: abstract new (...args: never[]) => E,
): Promise<E> => {
  try {
    await promise;
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
  throw new Error('it did not reject');
};
