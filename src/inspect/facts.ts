import { isMachineSnapshot } from 'xstate';
import { OutputLog } from '../output/log.js';
import { Launch } from '../process/launch.js';
import type { Facts } from './messages.js';
import { escaped } from './names.js';

const member = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;

const contextOf = (snapshot: unknown): unknown =>
  isMachineSnapshot(snapshot) ? member(snapshot, 'context') : undefined;

/** What a process actor was asked to run. */
export const launchOf = (snapshot: unknown): Launch | undefined => {
  const launch = member(contextOf(snapshot), 'launch');
  return launch instanceof Launch ? launch : undefined;
};

/** The output of a process actor. */
export const outputOf = (snapshot: unknown): OutputLog | undefined => {
  const log = member(contextOf(snapshot), 'log');
  return log instanceof OutputLog ? log : undefined;
};

/**
 * What a page shows of an actor's context: a list of what may be shown, not of what may not. No arguments, no
 * values of an environment, no input, no ids of sessions.
 */
export const factsOf = (snapshot: unknown): Facts => {
  const context = contextOf(snapshot);
  const client = member(context, 'clientName');
  const resumable = member(context, 'resumable');
  const pid = member(context, 'pid');
  const exitCode = member(context, 'exitCode');
  const launch = launchOf(snapshot);
  const log = outputOf(snapshot);
  return {
    ...(typeof client === 'string' ? { client: escaped(client) } : {}),
    ...(typeof resumable === 'boolean' ? { resumable } : {}),
    ...(launch === undefined
      ? {}
      : {
          program: escaped(launch.argv[0] ?? ''),
          cwd: escaped(launch.cwd),
          terminal: launch.tty,
          environmentNames: launch.env.size,
        }),
    ...(typeof pid === 'number' ? { pid } : {}),
    ...(typeof exitCode === 'number' ? { exitCode } : {}),
    ...(log === undefined
      ? {}
      : { outputBytes: log.retainedBytes + log.droppedBytes, droppedBytes: log.droppedBytes }),
  };
};
