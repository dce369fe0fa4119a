import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { atExit } from './at-exit.js';
import { errorCode } from './launch.js';

/** Made by one run of mkfifo, which costs a fork: enough for twenty processes. */
const BATCH = 64;

/** When fewer are left the next batch is made, so that no start waits for it. */
const LOW = 16;

const runFile = promisify(execFile);

/** All of them or none. Rejects with the system's error, or with what mkfifo says (`mkfifo: …: REASON`). */
const makeFifos = async (names: readonly string[]): Promise<void> => {
  try {
    await runFile('mkfifo', ['-m', '600', ...names], { env: { ...process.env, LC_ALL: 'C' } });
  } catch (error) {
    for (const name of names) fs.rmSync(name, { force: true });
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    const reason = /: ([^:\n]+)$/m.exec(said)?.[1];
    throw reason === undefined ? error : new Error(reason, { cause: error });
  }
};

/** Directories of pools begin so, and then have the pid of their server. */
const PREFIX = 'exec-server-fifos-';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM'; // another user's
  }
};

/** At the exit of this process mkfifo may still be at work there: try again, for 50 ms at most. */
const removeDirectory = (directory: string): void =>
  fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 3 });

/** A server that was killed by SIGKILL could not remove its directory: the next one does. */
const removeLeftOvers = (parent: string): void => {
  for (const name of fs.readdirSync(parent)) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : NaN;
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    try {
      removeDirectory(path.join(parent, name));
    } catch {
      // another user's: it is for them to remove
    }
  }
};

/** One end of a FIFO each for the server and for the child. Whoever opens it closes both. */
export type FifoEnds = { readonly ours: number; readonly theirs: number };

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants;

/** FIFOs taken from the pool for one child. Opening throws the system's error. */
export class Fifos {
  constructor(
    private readonly names: string[],
    private readonly pool: FifoPool,
  ) {}

  /** Gives those back that were not opened. */
  release(): void {
    this.pool.giveBack(this.names.splice(0));
  }

  /** A pipe from the child to the server. */
  openOutput(): FifoEnds {
    const [ours, theirs] = this.#open(O_RDONLY | O_NONBLOCK, O_WRONLY);
    return { ours, theirs };
  }

  /** A pipe from the server to the child. */
  openInput(): FifoEnds {
    const [theirs, ours] = this.#open(O_RDONLY | O_NONBLOCK, O_WRONLY | O_NONBLOCK);
    return { ours, theirs };
  }

  /** The reading end first: opening the writing end fails, or waits, while nobody reads. */
  #open(readFlags: number, writeFlags: number): readonly [reader: number, writer: number] {
    const name = this.names.pop();
    if (name === undefined) throw new Error('no FIFO is left for this child');
    let reader: number | undefined;
    try {
      reader = fs.openSync(name, readFlags);
      return [reader, fs.openSync(name, writeFlags)];
    } catch (error) {
      if (reader !== undefined) fs.closeSync(reader);
      throw error;
    } finally {
      fs.rmSync(name, { force: true });
    }
  }
}

/**
 * Named pipes for the children's standard streams. Node's own `stdio: 'pipe'` is a socket pair, and a
 * program that opens /dev/stdout then fails with ENXIO (`echo x > /dev/stdout`, `tee /dev/stderr`).
 *
 * Their names lie in a directory of the server's own (0700) and are removed as soon as both ends are open.
 */
export class FifoPool {
  #directory: string | undefined;
  #names: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;
  #closed = false;
  #forgetExit: () => void = () => undefined;

  /** Takes FIFOs for one child out of the pool. Rejects with the system's error. */
  async take(count: number): Promise<Fifos> {
    // a cleaner of /tmp may have taken the directory
    if (this.#directory !== undefined && !fs.existsSync(this.#directory)) this.#remove();
    while (this.#names.length < count) await this.#make();
    const names = this.#names.splice(-count);
    if (this.#names.length < LOW) this.#make().catch(() => undefined); // the next take will tell
    return new Fifos(names, this);
  }

  /** Takes names back; those of a directory that is gone are of no use any more. */
  giveBack(names: readonly string[]): void {
    const directory = this.#directory;
    if (directory !== undefined) {
      this.#names.push(...names.filter((name) => path.dirname(name) === directory));
    }
  }

  /** Makes no more, and removes the directory: when mkfifo, which may be at work there, is done. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#making?.catch(() => undefined); // whoever waits for the FIFOs is told
    this.#remove();
  }

  #remove(): void {
    if (this.#directory === undefined) return;
    this.#forgetExit();
    removeDirectory(this.#directory);
    this.#directory = undefined;
    this.#names = [];
  }

  #make(): Promise<void> {
    this.#making ??= this.#makeBatch().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #makeBatch(): Promise<void> {
    if (this.#closed) throw new Error('the server is closing');
    if (this.#directory === undefined) {
      const parent = os.tmpdir();
      removeLeftOvers(parent);
      this.#directory = fs.mkdtempSync(path.join(parent, `${PREFIX}${process.pid}-`));
      this.#forgetExit = atExit(() => this.#remove());
    }
    const directory = this.#directory;
    const names = Array.from({ length: BATCH }, () => path.join(directory, String(this.#made++)));
    await makeFifos(names);
    if (this.#directory === directory) this.#names.push(...names);
  }
}
