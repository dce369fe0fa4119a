import os from 'node:os';

/** As env(1), timeout(1) and the shells have them; docs/cli.md lists them. */
export const ExitStatus = {
  usage: 2,
  timeout: 124,
  /** The server could not be reached or was lost, or this command could not do its own part. */
  unreachable: 125,
  notExecutable: 126,
  notFound: 127,
} as const;

/** The status of whoever is ended by this signal. */
export const signalStatus = (signal: NodeJS.Signals): number => 128 + os.constants.signals[signal];
