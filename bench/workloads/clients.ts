/** Clients that come, that don't read, and that read again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { zeros } from '../load/pattern.js';
import { GIB, latency, metered, MIB, throughput, until } from '../meter.js';
import { cpuSeconds, peakMiB, residentMiB, resetPeak, threadSeconds, writtenByChildren } from '../proc.js';
import { type Listen, withServer } from '../targets.js';
import { echoOnce, startEcho } from './echo.js';
import { scaled, type Workload } from './workload.js';

const SETTLE_MS = 200;

const connections: Workload = {
  listen: 'ws',
  run: (target, scale) =>
    withServer(target, 'ws', async (server) => {
      await server.connect();
      const count = scaled(500, scale, 20);
      await sleep(SETTLE_MS);
      const before = residentMiB(server.pid);
      const times: number[] = [];
      const spent = await metered(server.pid, async () => {
        for (let opened = 0; opened < count; opened++) {
          const from = performance.now();
          await server.connect();
          times.push(performance.now() - from);
        }
      });
      await sleep(SETTLE_MS);
      return {
        'connections/s': count / spent.seconds,
        'KiB each': ((residentMiB(server.pid) - before) * 1024) / count,
        ...latency('connect to initialized', times),
        'server CPU ms each': (spent.server * 1000) / count,
      };
    }),
};

const STALL_MS = 2_000;
const ECHOES = 200;

/** A client stops reading amid a flood: memory stays bounded, the program waits, nobody else does, nothing is lost. */
const slow: Workload = {
  listen: 'ws',
  run: (target, scale) =>
    withServer(target, 'ws', async (server) => {
      const connection = await server.connect();
      const other = await server.connect();
      const bytes = Math.floor(GIB * scale);
      const echo = await startEcho(other);
      const before = residentMiB(server.pid);
      resetPeak(server.pid);
      const argv = ['head', '-c', String(bytes), '/dev/zero'];
      const remote = await connection.start('p', argv, { content: zeros });
      await until(() => remote.bytes > 0, 'the flood');
      connection.pause();
      await sleep(STALL_MS);
      const taken = writtenByChildren(server.pid) - remote.bytes;
      const cpu = cpuSeconds(server.pid);
      const from = performance.now();
      const times: number[] = [];
      for (let round = 0; round < ECHOES; round++) times.push(await echoOnce(other, echo));
      const stalledCpu = (cpuSeconds(server.pid) - cpu) / ((performance.now() - from) / 1000);
      const growth = peakMiB(server.pid) - before;
      connection.resume();
      await remote.closed;
      remote.check(bytes);
      return {
        'growth while stalled MiB': growth,
        'taken while stalled MiB': taken / MIB,
        'CPUs while stalled': stalledCpu,
        ...latency('echo of another', times),
        'peak MiB': peakMiB(server.pid),
      };
    }),
};

/** process/read of a whole retained MiB, again and again. */
const read = (listen: Listen): Workload => ({
  listen,
  run: (target, scale) =>
    withServer(target, listen, async (server) => {
      const connection = await server.connect();
      const argv = ['sh', '-c', `head -c ${MIB} /dev/zero; exec sleep 600`];
      const remote = await connection.start('p', argv);
      await until(() => remote.bytes === MIB, 'a MiB');
      const times: number[] = [];
      let bytes = 0;
      const spent = await metered(server.pid, async () => {
        for (let round = scaled(500, scale, 20); round > 0; round--) {
          const from = performance.now();
          const { bytes: got } = await connection.read('p');
          times.push(performance.now() - from);
          bytes += got;
        }
      });
      await connection.end(remote);
      if (bytes === 0) throw new Error('nothing was retained');
      const retained = { 'retained KiB': bytes / times.length / 1024 };
      return { ...throughput(bytes, spent), ...latency('read', times), ...retained };
    }),
});

/** From the fork until initialize is answered, and what it takes in the end. */
const cold = (listen: Listen): Workload => ({
  listen,
  run: (target) =>
    withServer(target, listen, async (server) => {
      await server.connect();
      const ms = performance.now() - server.launchedAt;
      const cpuMs = threadSeconds(server.pid) * 1000;
      await sleep(SETTLE_MS);
      return {
        'launch to initialized ms': ms,
        'server CPU ms': cpuMs,
        'resident MiB': residentMiB(server.pid),
      };
    }),
});

export const clientWorkloads: Readonly<Record<string, Workload>> = {
  connections,
  slow,
  read: read('ws'),
  'stdio-read': read('stdio'),
  cold: cold('stdio'),
  'cold-ws': cold('ws'),
};
