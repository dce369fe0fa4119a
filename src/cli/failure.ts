import { ConnectRefusedError, ExecServerError, ServerError, TokenRefusedError } from '../client/errors.js';
import { ExitStatus, signalStatus } from './exit-status.js';

/** How a command ends that failed: its status, and the line that tells why; none if nobody need be told. */
export type Failure = { readonly status: number; readonly line?: string };

/** Output could not be written to stdout or stderr. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
}

/** A server that is connected does not answer. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** This process was told to end before the program had ended. */
export class InterruptedError extends Error {
  override readonly name: string = 'InterruptedError';

  constructor(readonly failure: Failure) {
    super(failure.line ?? `ended with status ${failure.status}`);
  }
}

/** This process leaves the program, which goes on without it. */
export class LeftRunning extends InterruptedError {
  override readonly name = 'LeftRunning';

  /** @param comeBack the command that goes on with it */
  constructor(comeBack: string) {
    const line = `left running, for as long as the server's --detached-ttl; come back by: ${comeBack}`;
    super({ status: 0, line });
  }
}

/** The session has no such process. */
export class NoProcessError extends Error {
  override readonly name = 'NoProcessError';
}

/** Why a process could not be started (docs/protocol.md section 3.1). */
const startStatus: Readonly<Record<string, number>> = {
  spawnNotFound: ExitStatus.notFound,
  spawnPermissionDenied: ExitStatus.notExecutable,
  spawnFailed: ExitStatus.notExecutable,
};

const kindOf = (data: unknown): string =>
  typeof data === 'object' && data !== null && 'kind' in data ? String(data.kind) : '';

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

const UNIX = 'ws+unix:';

const unreachable = (line: string): Failure => ({ status: ExitStatus.unreachable, line });

/**
 * What an error means for the user of the command line. An error that is none of the expected ones is thrown
 * again: its stack is needed.
 *
 * @param server how the user knows the server
 */
export const failureOf = (error: unknown, server: string): Failure => {
  if (error instanceof InterruptedError) return error.failure;
  // the method says nothing to who typed a command
  if (error instanceof ServerError) {
    const line = error.message.replace(/^[\w/]+: /, '');
    return { status: startStatus[kindOf(error.data)] ?? ExitStatus.unreachable, line };
  }
  if (error instanceof TokenRefusedError) {
    return unreachable(`${error.message}; give it by --token-file PATH, or in EXEC_SERVER_TOKEN`);
  }
  if (error instanceof ConnectRefusedError) {
    const place = server.startsWith(UNIX) ? `--unix ${server.slice(UNIX.length)}` : `--listen ${server}`;
    return unreachable(`${error.message}; is a server there? Start one with: exec-server ${place}`);
  }
  if (error instanceof NoProcessError) return unreachable(error.message);
  if (error instanceof NoAnswerError) return unreachable(`${server}: ${error.message}`);
  if (error instanceof ExecServerError) return unreachable(error.message);
  // the client's, for the time that was given to it
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return { status: ExitStatus.timeout, line: `${error.message}; it was ended` };
  }
  // as for a program that writes to a pipe without a reader
  if (error instanceof OutputError && errorCode(error.cause) === 'EPIPE')
    return { status: signalStatus('SIGPIPE') };
  if (error instanceof OutputError) return unreachable(error.message);
  // the system's: the current directory is gone, stdin can't be read
  if (error instanceof Error && 'syscall' in error) return unreachable(error.message);
  throw error;
};
