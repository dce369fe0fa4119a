/** A keystroke into a raw terminal, and back. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../load/connection.js';
import type { Remote } from '../load/remote.js';
import { latency, MIB, until } from '../meter.js';
import { withServer } from '../targets.js';
import { scaled, type Workload } from './workload.js';

const READY = 'ready\n';
/** A flood runs evenly by then. */
const WARM_BYTES = 32 * MIB;

/** A program that echoes each byte, in a raw terminal. */
export const startEcho = async (connection: Connection): Promise<Remote> => {
  const argv = ['sh', '-c', 'stty raw -echo; echo ready; exec cat'];
  const remote = await connection.start('echo', argv, { tty: true });
  await until(() => remote.bytes >= READY.length, 'the echo');
  return remote;
};

/** Milliseconds from the write until the byte is back. */
export const echoOnce = async (connection: Connection, remote: Remote): Promise<number> => {
  const from = performance.now();
  const echoed = new Promise<number>((resolve) => {
    remote.onOutput = () => resolve(performance.now() - from);
  });
  await connection.write(remote.id, 'x');
  return echoed;
};

const echo = (flood: 'none' | 'same' | 'other'): Workload => ({
  listen: 'ws',
  run: (target, scale) =>
    withServer(target, 'ws', async (server) => {
      const connection = await server.connect();
      const remote = await startEcho(connection);
      const flooded = flood === 'other' ? await server.connect() : connection;
      const flooding = flood === 'none' ? undefined : await flooded.start('flood', ['cat', '/dev/zero']);
      await until(() => flooding === undefined || flooding.bytes > WARM_BYTES, 'the flood');
      const times: number[] = [];
      const before = flooding?.bytes ?? 0;
      const from = performance.now();
      for (let round = scaled(flood === 'none' ? 600 : 400, scale, 100); round > 0; round--) {
        times.push(await echoOnce(connection, remote));
      }
      const seconds = (performance.now() - from) / 1000;
      if (flooding === undefined) return latency('echo', times);
      const flooder = { 'flood MiB/s': (flooding.bytes - before) / MIB / seconds };
      await flooded.end(flooding);
      return { ...latency('echo', times), ...flooder };
    }),
});

const LANES = 4;
const PAUSE_MS = 5;

/** The same while another client starts one process after the other, some at a time. */
const echoWhileOthersStart: Workload = {
  listen: 'ws',
  run: (target, scale) =>
    withServer(target, 'ws', async (server) => {
      const connection = await server.connect();
      const spawner = await server.connect();
      const remote = await startEcho(connection);
      const over = new AbortController();
      let started = 0;
      const from = performance.now();
      const spawning = Array.from({ length: LANES }, async (_, lane) => {
        for (let run = 0; !over.signal.aborted; run++) {
          const spawned = await spawner.start(`${lane}-${run}`, ['true']);
          await spawned.closed;
          spawned.check(0);
          spawner.remotes.delete(spawned.id);
          started++;
        }
      });
      const times: number[] = [];
      for (let round = scaled(200, scale, 50); round > 0; round--) {
        times.push(await echoOnce(connection, remote));
        await sleep(PAUSE_MS);
      }
      const seconds = (performance.now() - from) / 1000;
      over.abort();
      await Promise.all(spawning);
      return { ...latency('echo', times), 'processes/s': started / seconds };
    }),
};

export const echoWorkloads: Readonly<Record<string, Workload>> = {
  'echo-idle': echo('none'),
  'echo-flood': echo('same'),
  'echo-flood-other': echo('other'),
  'echo-spawn': echoWhileOthersStart,
};
