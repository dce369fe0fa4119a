import { getSystemErrorMap } from 'node:util';
import { ErrorCode, type RpcError } from '../rpc.js';

/** A path as it came, or with the bytes of a name that is no UTF-8. */
export type Path = string | Buffer;

/** The longest path that Linux takes (PATH_MAX). What is longer is not repeated in an error. */
const MAX_PATH_LENGTH = 4096;

const shown = (path: Path): string => {
  const text = path.toString();
  return text.length > MAX_PATH_LENGTH ? `${text.slice(0, MAX_PATH_LENGTH)}…` : text;
};

/** Why a request about files is refused, as its client is told. */
export class FileError extends Error {
  override readonly name = 'FileError';

  /** @param reason one sentence, which the path is put in front of if there is one */
  constructor(
    readonly code: number,
    readonly reason: string,
    path?: Path,
  ) {
    super(path === undefined ? reason : `${shown(path)}: ${reason}`);
  }

  get rpcError(): RpcError {
    return { code: this.code, message: this.message };
  }
}

/** -32600: what is asked makes no sense for what is at this path. */
export const invalid = (path: Path, reason: string): FileError =>
  new FileError(ErrorCode.invalidRequest, reason, path);

/** -32600 that is about no path, or about more than one. */
export const refused = (reason: string): FileError => new FileError(ErrorCode.invalidRequest, reason);

/** -32603: it makes sense, and cannot be done. */
export const impossible = (path: Path, reason: string): FileError =>
  new FileError(ErrorCode.internalError, reason, path);

/** The session ends before the request is done. */
export const sessionEnded = (): FileError => new FileError(ErrorCode.internalError, 'the session has ended');

/**
 * The codes of docs/protocol.md section 5. Clients read «there is no such file» and «that was wrong of you»
 * out of them; all else is trouble of the system, wrong kinds of files on the way (ENOTDIR, EEXIST) too.
 */
const codes: ReadonlyMap<string, number> = new Map([
  ['ENOENT', ErrorCode.notFound],
  ['EINVAL', ErrorCode.invalidRequest],
  ['EACCES', ErrorCode.invalidRequest],
  ['EPERM', ErrorCode.invalidRequest],
]);

const systemError = (error: unknown): { code: string; words: string } | undefined => {
  if (!(error instanceof Error) || !('code' in error) || !('errno' in error)) return undefined;
  const { code, errno } = error;
  if (typeof code !== 'string' || typeof errno !== 'number') return undefined;
  return { code, words: getSystemErrorMap().get(errno)?.[1] ?? code };
};

/** The system's code, like `ENOENT`; empty for any other error. */
export const errnoOf = (error: unknown): string => systemError(error)?.code ?? '';

/** What went wrong, without the path. */
export const reasonOf = (error: unknown): string =>
  error instanceof FileError ? error.reason : (systemError(error)?.words ?? 'internal error');

/** What went wrong at this path: `PATH: the system's words`. */
export const fileError = (path: Path, error: unknown): FileError =>
  error instanceof FileError
    ? error
    : new FileError(codes.get(errnoOf(error)) ?? ErrorCode.internalError, reasonOf(error), path);

/** Lets what goes wrong in here be told with its path. */
export const at = async <T>(path: Path, work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    throw fileError(path, error);
  }
};

/** Resolves with undefined where there is no such file. */
export const orNothing = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    const isMissing =
      error instanceof FileError ? error.code === ErrorCode.notFound : errnoOf(error) === 'ENOENT';
    if (isMissing) return undefined;
    throw error;
  }
};
