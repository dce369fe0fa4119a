import { constants, type Stats } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { at, errnoOf, fileError, invalid, orNothing, type Path, refused, sessionEnded } from './errors.js';
import { openRegular, statRegular } from './open.js';
import { readFully } from './read-write.js';
import { childPath, childrenOf } from './tree.js';

/** Copied at a time. In blocks, not by copyFile(): that holds a thread until a large file is through. */
const BLOCK_BYTES = 1024 * 1024;

/** What the umask leaves of these, as for any new file. */
const PERMISSIONS = 0o777;
const OWNER_RWX = 0o700;

const copyFile = async (
  source: Path,
  destination: Path,
  { dev, ino, mode }: Stats,
  signal: AbortSignal,
): Promise<void> => {
  const to = { path: destination, followSymlinks: true };
  const there = await orNothing(statRegular(to));
  // it would be emptied before it is read
  if (there?.dev === dev && there.ino === ino) {
    throw invalid(destination, 'source and destination are the same file');
  }
  const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC } = constants;
  const input = await openRegular({ path: source, followSymlinks: false }, O_RDONLY);
  try {
    const output = await openRegular(to, O_WRONLY | O_CREAT | O_TRUNC, mode & PERMISSIONS);
    try {
      const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
      for (let position = 0; ; position += BLOCK_BYTES) {
        if (signal.aborted) throw sessionEnded();
        const block = await readFully(source, input.handle, buffer, position);
        await at(destination, output.handle.writeFile(block));
        if (block.length < BLOCK_BYTES) break;
      }
    } finally {
      await output.handle.close();
    }
  } finally {
    await input.handle.close();
  }
};

/** A directory that is there already gets what is copied into it. */
const makeDirectory = async (directory: Path, { mode }: Stats): Promise<void> => {
  try {
    await fs.mkdir(directory, (mode & PERMISSIONS) | OWNER_RWX);
  } catch (error) {
    const there =
      errnoOf(error) === 'EEXIST' ? await at(directory, orNothing(fs.stat(directory))) : undefined;
    if (there?.isDirectory() !== true) throw fileError(directory, error);
  }
};

const copyEntry = async (
  source: Path,
  destination: Path,
  stat: Stats,
  signal: AbortSignal,
): Promise<void> => {
  if (stat.isSymbolicLink()) {
    const link = await at(source, fs.readlink(source, 'buffer'));
    await at(destination, fs.symlink(link, destination));
  } else if (stat.isFile()) {
    await copyFile(source, destination, stat, signal);
  } else if (stat.isDirectory()) {
    await makeDirectory(destination, stat);
    for await (const [name, child] of childrenOf(source, signal)) {
      await copyEntry(child, childPath(destination, name), await at(child, fs.lstat(child)), signal);
    }
  } else {
    throw invalid(source, 'fs/copy only supports regular files, directories, and symlinks');
  }
};

/** Where a path leads, if all but its last part must be there. */
const realDestination = async (destination: string): Promise<string> => {
  const real = await at(destination, orNothing(fs.realpath(destination)));
  if (real !== undefined) return real;
  const parent = await at(destination, fs.realpath(path.dirname(destination)));
  return path.join(parent, path.basename(destination));
};

/**
 * Copies a file, a link as a link, or with `recursive` a directory; parents are not made. A file that is
 * there gets the new content, a directory that is there what is copied into it. What was copied before an
 * error stays.
 */
export const copy = async (
  source: string,
  destination: string,
  recursive: boolean,
  signal: AbortSignal,
): Promise<void> => {
  const stat = await at(source, fs.lstat(source));
  if (stat.isDirectory()) {
    if (!recursive) throw refused('fs/copy requires recursive: true when sourcePath is a directory');
    const from = await at(source, fs.realpath(source));
    const inside = path.relative(from, await realDestination(destination));
    if (inside !== '..' && !inside.startsWith('../')) {
      throw refused('fs/copy cannot copy a directory to itself or one of its descendants');
    }
  }
  await copyEntry(source, destination, stat, signal);
};
