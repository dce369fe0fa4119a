import type { Parameters } from 'fast-check';

/** Below mocha's own limit: a failure is shrunk as long as that, and the counterexample is still printed. */
const LIMIT_MS = 15_000;

/**
 * So many runs. A failure prints its seed and path: put both beside `numRuns` and the same counterexample
 * comes again.
 */
export const runs = (numRuns: number): Parameters<unknown> => ({
  numRuns,
  interruptAfterTimeLimit: LIMIT_MS,
});
