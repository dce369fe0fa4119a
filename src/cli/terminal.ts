import { spawnSync } from 'node:child_process';
import type { ReadStream, WriteStream } from 'node:tty';
import { ScreenModes } from './screen-modes.js';

export type Size = { readonly rows: number; readonly cols: number };

/** Of no terminal at all, and of one that doesn't know. */
const DEFAULT_SIZE: Size = { rows: 24, cols: 80 };

/**
 * The terminal of this process, lent to a program elsewhere: raw, so that every key goes there and every byte
 * of its output comes through as it is. Node itself puts the line settings back when the process ends in any
 * way but SIGKILL.
 */
export class Terminal {
  readonly #modes = new ScreenModes();
  #raw = false;

  /**
   * @param keyboard is read by somebody else
   * @param screen whose size counts; undefined if output goes elsewhere
   */
  constructor(
    private readonly keyboard: ReadStream,
    private readonly screen: WriteStream | undefined,
  ) {}

  get size(): Size {
    const [cols, rows] = this.screen?.getWindowSize() ?? [0, 0];
    return rows > 0 && cols > 0 ? { rows, cols } : DEFAULT_SIZE;
  }

  makeRaw(): void {
    this.keyboard.setRawMode(true);
    // Node's raw mode still makes \r\n of \n, which full-screen programs send to go down; without stty they
    // look odd
    spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
    this.#raw = true;
  }

  /** For all that the program prints here. */
  follow(data: Uint8Array): void {
    this.#modes.follow(data);
  }

  /**
   * Puts the line settings back; of no effect the second time.
   *
   * @param midway the program did not end by itself: what it left of its screen is undone, too
   */
  restore(midway: boolean): void {
    if (!this.#raw) return;
    this.#raw = false;
    this.keyboard.setRawMode(false);
    if (midway) this.screen?.write(this.#modes.undo());
  }

  /**
   * Calls `listener` when the size may have changed, until the function returned is called. When this process
   * goes on after a stop the terminal is made raw again: the shell has used it meanwhile.
   */
  onResize(listener: (size: Size) => void): () => void {
    const resized = (): void => listener(this.size);
    const continued = (): void => {
      if (!this.#raw) return;
      this.keyboard.setRawMode(false);
      this.makeRaw();
      resized();
    };
    this.screen?.on('resize', resized);
    process.on('SIGCONT', continued);
    return () => {
      this.screen?.off('resize', resized);
      process.off('SIGCONT', continued);
    };
  }
}
