import type { Listen, Target } from '../targets.js';

/** What one run gave, by a name with the unit in it. */
export type Figures = Readonly<Record<string, number>>;

export type Workload = {
  readonly listen: Listen;
  /**
   * Measures a fresh server. Rejects if something is lost, or wrong.
   *
   * @param scale shortens (or lengthens) it: 1 is as in docs/performance.md
   */
  run(target: Target, scale: number): Promise<Figures>;
};

/** A number of things, scaled, but enough of them to say something. */
export const scaled = (count: number, scale: number, least: number): number =>
  Math.max(least, Math.floor(count * scale));
