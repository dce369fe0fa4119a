import type { ExitStatus, RemoteProcess } from '../client/index.js';
import { SessionLostError } from '../client/errors.js';
import type { Context } from './command.js';
import { DetachKey } from './detach-key.js';
import { ExitStatus as Status, signalStatus } from './exit-status.js';
import { InterruptedError, LeftRunning } from './failure.js';
import { endOnSignals, forwardSignals, hangUpOnSignals } from './signals.js';
import { feed, write } from './streams.js';
import type { Terminal } from './terminal.js';

export type PlayOptions = {
  /** Lent to the program, and left raw: its owner restores it. */
  readonly terminal?: Terminal | undefined;
  /** stdin is passed on; without a terminal. */
  readonly takesStdin: boolean;
  /** The command that goes on with the program when it is left. Without one the detach key ends it. */
  readonly comeBack?: string | undefined;
  /** The program was here before this command, which doesn't end it, whatever happens. Default: false. */
  readonly isGuest?: boolean;
};

/**
 * Gives a program this process's output, input and signals, to its end. Rejects with what keeps it from its
 * end; the program is ended then, unless it is left running.
 */
export const play = async (
  remote: RemoteProcess,
  stdout: Context['stdout'],
  { terminal, takesStdin, comeBack, isGuest = false }: PlayOptions,
): Promise<ExitStatus> => {
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const interrupt = (error: unknown): void => interruption.abort(error);
  const endBySignal = (status: number): void => interrupt(new InterruptedError({ status }));
  const detach = (): void => interrupt(detached(comeBack));
  let signalled: number | undefined;
  const hangUp = (status: number): void => {
    signalled = status;
  };
  const stops =
    terminal === undefined
      ? [forwardSignals(remote, endBySignal)]
      : [
          isGuest ? endOnSignals(endBySignal) : hangUpOnSignals(remote, hangUp, endBySignal),
          lend(terminal, remote, { interrupt, detach }),
        ];
  if (terminal === undefined && takesStdin) feed(process.stdin, remote).catch(interrupt);
  try {
    const status = await Promise.race([show(remote, stdout, terminal), interrupted]);
    // it has ended because it was told to: what it made of that is not what this command was asked for
    if (signalled !== undefined) throw new InterruptedError({ status: signalled });
    return status;
  } catch (error) {
    // nobody is left who would see it; refused only if it is gone with its connection
    if (!isGuest && !(error instanceof LeftRunning)) remote.terminate().catch(() => undefined);
    throw error instanceof SessionLostError && comeBack !== undefined ? lost(error, comeBack) : error;
  } finally {
    for (const stop of stops) stop();
  }
};

/** What the detach key means. */
const detached = (comeBack: string | undefined): InterruptedError =>
  comeBack === undefined
    ? new InterruptedError({
        status: signalStatus('SIGKILL'),
        line: 'disconnected; the program ends with the connection',
      })
    : new LeftRunning(comeBack);

/** The network is gone; the program may be there still. */
const lost = ({ message }: SessionLostError, comeBack: string): InterruptedError =>
  new InterruptedError({
    status: Status.unreachable,
    line: `${message}; if the server still has it, come back by: ${comeBack}`,
  });

/** Shows all output, and resolves with how the program ended. */
const show = async (
  remote: RemoteProcess,
  stdout: Context['stdout'],
  terminal: Terminal | undefined,
): Promise<ExitStatus> => {
  // a shell's terminal ends with the shell, whatever still holds it open in the background
  // (if that fails, so does the output)
  if (terminal !== undefined) remote.exit.then(() => remote.terminate()).catch(() => undefined);
  // one after the other, so that the order of lines in a terminal is the program's
  for await (const { stream, data } of remote.output) {
    if (stdout.isTTY) terminal?.follow(data);
    await write(stream === 'stderr' ? process.stderr : stdout, data);
  }
  return remote.exit;
};

/** Keys and size of the terminal go to the process, until the function returned is called. */
const lend = (
  terminal: Terminal,
  remote: RemoteProcess,
  { interrupt, detach }: { readonly interrupt: (error: unknown) => void; readonly detach: () => void },
): (() => void) => {
  const detachKey = new DetachKey();
  terminal.makeRaw();
  // not waited for: the detach key must be seen when the server answers nothing more
  const typed = (data: Buffer): void => {
    if (detachKey.isIn(data)) {
      detach();
      return;
    }
    remote.write(data).catch(() => undefined); // it has ended, which its output tells
  };
  // the terminal is gone, and SIGHUP was for others
  const hungUp = (): void => interrupt(new InterruptedError({ status: signalStatus('SIGHUP') }));
  const { stdin } = process;
  stdin.on('data', typed).once('end', hungUp).once('error', hungUp);
  const stopResizing = terminal.onResize(({ rows, cols }) => {
    remote.resize(rows, cols).catch(() => undefined); // as above
  });
  return () => {
    stdin.off('data', typed).off('end', hungUp);
    stopResizing();
  };
};
