/**
 * Measures the built server, by turns with another: `npm run bench [-- OPTIONS] [WORKLOAD…]`. docs/performance.md
 * tells what the workloads are, and how to read the figures.
 */
import fs from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildRevision } from './base.js';
import { writeBetweenMarkers } from './markdown.js';
import { asMarkdown, asText } from './report.js';
import { inRounds, type Results } from './rounds.js';
import { exec, PEER, type Target } from './targets.js';
import { workloads } from './workloads/index.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const HELP = `npm run bench -- [OPTIONS] [WORKLOAD…]
  --base REV       compare with this revision of the server
  --repeat N       rounds of each workload (default: 5)
  --scale F        how much of each workload (default: 1)
  --json FILE      write every figure of every round
  --markdown FILE  write the table between the markers of this file
With CODEX_BIN=…/codex it is compared with that one. Workloads (default: all):
  ${[...workloads.keys()].join(' ')}
`;

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: 'string' },
    repeat: { type: 'string', default: '5' },
    scale: { type: 'string', default: '1' },
    json: { type: 'string' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** The server, and what it is compared with. */
const targets = (): readonly Target[] => {
  const ours = exec('ours', ROOT);
  if (options.base !== undefined) return [ours, exec(options.base, buildRevision(ROOT, options.base))];
  const peer = process.env['CODEX_BIN'];
  return peer === undefined ? [ours] : [ours, { name: PEER, command: [peer, 'exec-server'] }];
};

const plain = (results: ReadonlyMap<string, Results>): object =>
  Object.fromEntries([...results].map(([workload, runs]) => [workload, Object.fromEntries(runs)]));

const main = async (): Promise<void> => {
  if (options.help) {
    say(HELP);
    return;
  }
  const unknown = positionals.find((name) => !workloads.has(name));
  if (unknown !== undefined) throw new Error(`no workload ${unknown}; see --help`);
  const settings = { repeat: Number(options.repeat), scale: Number(options.scale) };
  if (!(settings.repeat >= 1 && settings.scale > 0)) throw new Error('--repeat and --scale are above 0');
  const compared = targets();
  const machine = `Node ${process.version}, ${os.type()} ${os.release()}, ${os.cpus().length} × ${os.cpus()[0]?.model}`;
  say(machine);
  const all = new Map<string, Results>();
  for (const [name, workload] of workloads) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    const results = await inRounds(workload, compared, settings, (target, error) => {
      process.exitCode = 1;
      process.stderr.write(
        `${name}, ${target.name}: ${error instanceof Error ? error.message : String(error)}\n`,
      );
    });
    all.set(name, results);
    say(`\n${asText(name, results)}`);
    if (options.json !== undefined) {
      fs.writeFileSync(
        options.json,
        `${JSON.stringify({ machine, ...settings, results: plain(all) }, null, 1)}\n`,
      );
    }
  }
  if (options.markdown !== undefined) {
    const about = `Medians (min..max) of ${settings.repeat} rounds at scale ${settings.scale}; ${machine}.`;
    writeBetweenMarkers(options.markdown, `${about}\n\n${asMarkdown(all)}`);
  }
};

await main();
// what a failed run may have left must not keep it from ending
process.exit();
