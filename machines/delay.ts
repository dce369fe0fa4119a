/** Timers hold no more (2^31-1 ms, 24.8 days); a longer delay would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** Milliseconds as a timer can wait: what is longer waits as long as it can. */
export const timerDelay = (ms: number): number => Math.min(ms, LONGEST_DELAY_MS);
