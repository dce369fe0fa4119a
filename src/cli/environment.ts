import type { EnvironmentInfo } from '../protocol.js';
import { UsageError } from './command.js';

/** Where programs are on every system: the client's own default for processes without an environment. */
const PLAIN_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

type Variables = Readonly<Record<string, string>>;

/** The `K=V` of --env. Throws UsageError. */
export const toVariables = (pairs: readonly string[]): Variables =>
  Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw new UsageError('an --env is not of the form `K=V`');
      return [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );

/** This process's environment, without what is meant for exec-server itself. */
export const localEnvironment = (): Variables =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || name.startsWith('EXEC_SERVER_') ? [] : [[name, value]],
    ),
  );

/** A plain one for a process on the server's machine. */
export const plainEnvironment = ({ userHomeDir }: EnvironmentInfo): Variables => ({
  PATH: PLAIN_PATH,
  HOME: decodeURIComponent(new URL(userHomeDir).pathname),
});

/** What a terminal's program must know of the terminal. */
export const terminalEnvironment = (): Variables => {
  const term = process.env['TERM'];
  return term === undefined ? {} : { TERM: term };
};
