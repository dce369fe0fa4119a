import { setTimeout as sleep } from 'node:timers/promises';
import type { RemoteProcess } from '../client/index.js';
import type { SignalName } from '../protocol.js';
import { signalStatus } from './exit-status.js';

/** A program that loses its terminal has so long to save what it must. */
const HANGUP_GRACE_MS = 1_000;

const signalNames = { SIGINT: 'interrupt', SIGTERM: 'terminate', SIGHUP: 'hangup', SIGQUIT: 'quit' } as const;
type Signal = keyof typeof signalNames;

/** Calls `first` for the first signal, `again` for each one after it. The function returned stops that. */
const onSignals = (first: (signal: Signal) => void, again: (signal: Signal) => void): (() => void) => {
  let had = false;
  const listener = (signal: Signal): void => {
    if (had) again(signal);
    else first(signal);
    had = true;
  };
  const signals: Signal[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
};

const send = async (remote: RemoteProcess, name: SignalName): Promise<void> => {
  await remote.signal(name).catch(() => undefined); // the connection has ended, which its output tells
};

/**
 * Passes signals on to the process's group.
 *
 * @param end called for a second one, with the exit status that it asks for
 */
export const forwardSignals = (remote: RemoteProcess, end: (status: number) => void): (() => void) =>
  onSignals(
    (signal) => void send(remote, signalNames[signal]),
    (signal) => end(signalStatus(signal)),
  );

/**
 * For a program in a terminal: with this process its terminal goes, whatever the signal is. It is told so by
 * SIGHUP, on which editors keep the text and shells their history.
 *
 * @param begin called at once, with the exit status that this command will have, however the program ends
 * @param end called when it has ended or its time is over
 */
export const hangUpOnSignals = (
  remote: RemoteProcess,
  begin: (status: number) => void,
  end: (status: number) => void,
): (() => void) =>
  onSignals(
    (signal) => {
      begin(signalStatus(signal));
      const ended = remote.closed.catch(() => undefined);
      void send(remote, 'hangup')
        .then(() => Promise.race([ended, sleep(HANGUP_GRACE_MS)]))
        .then(() => end(signalStatus(signal)));
    },
    (signal) => end(signalStatus(signal)),
  );

/** For a program that goes on without this process. */
export const endOnSignals = (end: (status: number) => void): (() => void) =>
  onSignals(
    (signal) => end(signalStatus(signal)),
    () => undefined,
  );
