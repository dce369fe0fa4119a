import type { ExecServerClient, ExitStatus, RemoteProcess, StartOptions } from '../client/index.js';
import type { Context } from './command.js';
import { DetachKey } from './detach-key.js';
import { signalStatus } from './exit-status.js';
import { InterruptedError } from './failure.js';
import { forwardSignals, hangUpOnSignals } from './signals.js';
import { feed, write } from './streams.js';
import type { Terminal } from './terminal.js';

/**
 * Runs a program with this process's output, input and signals, to its end. Rejects with what keeps it from
 * its end; the program is ended then.
 *
 * @param terminal is lent to the program, and left raw: its owner restores it
 */
export const play = async (
  client: ExecServerClient,
  options: StartOptions,
  stdout: Context['stdout'],
  terminal: Terminal | undefined,
): Promise<ExitStatus> => {
  const remote = await client.start({ ...options, ...(terminal && { size: terminal.size }) });
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const interrupt = (error: unknown): void => interruption.abort(error);
  const endBySignal = (status: number): void => interrupt(new InterruptedError({ status }));
  const stops =
    terminal === undefined
      ? [forwardSignals(remote, endBySignal)]
      : [hangUpOnSignals(remote, endBySignal), lend(terminal, remote, interrupt)];
  if (terminal === undefined && options.pipeStdin === true) feed(process.stdin, remote).catch(interrupt);
  try {
    return await Promise.race([show(remote, stdout, terminal), interrupted]);
  } catch (error) {
    // nobody is left who would see it; refused only if it is gone with its connection
    remote.terminate().catch(() => undefined);
    throw error;
  } finally {
    for (const stop of stops) stop();
  }
};

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
  interrupt: (error: unknown) => void,
): (() => void) => {
  const detachKey = new DetachKey();
  terminal.makeRaw();
  // not waited for: the detach key must be seen when the server answers nothing more
  const typed = (data: Buffer): void => {
    if (detachKey.isIn(data)) {
      const line = 'disconnected; the program ends with the connection';
      interrupt(new InterruptedError({ status: signalStatus('SIGKILL'), line }));
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
