import { isUtf8 } from 'node:buffer';
import fs from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { Result } from '../protocol.js';
import { at, impossible } from './errors.js';
import { refuseSymlinks } from './open.js';

/** Whole milliseconds since 1970; what was before, or isn't known, is 0. */
const wholeMs = (ms: number): number => Math.max(0, Math.floor(ms));

/** Describes what is at the path: a link's target, but for `isSymlink`. */
export const getMetadata = async (
  path: string,
  followSymlinks: boolean,
): Promise<Result<'fs/getMetadata'>> => {
  if (!followSymlinks) await refuseSymlinks(path);
  const own = await at(path, fs.lstat(path));
  const stat = own.isSymbolicLink() ? await at(path, fs.stat(path)) : own;
  return {
    isDirectory: stat.isDirectory(),
    isFile: stat.isFile(),
    isSymlink: own.isSymbolicLink(),
    size: stat.size,
    createdAtMs: wholeMs(stat.birthtimeMs),
    modifiedAtMs: wholeMs(stat.mtimeMs),
  };
};

/** The path without symbolic links and dots, as a `file:` URI. */
export const canonicalize = async (path: string): Promise<Result<'fs/canonicalize'>> => {
  const real = await at(path, fs.realpath(path, 'buffer'));
  // a URI for it could not be sent back: paths of the protocol are UTF-8
  if (!isUtf8(real)) throw impossible(path, 'the name that it leads to is not UTF-8');
  return { path: pathToFileURL(real.toString()).href };
};
