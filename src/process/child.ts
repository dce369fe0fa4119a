import type { OutputLog } from '../output/log.js';
import type { Input } from './input.js';
import type { Source } from './source.js';

/** How a child ended. */
export type ExitStatus = {
  /** Its code, or 128 + the number of the signal that killed it. */
  readonly exitCode: number;
  readonly signal: NodeJS.Signals | null;
};

export type ChildEvents = {
  /** The child was reaped. Its output may not have been read yet. */
  exited(status: ExitStatus): void;
  /** A source has come to its end. */
  sourceEnded(): void;
  /** The child closed its stdin. */
  inputBroken(): void;
};

/** A child that runs: what its PTY and its pipes have in common. */
export type Child = {
  readonly pid: number;
  /** Undefined: stdin is at end of file from the start. */
  readonly input: Input | undefined;
  readonly sources: readonly Source[];
  /** Undefined: there is no terminal. */
  readonly resize: ((rows: number, cols: number) => void) | undefined;
  /** The child has been reaped: lets go of what was held open for it alone. */
  release(): void;
};

export type SpawnChild = (file: string, log: OutputLog, events: ChildEvents) => Child;
