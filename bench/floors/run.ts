/**
 * The least servers that Node can be, this one, and with CODEX_BIN its peer, asked the same by turns:
 * `npm run bench:floors [-- ROUNDS]`. What the least can't reach, nothing in Node can.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from '../statistics.js';
import { exec, PEER, type Target, withServer } from '../targets.js';
import { workloads } from '../workloads/index.js';

const REQUESTS = 300;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const floor = (name: string, file: string): Target => ({
  name,
  command: [process.execPath, '--import', 'tsx', path.join(ROOT, 'bench/floors', file)],
});

const peer = process.env['CODEX_BIN'];

/** It has one answer, so it can be connected to and no more. */
const bareSocket = floor('a bare socket', 'socket.ts');

const servers: readonly Target[] = [
  bareSocket,
  floor('http and ws', 'http-ws.ts'),
  exec('this server', ROOT),
  ...(peer === undefined ? [] : [{ name: PEER, command: [peer, 'exec-server'] }]),
];

/** Connections a second of a fresh server, one after the other, each until `initialize` is answered. */
const connections = async (target: Target): Promise<number> =>
  (await workloads.get('connections')?.run(target, 1))?.['connections/s'] ?? NaN;

/** Milliseconds of a small request to a fresh server, one after the other. */
const request = (target: Target): Promise<number> =>
  withServer(target, 'ws', async (server) => {
    const connection = await server.connect();
    await connection.start('p', ['sleep', '600']);
    const times: number[] = [];
    for (let sent = 0; sent < REQUESTS; sent++) {
      const from = performance.now();
      await connection.read('p');
      times.push(performance.now() - from);
    }
    return median(times);
  });

const rounds = Number(process.argv[2] ?? 5);
const rates = new Map<Target, number[]>(servers.map((target) => [target, []]));
const times = new Map<Target, number[]>(servers.map((target) => [target, []]));
for (let round = 0; round < rounds; round++) {
  for (const target of servers) {
    rates.get(target)?.push(await connections(target));
    if (target !== bareSocket) times.get(target)?.push(await request(target));
  }
}
for (const [target, values] of rates) {
  const time = median(times.get(target) ?? []);
  process.stdout.write(
    `${target.name.padEnd(16)} ${median(values).toFixed(0).padStart(6)} connections/s` +
      `${Number.isNaN(time) ? '' : `   ${time.toFixed(3)} ms a request`}\n`,
  );
}
