import type { Dir, Dirent } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import type { Result } from '../protocol.js';
import { at, impossible } from './errors.js';
import { refuseSymlinks } from './open.js';

/** As many entries as fit into one answer, with names of the usual length (docs/protocol.md section 5). */
export const MAX_DIRECTORY_ENTRIES = 50_000;

/** Entries that are got from the system at a time. */
const BATCH = 256;

/** Opens a directory to read its entries one by one; reading them to the end closes it, and so does `break`. */
export const openDirectory = async (directory: string): Promise<Dir> =>
  at(directory, fs.opendir(directory, { bufferSize: BATCH }));

export const createDirectory = async (
  directory: string,
  { recursive, followSymlinks }: { readonly recursive: boolean; readonly followSymlinks: boolean },
): Promise<void> => {
  if (!followSymlinks) await refuseSymlinks(directory);
  await at(directory, fs.mkdir(directory, { recursive }));
};

type Entry = Result<'fs/readDirectory'>['entries'][number];
type Kind = { readonly isDirectory: boolean; readonly isFile: boolean };

/** What a directory's entry is, or leads to; undefined for a link that leads nowhere. */
const kindOf = async (directory: string, entry: Dirent): Promise<Kind | undefined> => {
  if (!entry.isSymbolicLink()) return { isDirectory: entry.isDirectory(), isFile: entry.isFile() };
  try {
    const target = await fs.stat(path.join(directory, entry.name));
    return { isDirectory: target.isDirectory(), isFile: target.isFile() };
  } catch {
    return undefined; // whatever is in the way, it can't be said what it is
  }
};

/**
 * Lists a directory, in the system's order. Links count as what they lead to, broken ones are left out. Bytes
 * of a name that are no UTF-8 come as U+FFFD: the entry is seen, and can't be asked for.
 */
export const readDirectory = async (
  directory: string,
  maxEntries = MAX_DIRECTORY_ENTRIES,
): Promise<Result<'fs/readDirectory'>> => ({
  entries: await at(directory, readEntries(directory, maxEntries)),
});

const readEntries = async (directory: string, maxEntries: number): Promise<Entry[]> => {
  const entries: Entry[] = [];
  let seen = 0;
  for await (const entry of await openDirectory(directory)) {
    if (++seen > maxEntries) throw impossible(directory, `more than ${maxEntries} entries`);
    const kind = await kindOf(directory, entry);
    if (kind !== undefined) entries.push({ fileName: entry.name, ...kind });
  }
  return entries;
};
