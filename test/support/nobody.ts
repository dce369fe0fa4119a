import { execFileSync } from 'node:child_process';

/**
 * The kernel counts no processes of root. So where the tests run as root, what is to reach its limit runs as
 * a user of its own, whom nothing else on this machine is run by; otherwise as the user of the tests.
 */
export const asLimitedUser = (): readonly string[] => {
  if (process.getuid?.() !== 0) return [];
  const uid = String(2_000_000 + process.pid);
  return ['setpriv', `--reuid=${uid}`, '--clear-groups', '--inh-caps=-all'];
};

/** Sets the soft limit of a running process; `under` is what it was launched under. */
export const limitProcess = (under: readonly string[], pid: number, limit: string): void => {
  const [command, ...words] = [...under, 'prlimit', '--pid', String(pid), limit];
  execFileSync(command, words);
};
