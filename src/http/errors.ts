import { getSystemErrorMap } from 'node:util';
import { ErrorCode, type RpcError } from '../rpc.js';

/** Why a request fails, in words that its client may read. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
}

/** The client asks for what undici doesn't send: a header of the connection itself, like `Upgrade`. */
const CLIENTS_FAULT: ReadonlySet<string> = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED']);

/** What is behind an error of fetch, which says no more than «fetch failed». */
const causeOf = (error: unknown): unknown => {
  if (error instanceof AggregateError) return causeOf(error.errors[0]);
  return error instanceof Error && error.cause instanceof Error ? causeOf(error.cause) : error;
};

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** One sentence, without the URL, a header or a body. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof HttpError) return error.message;
  const cause = causeOf(error);
  if (!(cause instanceof Error)) return 'internal error';
  const words =
    'errno' in cause && typeof cause.errno === 'number'
      ? getSystemErrorMap().get(cause.errno)?.[1]
      : undefined;
  if (codeOf(cause) === 'ENOTFOUND') return 'the name of the host is not known';
  if (codeOf(cause) === 'UND_ERR_CONNECT_TIMEOUT') return 'the host did not take the connection in time';
  return words ?? cause.message;
};

export const httpError = (error: unknown): RpcError => ({
  code: CLIENTS_FAULT.has(codeOf(causeOf(error))) ? ErrorCode.invalidParams : ErrorCode.internalError,
  message: `http/request failed: ${reasonOf(error)}`,
});
