import fs from 'node:fs/promises';
import path from 'node:path';
import { at, orNothing, type Path } from './errors.js';
import { refuseSymlinks } from './open.js';
import { childrenOf } from './tree.js';

export type RemoveOptions = {
  readonly recursive: boolean;
  readonly force: boolean;
  readonly followSymlinks: boolean;
};

/**
 * One entry after the other: many at a time would fill the queue of all file operations. What has gone by
 * itself need not be removed.
 */
const removeTree = async (directory: Path, signal: AbortSignal): Promise<void> => {
  for await (const [, child] of childrenOf(directory, signal)) {
    const stat = await at(child, orNothing(fs.lstat(child)));
    if (stat?.isDirectory() === true) await removeTree(child, signal);
    else await at(child, orNothing(fs.unlink(child)));
  }
  await at(directory, orNothing(fs.rmdir(directory)));
};

/**
 * Removes what is at the path, a link itself and never what it leads to. A directory must be empty without
 * `recursive`; `force` makes nothing of a path where nothing is.
 */
export const remove = async (
  target: string,
  { recursive, force, followSymlinks }: RemoveOptions,
  signal: AbortSignal,
): Promise<void> => {
  if (!followSymlinks) await refuseSymlinks(path.dirname(target));
  const found = at(target, fs.lstat(target));
  const stat = await (force ? orNothing(found) : found);
  if (stat === undefined) return;
  if (!stat.isDirectory()) await at(target, fs.unlink(target));
  else if (recursive) await removeTree(target, signal);
  else await at(target, fs.rmdir(target));
};
