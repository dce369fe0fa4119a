import { constants, type Stats } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import { at, invalid, orNothing, type Path } from './errors.js';

/** What a request is about. */
export type Target = {
  readonly path: Path;
  /** false: a symbolic link anywhere in the path is an error. */
  readonly followSymlinks: boolean;
};

/**
 * Throws if a part of the path is a symbolic link. It says how things were a moment ago: what is opened is
 * opened with O_NOFOLLOW besides, which guards the last part.
 */
export const refuseSymlinks = async (path: string): Promise<void> => {
  let part = '';
  for (const name of path.split('/').filter((text) => text !== '')) {
    part += `/${name}`;
    const stat = await at(path, orNothing(fs.lstat(part)));
    if (stat === undefined) return;
    if (stat.isSymbolicLink()) throw invalid(path, 'path contains a symbolic link');
  }
};

const checkRegular = (path: Path, stat: Stats): void => {
  if (!stat.isFile()) throw invalid(path, 'not a regular file');
};

/**
 * Looks at a regular file before it is opened. Rejects for anything else: to open a FIFO disturbs its other
 * end, and to open a device may do anything.
 */
export const statRegular = async ({ path, followSymlinks }: Target): Promise<Stats> => {
  if (!followSymlinks) await refuseSymlinks(path.toString());
  const stat = await at(path, fs.stat(path));
  checkRegular(path, stat);
  return stat;
};

/**
 * Opens what {@link statRegular} has found, or creates it. It may have become something else meanwhile:
 * O_NONBLOCK keeps the open of a FIFO from waiting, for ever, in one of the few threads that all file
 * operations share.
 *
 * @param flags of open(2)
 * @returns the file, which is the caller's to close, and its size
 */
export const openRegular = async (
  { path, followSymlinks }: Target,
  flags: number,
  mode = 0o666,
): Promise<{ handle: FileHandle; size: number }> => {
  const { O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants;
  const all = flags | O_NONBLOCK | O_NOCTTY | (followSymlinks ? 0 : O_NOFOLLOW);
  const handle = await at(path, fs.open(path, all, mode));
  try {
    const stat = await at(path, handle.stat());
    checkRegular(path, stat);
    return { handle, size: stat.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
};
