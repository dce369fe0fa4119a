/**
 * Set by the launcher before anything of the server runs. What V8 compiled at the build (precompile.mjs) is taken
 * only where the flags are the same.
 *
 * - What is young stays in 1 MiB, twice: grown to its 16 MiB it made 84 KiB of each of 1,000 idle processes, now it
 *   is 40; floods take up to a tenth more CPU for it (npm run bench -- idle-pipe pipe).
 * - One thread collects it: waking the others took longer than 1 MiB takes (1 to 4 % of nearly everything).
 * - Code is optimized after eight times the default budget. The compiler's threads compete with the children for the
 *   cores, and what they write is copied after each fork: `spawn32-tty` 1.3 times as many, `write-80` 1.2 times,
 *   `connections` 1.13, `read` 1.06, the p99 of `echo-flood` 0.54 and of `echo-idle` 0.35; for it `pipe` has 0.92 and
 *   `many-pipe` 0.95 of its MiB/s (three interleaved rounds each, npm run bench -- --base).
 */
export const V8_FLAGS = '--semi-space-growth-factor=1 --no-parallel-scavenge --interrupt-budget=540000';
