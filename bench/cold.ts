/**
 * From the launch of a server until the first line on its stdout, which answers `initialize` over stdio, or is
 * the URL of a listener. The commands take turns; each is compared with the first one of its round.
 *
 * @example
 * node --import tsx bench/cold.ts 20 'node -e process.stdin.once("data",console.log)' 'node dist/src/cli.js'
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';

const INITIALIZE = '{"id":1,"method":"initialize","params":{"clientName":"bench"}}\n';

type Start = { readonly ms: number; readonly cpuMs: number };

/** What all of its threads have used, in milliseconds. Linux alone tells it this exactly. */
const cpuMs = (pid: number): number =>
  fs
    .readdirSync(`/proc/${pid}/task`)
    .map((thread) => fs.readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1'))
    .reduce((sum, schedstat) => sum + Number(schedstat.split(' ')[0]) / 1e6, 0);

const start = async (command: string): Promise<Start> => {
  const [program = '', ...args] = command.split(' ');
  const from = performance.now();
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  child.stdin.on('error', () => undefined); // a listener reads nothing, and is killed
  child.stdin.write(INITIALIZE);
  await Promise.race([once(child.stdout, 'data'), ended]);
  const ms = performance.now() - from;
  if (child.pid === undefined || child.exitCode !== null) throw new Error(`${command} has ended`);
  const started = { ms, cpuMs: cpuMs(child.pid) };
  child.kill('SIGKILL');
  await ended;
  return started;
};

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

const [rounds = '20', ...commands] = process.argv.slice(2);
const all = new Map<string, Start[]>(commands.map((command) => [command, []]));
for (let round = 0; round < Number(rounds); round++) {
  // A B, B A, A B, …: whatever drifts hits all
  for (const command of round % 2 === 0 ? commands : commands.toReversed()) {
    all.get(command)?.push(await start(command));
  }
}

const first = all.get(commands[0] ?? '') ?? [];
for (const [command, starts] of all) {
  const ratio = (part: keyof Start): number =>
    median(starts.map((one, round) => one[part] / (first[round]?.[part] ?? NaN)));
  process.stdout.write(
    `${median(starts.map(({ ms }) => ms)).toFixed(1)} ms (${ratio('ms').toFixed(2)})  ` +
      `${median(starts.map((one) => one.cpuMs)).toFixed(1)} ms CPU (${ratio('cpuMs').toFixed(2)})  ${command}\n`,
  );
}
