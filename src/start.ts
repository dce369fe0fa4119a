import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { childEnvironment } from './environment-policy.js';
import { absolutePath } from './file-uri.js';
import { Launch } from './process/launch.js';
import type { StartParams } from './protocol.js';
import { ErrorCode, type RpcError } from './rpc.js';

/** Retained for one process if the client doesn't say (docs/protocol.md, process/start). */
export const DEFAULT_OUTPUT_BYTES_CAP = 1024 * 1024;

const DEFAULT_SIZE = { rows: 24, cols: 80 };

const refuse = (message: string): Either<RpcError, never> => left({ code: ErrorCode.invalidParams, message });

/** What the operator decided about every start. */
export type StartSettings = {
  /** This machine is the sandbox: what asks for one runs as it is. */
  readonly externalSandbox: boolean;
};

/** What process/start asks for, checked as far as its parameters go; docs/protocol.md has the order. */
export const toLaunch = (
  params: StartParams,
  { externalSandbox }: StartSettings = { externalSandbox: false },
): Either<RpcError, Launch> => {
  const { argv, tty, arg0, pipeStdin = false, size = DEFAULT_SIZE } = params;
  if (argv.length === 0) return refuse('argv must not be empty');
  const cwd = absolutePath(params.cwd);
  if (isLeft(cwd)) return refuse(`cwd: ${cwd.left}`);
  if (params.sandbox !== undefined && params.sandbox !== null && !externalSandbox) {
    return refuse('sandbox intent cannot be enforced on this executor');
  }
  if (params.enforceManagedNetwork === true) {
    return refuse('enforceManagedNetwork: a managed network cannot be enforced on this executor');
  }
  if (params.networkProxy !== undefined && params.networkProxy !== null) {
    return refuse('networkProxy: a network proxy cannot be enforced on this executor');
  }
  const env = childEnvironment(params.envPolicy, params.env, process.env);
  const { timeoutMs = 0, idleTimeoutMs = 0 } = params;
  return right(
    new Launch({ argv, cwd: cwd.right, env, tty, arg0, pipeStdin, size, timeoutMs, idleTimeoutMs }),
  );
};
