import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds, peakMiB, resetPeak } from './proc.js';
import { percentile } from './statistics.js';
import type { Figures } from './workloads/workload.js';

export const MIB = 1024 * 1024;
export const GIB = 1024 * MIB;

/** What a piece of work took. */
export type Spent = {
  readonly seconds: number;
  /** CPU seconds of the server alone, and of this client. */
  readonly server: number;
  readonly client: number;
  /** Of the server, in the meantime. */
  readonly peakMiB: number;
};

/** Runs something, and tells what it took of the server with this pid. */
export const metered = async (pid: number, work: () => Promise<void>): Promise<Spent> => {
  resetPeak(pid);
  const server = cpuSeconds(pid);
  const client = process.cpuUsage();
  const from = performance.now();
  await work();
  const seconds = (performance.now() - from) / 1000;
  const { user, system } = process.cpuUsage(client);
  return {
    seconds,
    server: cpuSeconds(pid) - server,
    client: (user + system) / 1e6,
    peakMiB: peakMiB(pid),
  };
};

/** What moving so many bytes took. */
export const throughput = (bytes: number, { seconds, server, client, peakMiB: peak }: Spent): Figures => ({
  'MiB/s': bytes / MIB / seconds,
  'server CPU s/GiB': (server * GIB) / bytes,
  'client CPU s/GiB': (client * GIB) / bytes,
  'peak MiB': peak,
});

/** The middle and the slow end of durations. */
export const latency = (name: string, times: readonly number[]): Figures => ({
  [`${name} p50 ms`]: percentile(times, 0.5),
  [`${name} p99 ms`]: percentile(times, 0.99),
});

const PATIENCE_MS = 60_000;

/** Looks every millisecond. Rejects after a minute. */
export const until = async (condition: () => boolean, what: string): Promise<void> => {
  const end = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`waited a minute for ${what}`);
    await sleep(1);
  }
};
