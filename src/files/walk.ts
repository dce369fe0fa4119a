import type { Stats } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Params, Result } from '../protocol.js';
import { openDirectory } from './directory.js';
import { at, reasonOf, sessionEnded } from './errors.js';

type Options = Params<'fs/walk'>['options'];
type Found = Result<'fs/walk'>;

/** The most of one answer: an answer must be shorter than 48 MiB (docs/protocol.md section 1). */
const MAX_ANSWER_LENGTH = 32 * 1024 * 1024;

/** What an entry, or an error, takes in an answer besides its path. */
const ENTRY_LENGTH = 100;

/** More of one directory is not read: no walk lists more, and all that is read is kept, to be sorted. */
const MAX_NAMES = 50_000;

/** After so many entries others have their turn. */
const ENTRIES_A_TURN = 500;

type Directory = { readonly path: string; readonly depth: number };
type Entry = { readonly name: string; readonly kind: 'file' | 'directory' | 'symlink' | 'other' };

/** Two paths lead to the same directory if these are equal. */
const identity = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

const byName = (a: Entry, b: Entry): number => (a.name < b.name ? -1 : 1);

/** One walk, breadth first; docs/protocol.md section 5 tells what it lists. */
class Walk {
  readonly found: Found = { entries: [], errors: [], truncated: false };
  readonly #seen = new Set<string>();
  readonly #queue: Directory[] = [];
  #length = 0;
  #steps = 0;

  constructor(
    private readonly options: Options,
    private readonly signal: AbortSignal,
  ) {}

  async run(root: string): Promise<Found> {
    const own = await at(root, fs.lstat(root));
    const stat = own.isSymbolicLink() ? await at(root, fs.stat(root)) : own;
    const isFollowed = this.options.followDirectorySymlinks || !own.isSymbolicLink();
    if (!stat.isDirectory() || !isFollowed) return this.found;
    this.#seen.add(identity(stat));
    await this.#visit({ path: root, depth: 0 }, await this.#list(root));
    let read = 1;
    // the queue grows while it is gone through
    for (const directory of this.#queue) {
      if (this.found.truncated || ++read > this.options.maxDirectories) {
        this.found.truncated = true;
        break;
      }
      try {
        await this.#visit(directory, await this.#list(directory.path));
      } catch (error) {
        this.#throwIfAborted();
        this.#fail(directory.path, error);
      }
    }
    return this.found;
  }

  /** The entries of a directory, sorted by name. */
  async #list(directory: string): Promise<Entry[]> {
    return (await at(directory, this.#read(directory))).sort(byName);
  }

  async #read(directory: string): Promise<Entry[]> {
    const entries: Entry[] = [];
    for await (const entry of await openDirectory(directory)) {
      if (entries.length === MAX_NAMES) {
        this.found.truncated = true;
        break;
      }
      const kind = entry.isFile()
        ? 'file'
        : entry.isDirectory()
          ? 'directory'
          : entry.isSymbolicLink()
            ? 'symlink'
            : 'other';
      entries.push({ name: entry.name, kind });
    }
    return entries;
  }

  /** Lists what a directory holds, and queues the directories among it. */
  async #visit(directory: Directory, entries: readonly Entry[]): Promise<void> {
    for (const { name, kind } of entries) {
      if (++this.#steps % ENTRIES_A_TURN === 0) await nextTurn();
      this.#throwIfAborted();
      const entryPath = path.join(directory.path, name);
      // a name that isn't UTF-8 came with this in it, and nothing is found by it
      if (name.includes('\ufffd') && !(await this.#exists(entryPath))) continue;
      const isAdded =
        kind === 'symlink'
          ? await this.#addLink(directory, name, entryPath)
          : kind === 'other' || (await this.#add(directory, name, entryPath, kind));
      if (!isAdded) return;
    }
  }

  async #add(
    { depth }: Directory,
    name: string,
    entryPath: string,
    kind: 'file' | 'directory',
    stat?: Stats,
  ): Promise<boolean> {
    const uri = pathToFileURL(entryPath).href;
    if (!this.#hasRoom(uri.length)) return false;
    this.found.entries.push({ path: uri, kind });
    const isEntered =
      kind === 'directory' &&
      depth < this.options.maxDepth &&
      !(this.options.pruneHiddenDirectories === true && name.startsWith('.'));
    if (isEntered && (await this.#isNew(entryPath, stat))) {
      this.#queue.push({ path: entryPath, depth: depth + 1 });
    }
    return true;
  }

  /** Links to directories may be followed; all others are passed over, broken ones too. */
  async #addLink(directory: Directory, name: string, entryPath: string): Promise<boolean> {
    if (!this.options.followDirectorySymlinks) return true;
    let stat: Stats;
    try {
      stat = await fs.stat(entryPath);
    } catch {
      return true; // broken, or in a circle
    }
    return !stat.isDirectory() || this.#add(directory, name, entryPath, 'directory', stat);
  }

  /** Only by links can a directory be met twice. */
  async #isNew(directory: string, stat?: Stats): Promise<boolean> {
    if (!this.options.followDirectorySymlinks) return true;
    try {
      const id = identity(stat ?? (await fs.stat(directory)));
      if (this.#seen.has(id)) return false;
      this.#seen.add(id);
      return true;
    } catch (error) {
      this.#fail(directory, error);
      return false;
    }
  }

  async #exists(entryPath: string): Promise<boolean> {
    try {
      await fs.lstat(entryPath);
      return true;
    } catch (error) {
      this.#fail(entryPath, error);
      return false;
    }
  }

  #fail(failed: string, error: unknown): void {
    const uri = pathToFileURL(failed).href;
    if (this.#hasRoom(uri.length)) this.found.errors.push({ path: uri, message: reasonOf(error) });
  }

  /** Is there room for one more? If not, the walk ends here. */
  #hasRoom(length: number): boolean {
    const { entries, errors } = this.found;
    this.#length += length + ENTRY_LENGTH;
    if (entries.length + errors.length < this.options.maxEntries && this.#length < MAX_ANSWER_LENGTH) {
      return true;
    }
    this.found.truncated = true;
    return false;
  }

  #throwIfAborted(): void {
    if (this.signal.aborted) throw sessionEnded();
  }
}

/** Lists a tree (fs/walk). Others have their turn in between, however large it is. */
export const walk = async (root: string, options: Options, signal: AbortSignal): Promise<Found> =>
  new Walk(options, signal).run(root);
