import { setTimeout as sleep } from 'node:timers/promises';
import { zeros } from '../load/pattern.js';
import { GIB, MIB, until } from '../meter.js';
import { peakMiB, residentMiB, resetPeak, threadSeconds } from '../proc.js';
import { median } from '../statistics.js';
import { type Server, type Target, withServer } from '../targets.js';
import type { Curve, Sample } from './curve.js';

const KIB = 1024;
/** Memory is looked at when what the work itself took has been given back. */
const SETTLE_MS = 300;
/** Less than this is noise of the allocator, and no logarithm is taken of nothing. */
const LEAST_MIB = 0.1;
const READS = 200;
const LANES = 16;
/** More at once would be work for the client, which has to put it together. */
const PAGE_BYTES = MIB;

const TIME = { unit: 'ms', costs: ['time', 'server CPU'] };

/** Milliseconds of a piece of work, and of the server's CPU in it. */
const timed = async (server: Server, work: () => Promise<void>): Promise<Sample> => {
  const cpu = threadSeconds(server.pid);
  const from = performance.now();
  await work();
  const time = performance.now() - from;
  return { time, 'server CPU': (threadSeconds(server.pid) - cpu) * 1000 };
};

const grownSince = (before: number, now: number): number => Math.max(LEAST_MIB, now - before);

const processes = (target: Target): Curve => ({
  name: 'processes',
  title: 'Processes that are started, and stay',
  axis: 'processes',
  ticks: [1, 10, 100, 1_000].map((count) => [count, String(count)]),
  sizes: [1, 3, 10, 30, 100, 300, 1_000],
  panels: [TIME, { unit: 'MiB', costs: ['memory'] }, { unit: 'ms', costs: ['time of one process/read'] }],
  measure: (count) =>
    withServer(target, 'ws', async (server) => {
      const connection = await server.connect();
      // what only the first one takes: the guard, the modules, the first FIFOs
      await (
        await connection.start('first', ['true'])
      ).closed;
      const before = residentMiB(server.pid);
      let next = 0;
      const lane = async (): Promise<void> => {
        while (next < count) await connection.start(`p${next++}`, ['sleep', '600']);
      };
      const starting = await timed(server, async () => {
        await Promise.all(Array.from({ length: Math.min(LANES, count) }, lane));
      });
      await sleep(SETTLE_MS);
      const memory = grownSince(before, residentMiB(server.pid));
      const reads: number[] = [];
      for (let read = 0; read < READS; read++) {
        const from = performance.now();
        await connection.read(`p${read % count}`);
        reads.push(performance.now() - from);
      }
      return { ...starting, memory, 'time of one process/read': median(reads) };
    }),
});

const connections = (target: Target): Curve => ({
  name: 'connections',
  title: 'Connections that are opened, and stay',
  axis: 'connections',
  ticks: [1, 10, 100, 500].map((count) => [count, String(count)]),
  sizes: [1, 3, 10, 50, 150, 500],
  panels: [TIME, { unit: 'MiB', costs: ['memory'] }],
  measure: (count) =>
    withServer(target, 'ws', async (server) => {
      await server.connect();
      await sleep(SETTLE_MS);
      const before = residentMiB(server.pid);
      const opening = await timed(server, async () => {
        for (let opened = 0; opened < count; opened++) await server.connect();
      });
      await sleep(SETTLE_MS);
      return { ...opening, memory: grownSince(before, residentMiB(server.pid)) };
    }),
});

const output = (target: Target): Curve => ({
  name: 'output',
  title: 'Output of one process',
  axis: 'bytes',
  ticks: [
    [KIB, '1 KiB'],
    [32 * KIB, '32 KiB'],
    [MIB, '1 MiB'],
    [32 * MIB, '32 MiB'],
    [GIB, '1 GiB'],
  ],
  sizes: [KIB, 32 * KIB, MIB, 8 * MIB, 64 * MIB, 256 * MIB, GIB],
  panels: [TIME, { unit: 'MiB', costs: ['memory at its peak'] }],
  measure: (bytes) =>
    withServer(target, 'ws', async (server) => {
      const connection = await server.connect();
      await (
        await connection.start('first', ['true'])
      ).closed;
      const before = residentMiB(server.pid);
      resetPeak(server.pid);
      const argv = ['head', '-c', String(bytes), '/dev/zero'];
      const printing = await timed(server, async () => {
        const remote = await connection.start('p', argv, { content: zeros });
        await remote.closed;
        remote.check(bytes);
      });
      return { ...printing, 'memory at its peak': grownSince(before, peakMiB(server.pid)) };
    }),
});

const retained = (target: Target): Curve => ({
  name: 'retained',
  title: 'Output that is retained, and read again',
  axis: 'MiB retained',
  ticks: [1, 4, 16, 64].map((mib) => [mib, String(mib)]),
  sizes: [1, 2, 4, 8, 16, 32, 64],
  panels: [TIME, { unit: 'MiB', costs: ['memory'] }],
  measure: (mib) =>
    withServer(target, 'ws', async (server) => {
      const connection = await server.connect();
      await (
        await connection.start('first', ['true'])
      ).closed;
      const before = residentMiB(server.pid);
      const argv = ['sh', '-c', `head -c ${mib * MIB} /dev/zero; exec sleep 600`];
      const remote = await connection.start('p', argv, { outputBytesCap: mib * MIB });
      await until(() => remote.bytes === mib * MIB, 'the output');
      await sleep(SETTLE_MS);
      const memory = grownSince(before, residentMiB(server.pid));
      let bytes = 0;
      const reading = await timed(server, async () => {
        for (let afterSeq = 0; bytes < mib * MIB;) {
          const page = await connection.read('p', { afterSeq, maxBytes: PAGE_BYTES });
          if (page.bytes === 0) throw new Error(`${bytes} bytes are retained, not ${mib} MiB`);
          bytes += page.bytes;
          afterSeq = page.nextSeq - 1;
        }
      });
      await connection.end(remote);
      return { ...reading, memory };
    }),
});

/** All of a server. */
export const curvesOf = (target: Target): readonly Curve[] =>
  [processes, connections, output, retained].map((curve) => curve(target));
