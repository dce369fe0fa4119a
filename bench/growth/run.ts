/**
 * What the server costs as the work grows: `npm run bench:growth [-- --rounds N] [CURVE…]`. Draws docs/growth-*.svg,
 * and exits with 1 if anything grows faster than linearly. The server needs some 4,000 descriptors (`ulimit -n`).
 */
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exec } from '../targets.js';
import { measured } from './curve.js';
import { curvesOf } from './curves.js';
import { svgOf } from './svg.js';

/** Above 1: what a busy machine adds. Measured: up to 1.14. What grows by the square has 2 in the end. */
const SLOPE_TOLERANCE = 0.3;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '3' } },
});

for (const curve of curvesOf(exec('ours', ROOT))) {
  if (positionals.length > 0 && !positionals.includes(curve.name)) continue;
  const panels = await measured(curve, Number(options.rounds));
  fs.writeFileSync(`${ROOT}docs/growth-${curve.name}.svg`, svgOf(curve, panels));
  process.stdout.write(`${curve.title}\n`);
  for (const [{ unit }, lines] of panels) {
    for (const { cost, points, slope, lastSlope } of lines) {
      const isTooSteep = !(Math.max(slope, lastSlope) <= 1 + SLOPE_TOLERANCE);
      if (isTooSteep) process.exitCode = 1;
      const shown = points.map(([size, value]) => `${size}: ${value.toPrecision(3)}`);
      process.stdout.write(
        `  ${cost}, ${unit}: slope ${slope.toFixed(2)}, in the end ${lastSlope.toFixed(2)}` +
          `${isTooSteep ? '  WORSE THAN LINEAR' : ''}\n    ${shown.join('  ')}\n`,
      );
    }
  }
}
