import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { ErrorCode } from '../rpc.js';
import { FileError, refused } from './errors.js';
import { openRegular, statRegular } from './open.js';

/** Open at a time for one connection (docs/protocol.md section 5). */
export const MAX_HANDLES = 128;

type OpenFile = {
  readonly path: string;
  readonly opening: Promise<FileHandle>;
  /** What is done with it at the moment; it is closed after that. */
  readonly uses: Set<Promise<unknown>>;
};

/** The files that one connection has opened, by the ids that its client chose. */
export class Handles {
  readonly #files = new Map<string, OpenFile>();

  /** Takes the id at once: a client need not wait for the answer before it reads. */
  async open(id: string, path: string): Promise<void> {
    if (this.#files.has(id)) throw refused(`file handle \`${id}\` already exists`);
    if (this.#files.size >= MAX_HANDLES) {
      throw refused(`at most ${MAX_HANDLES} files may be open per connection`);
    }
    const file = { path, opening: openForReading(path), uses: new Set<Promise<unknown>>() };
    this.#files.set(id, file);
    try {
      await file.opening;
    } catch (error) {
      this.#forget(id, file);
      throw error;
    }
  }

  /** Does something with an open file. What goes wrong closes it. */
  async use<T>(id: string, work: (handle: FileHandle, path: string) => Promise<T>): Promise<T> {
    const file = this.#files.get(id);
    if (file === undefined) throw new FileError(ErrorCode.notFound, `unknown file handle \`${id}\``);
    const use = file.opening.then(async (handle) => work(handle, file.path));
    file.uses.add(use);
    try {
      return await use;
    } catch (error) {
      this.#forget(id, file);
      await close(file);
      throw error;
    } finally {
      file.uses.delete(use);
    }
  }

  /** What is under way ends first. An unknown id is fine: an error may have closed it. */
  async close(id: string): Promise<void> {
    const file = this.#files.get(id);
    if (file === undefined) return;
    this.#files.delete(id);
    await close(file);
  }

  /** Never rejects. */
  async closeAll(): Promise<void> {
    await Promise.allSettled([...this.#files.keys()].map((id) => this.close(id)));
  }

  /** The id may be another file's by now. */
  #forget(id: string, file: OpenFile): void {
    if (this.#files.get(id) === file) this.#files.delete(id);
  }
}

/** May be called more than once. */
const close = async ({ opening, uses }: OpenFile): Promise<void> => {
  await Promise.allSettled(uses);
  let handle: FileHandle;
  try {
    handle = await opening;
  } catch {
    return; // fs/open has told it
  }
  await handle.close();
};

const openForReading = async (path: string): Promise<FileHandle> => {
  const target = { path, followSymlinks: true };
  await statRegular(target);
  return (await openRegular(target, constants.O_RDONLY)).handle;
};
