/**
 * What a crowd costs the one who works: the time of a small request to a server with 500 connections and 1,000
 * idle processes, and to one that is empty, by turns in one run: `npm run bench:crowd`. Exit status 1 if the
 * 99th percentile of the crowd is three times that of the empty one or more. The server needs some 4,000
 * descriptors (`ulimit -n`).
 */
import { fileURLToPath } from 'node:url';
import type { Connection } from './load/connection.js';
import { until } from './meter.js';
import { percentile } from './statistics.js';
import { exec, type Server, withServer } from './targets.js';

const SERVER = exec('ours', fileURLToPath(new URL('..', import.meta.url)));

const CONNECTIONS = 500;
const PROCESSES_EACH = 2;
const ROUNDS = 20;
const CALLS_A_ROUND = 200;
const WARM_UP_CALLS = 2_000;
/** The crowd may cost less than this many times as much. */
const MOST = 3;

const REQUESTS: readonly (readonly [method: string, params: object])[] = [
  ['environment/status', {}],
  ['process/read', { processId: 'small' }],
];

/** A connection on which requests are timed, with a process that has printed a little. */
const worker = async (server: Server): Promise<Connection> => {
  const connection = await server.connect();
  const small = await connection.start('small', ['sh', '-c', 'echo hello; exec sleep 100000']);
  await until(() => small.bytes > 0, 'its output');
  return connection;
};

/** Milliseconds of each call. */
const measure = async (connection: Connection, calls: number): Promise<number[]> => {
  const times: number[] = [];
  for (let call = 0; call < calls; call++) {
    for (const [method, params] of REQUESTS) {
      const from = performance.now();
      await connection.call(method, params);
      times.push(performance.now() - from);
    }
  }
  return times;
};

const gather = async (server: Server): Promise<void> => {
  for (let count = 1; count < CONNECTIONS; count++) {
    const connection = await server.connect();
    for (let run = 0; run < PROCESSES_EACH; run++) await connection.start(`idle ${run}`, ['sleep', '100000']);
  }
};

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** How many times as much the 99th percentile is in the crowd. */
const compare = async (alone: Server, crowded: Server): Promise<number> => {
  const workers = [await worker(alone), await worker(crowded)] as const;
  const from = performance.now();
  await gather(crowded);
  say(
    `${CONNECTIONS} connections, ${(CONNECTIONS - 1) * PROCESSES_EACH + 1} processes: ${Math.round(performance.now() - from)} ms`,
  );
  const times: readonly [number[], number[]] = [[], []];
  for (const connection of workers) await measure(connection, WARM_UP_CALLS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const at of [0, 1] as const) times[at].push(...(await measure(workers[at], CALLS_A_ROUND)));
  }
  let ratio = NaN;
  for (const part of [0.5, 0.99]) {
    const [empty, among] = [percentile(times[0], part), percentile(times[1], part)];
    ratio = among / empty;
    say(
      `p${part * 100}  empty ${empty.toFixed(3)} ms  crowded ${among.toFixed(3)} ms  ${ratio.toFixed(2)} times`,
    );
  }
  return ratio;
};

const ratio = await withServer(SERVER, 'ws', (alone) =>
  withServer(SERVER, 'ws', (crowded) => compare(alone, crowded)),
);
process.exitCode = ratio < MOST ? 0 : 1;
