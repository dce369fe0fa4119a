import type { Target } from './targets.js';
import type { Figures, Workload } from './workloads/workload.js';

/** What each target gave, a round after the other; undefined where it failed. */
export type Results = ReadonlyMap<string, readonly (Figures | undefined)[]>;

/** Nothing here takes as long on a machine that can be measured on. */
const TIMEOUT_MS = 300_000;

const inTime = async <T>(work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Runs a workload on each target so many times, A B, B A, A B, …: whatever drifts hits all.
 *
 * @param failed is told what went wrong; that run has no figures
 */
export const inRounds = async (
  workload: Workload,
  targets: readonly Target[],
  { repeat, scale }: { readonly repeat: number; readonly scale: number },
  failed: (target: Target, error: unknown) => void,
): Promise<Results> => {
  const results = new Map<string, (Figures | undefined)[]>(targets.map(({ name }) => [name, []]));
  for (let round = 0; round < repeat; round++) {
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      let figures: Figures | undefined;
      try {
        figures = await inTime(workload.run(target, scale));
      } catch (error) {
        failed(target, error);
      }
      results.get(target.name)?.push(figures);
    }
  }
  return results;
};
