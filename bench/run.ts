/**
 * Measures the built server over stdio: `npm run bench [-- WORKLOAD…] [--json FILE]`. One fresh server a
 * workload. Figures of one run on a shared machine say little alone: run two builds in turns, and compare.
 */
import fs from 'node:fs';
import { BenchClient } from './client.js';

const MIB = 1024 * 1024;

type Figures = Record<string, number>;
type Workload = (client: BenchClient) => Promise<Figures>;

const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;

/** One process that prints `bytes`; every byte and number must come. */
const throughput =
  (bytes: number, argv: readonly string[], tty = false): Workload =>
  async (client) => {
    const cpu = client.cpuSeconds();
    const from = performance.now();
    const proc = await client.start('p', argv, tty);
    const seconds = ((await proc.closed) - from) / 1000;
    if (proc.bytes !== bytes || proc.missing > 0)
      throw new Error(`lost output: ${proc.bytes} of ${bytes} bytes`);
    return {
      'MiB/s': bytes / MIB / seconds,
      'server CPU s/GiB': ((client.cpuSeconds() - cpu) * 1024 * MIB) / bytes,
      'bytes a notification': bytes / proc.notifications,
      'peak MiB': client.peakMiB(),
    };
  };

const latency = (name: string, values: readonly number[]): Figures => ({
  [`${name} p50 ms`]: percentile(values, 0.5),
  [`${name} p99 ms`]: percentile(values, 0.99),
});

/** A keystroke to a raw terminal and back. */
const echo =
  (flood: boolean): Workload =>
  async (client) => {
    const ready = new Promise<void>((resolve) => {
      client.onOutput = resolve;
    });
    await client.start('cat', ['sh', '-c', 'stty raw -echo; printf ready; exec cat'], true);
    await ready;
    client.onOutput = undefined;
    if (flood) await client.start('flood', ['cat', '/dev/zero']);
    const times: number[] = [];
    for (let round = 0; round < 300; round++) {
      const from = performance.now();
      await client.call('process/write', { processId: 'cat', chunk: 'YQ==' });
      times.push(performance.now() - from);
    }
    return latency('write answered', times);
  };

const spawns =
  (tty: boolean): Workload =>
  async (client) => {
    const times: number[] = [];
    const begin = performance.now();
    for (let run = 0; run < 200; run++) {
      const from = performance.now();
      times.push((await (await client.start(`p${run}`, ['true'], tty)).closed) - from);
    }
    return {
      'processes/s': (200 * 1000) / (performance.now() - begin),
      ...latency('start to closed', times),
    };
  };

const workloads: ReadonlyMap<string, Workload> = new Map([
  ['pipe', throughput(512 * MIB, ['head', '-c', String(512 * MIB), '/dev/zero'])],
  ['lines', throughput(128 * MIB, ['sh', '-c', `yes | head -c ${128 * MIB}`])],
  ['tty', throughput(64 * MIB, ['sh', '-c', `stty raw -echo; exec head -c ${64 * MIB} /dev/zero`], true)],
  ['echo', echo(false)],
  ['echo-flood', echo(true)],
  ['spawn-pipe', spawns(false)],
  ['spawn-tty', spawns(true)],
]);

const main = async (): Promise<void> => {
  const args = process.argv.slice(2);
  const jsonAt = args.indexOf('--json');
  const file = jsonAt < 0 ? undefined : args[jsonAt + 1];
  const names = args.filter((arg) => !arg.startsWith('--') && arg !== file);
  const results: Record<string, Figures> = {};
  for (const [name, workload] of workloads) {
    if (names.length > 0 && !names.includes(name)) continue;
    const client = new BenchClient();
    const from = performance.now();
    await client.initialize();
    const figures = { 'launch to initialized ms': performance.now() - from, ...(await workload(client)) };
    await client.close();
    results[name] = figures;
    const shown = Object.entries(figures).map(([figure, value]) => `${figure} ${value.toPrecision(4)}`);
    process.stdout.write(`${name.padEnd(11)} ${shown.join('   ')}\n`);
  }
  if (file !== undefined) fs.writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
};

await main();
