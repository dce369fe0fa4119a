import fs from 'node:fs/promises';
import { at, type Path, sessionEnded } from './errors.js';

const SLASH = Buffer.from('/');

/** The paths of all that a directory holds. As bytes: a name need not be UTF-8 to be copied or removed. */
export async function* childrenOf(directory: Path, signal: AbortSignal): AsyncGenerator<[Buffer, Buffer]> {
  for (const name of await at(directory, fs.readdir(directory, { encoding: 'buffer' }))) {
    if (signal.aborted) throw sessionEnded();
    yield [name, childPath(directory, name)];
  }
}

export const childPath = (directory: Path, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(directory), SLASH, name]);
