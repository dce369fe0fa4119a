/** Processes that come and go, and processes that are just there. */
import { setTimeout as sleep } from 'node:timers/promises';
import { latency, metered } from '../meter.js';
import { residentMiB } from '../proc.js';
import { withServer } from '../targets.js';
import { scaled, type Workload } from './workload.js';

/** `true`, over and over, so many at a time. */
const spawns = (width: number, tty: boolean): Workload => ({
  listen: 'ws',
  run: (target, scale) =>
    withServer(target, 'ws', async (server) => {
      const connection = await server.connect();
      const count = scaled(width === 1 ? 200 : 640, scale, width);
      const times: number[] = [];
      let next = 0;
      const lane = async (): Promise<void> => {
        while (next < count) {
          const remote = await connection.start(`p${next++}`, ['true'], { tty });
          await remote.closed;
          remote.check(0);
          times.push(performance.now() - remote.startedAt);
          connection.remotes.delete(remote.id);
        }
      };
      const spent = await metered(server.pid, async () => {
        await Promise.all(Array.from({ length: width }, lane));
      });
      return {
        'processes/s': count / spent.seconds,
        ...latency('start to closed', times),
        'server CPU ms each': (spent.server * 1000) / count,
        'peak MiB': spent.peakMiB,
      };
    }),
});

/** Memory is looked at when what starting took has been given back. */
const SETTLE_MS = 500;
const LANES = 32;
const READS = 300;

/** Sleeping processes: what each takes, and how quick a request is among them. */
const idle = (tty: boolean): Workload => ({
  listen: 'ws',
  run: (target, scale) =>
    withServer(target, 'ws', async (server) => {
      const connection = await server.connect();
      const count = scaled(1_000, scale, 50);
      const before = residentMiB(server.pid);
      const from = performance.now();
      let next = 0;
      await Promise.all(
        Array.from({ length: LANES }, async () => {
          while (next < count) await connection.start(`p${next++}`, ['sleep', '600'], { tty });
        }),
      );
      const startMs = performance.now() - from;
      await sleep(SETTLE_MS);
      const grown = residentMiB(server.pid) - before;
      const times: number[] = [];
      for (let read = 0; read < READS; read++) {
        const at = performance.now();
        await connection.read(`p${read % count}`);
        times.push(performance.now() - at);
      }
      const ending = performance.now();
      // one after the other: the peer does not come to an end with a thousand at once
      for (const { id } of connection.remotes.values())
        await connection.call('process/terminate', { processId: id });
      await Promise.all([...connection.remotes.values()].map(({ closed }) => closed));
      return {
        'KiB a process': (grown * 1024) / count,
        ...latency('read', times),
        'start all s': startMs / 1000,
        'end all s': (performance.now() - ending) / 1000,
      };
    }),
});

export const processWorkloads: Readonly<Record<string, Workload>> = {
  'spawn-pipe': spawns(1, false),
  'spawn-tty': spawns(1, true),
  'spawn32-pipe': spawns(32, false),
  'spawn32-tty': spawns(32, true),
  'idle-pipe': idle(false),
  'idle-tty': idle(true),
};
