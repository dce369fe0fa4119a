/** What to run, decided: everything about a child but how it is started. */
export class Launch {
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** All of the child's environment; nothing is added. */
  readonly env: ReadonlyMap<string, string>;
  readonly tty: boolean;
  /** What the child sees as argv[0], where that is not argv[0]. */
  readonly arg0: string | undefined;
  /** Pipes only: stdin stays writable. */
  readonly pipeStdin: boolean;
  /** PTY only. */
  readonly size: { readonly rows: number; readonly cols: number };
  /** Milliseconds that it may run, and that it may be without output and input; 0: no limit. */
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  /** When it was asked for, in milliseconds since 1970. */
  readonly createdAt = Date.now();

  constructor(members: Omit<Launch, 'toJSON' | 'with' | 'createdAt'>) {
    this.argv = members.argv;
    this.cwd = members.cwd;
    this.env = members.env;
    this.tty = members.tty;
    this.arg0 = members.arg0;
    this.pipeStdin = members.pipeStdin;
    this.size = members.size;
    this.timeoutMs = members.timeoutMs;
    this.idleTimeoutMs = members.idleTimeoutMs;
  }

  /** The same with one more variable in its environment. */
  with(name: string, value: string): Launch {
    const { argv, cwd, tty, arg0, pipeStdin, size, timeoutMs, idleTimeoutMs } = this;
    const env = new Map([...this.env, [name, value]]);
    return new Launch({ argv, cwd, env, tty, arg0, pipeStdin, size, timeoutMs, idleTimeoutMs });
  }

  /** For the inspector: no arguments, no values of the environment. */
  toJSON(): object {
    return { program: this.argv[0], cwd: this.cwd, env: [...this.env.keys()], tty: this.tty };
  }
}

/** Why a child could not be started. */
export type LaunchFailure = {
  readonly kind: 'spawnNotFound' | 'spawnPermissionDenied' | 'spawnFailed';
  /** One sentence: what, and why. */
  readonly message: string;
};

/** How the system's error codes are told: in the words of strerror(3), which people and programs look for. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'No such file or directory',
  EACCES: 'Permission denied',
  ENOTDIR: 'Not a directory',
  E2BIG: 'Argument list too long',
  EMFILE: 'Too many open files in the server (EMFILE; raise ulimit -n)',
  ENFILE: 'Too many open files on this machine (ENFILE)',
  EAGAIN: 'No processes left for this user or container (EAGAIN; see ulimit -u and pids.max)',
  ENOMEM: 'Cannot allocate memory',
  ENOEXEC: 'Exec format error',
  ELOOP: 'Too many levels of symbolic links',
  ENAMETOOLONG: 'File name too long',
  ENOSPC: 'No space left on device',
  EDQUOT: 'Disk quota exceeded',
  EROFS: 'Read-only file system',
};

export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Turns an error of the system into a failure: `cannot WHAT: REASON`. */
export const launchFailure = (what: string, error: unknown): LaunchFailure =>
  failureOfCode(what, errorCode(error), error instanceof Error ? error.message : 'unknown error');

/**
 * The same, where no error was thrown.
 *
 * @param otherwise the reason, if the code has none here
 */
export const failureOfCode = (what: string, code: string, otherwise: string = code): LaunchFailure => {
  const reason = reasons[code] ?? otherwise;
  const kinds = { ENOENT: 'spawnNotFound', EACCES: 'spawnPermissionDenied' } as const;
  const kind = code === 'ENOENT' || code === 'EACCES' ? kinds[code] : 'spawnFailed';
  return { kind, message: `cannot ${what}: ${reason}` };
};
