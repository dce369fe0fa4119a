/**
 * What watching costs: `npm run bench:inspect`. One server for each case, in this process and over wires in
 * memory, so that a request is nothing but the work of the server: decoded, sent through its chart, answered,
 * encoded. The page is a WebSocket that takes what it is sent.
 */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Bench } from 'tinybench';
import { WebSocket } from 'ws';
import { startInspector } from '../src/inspect.js';
import { createLog } from '../src/log.js';
import { ExecServer } from '../src/server.js';
import { memoryWires } from '../src/wire/memory.js';

/** Requests in one measured piece: long enough for the clock, and short beside the 100 ms between two messages. */
const REQUESTS = 100;

type Case = {
  readonly name: string;
  /** `none`: no inspector. `nobody`: nobody looks. `page`: a page is open. `actor`: it looks at this connection. */
  readonly watched: 'none' | 'nobody' | 'page' | 'actor';
};

const cases: readonly Case[] = [
  { name: 'not inspected', watched: 'none' },
  { name: '--inspect, no page', watched: 'nobody' },
  { name: 'a page open', watched: 'page' },
  { name: 'a page on this actor', watched: 'actor' },
];

type Subject = { ask(): Promise<void>; close(): Promise<void> };

/** Resolves with a client whose `ask` sends requests and waits for their answers. */
const begin = async ({ watched }: Case): Promise<Subject> => {
  const log = createLog('silent');
  const inspector = watched === 'none' ? undefined : await startInspector(0, log);
  const server = new ExecServer(log, inspector === undefined ? {} : { onSession: inspector.onSession });
  const [ours, theirs] = memoryWires();
  server.accept(theirs);
  let answers = 0;
  let answered: (() => void) | undefined;
  ours.open({
    message: () => {
      if (--answers === 0) answered?.();
    },
    malformed: () => undefined,
    ended: () => undefined,
    closed: () => undefined,
    drain: () => undefined,
  });
  const send = (message: object): void =>
    void ours.write(Buffer.concat(ours.framing.frame(Buffer.from(JSON.stringify(message)))));
  const all = (count: number): Promise<void> =>
    new Promise((resolve) => {
      answers = count;
      answered = resolve;
    });
  const initialized = all(1);
  send({ id: 1, method: 'initialize', params: { clientName: 'bench' } });
  await initialized;
  send({ method: 'initialized' });
  if (inspector !== undefined && (watched === 'page' || watched === 'actor')) {
    const page = new WebSocket(new URL('events', inspector.viewerUrl.replace('http', 'ws')));
    page.on('message', () => undefined);
    await once(page, 'open');
    if (watched === 'actor') page.send('1');
    await wait(200); // the page has been told how things are
  }
  return {
    ask: async () => {
      const done = all(REQUESTS);
      for (let id = 0; id < REQUESTS; id++) send({ id, method: 'process/list' });
      await done;
    },
    close: async () => {
      await inspector?.close();
      await server.close('measured');
    },
  };
};

/** CPU time of this process in milliseconds: what others do on the machine doesn't count. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Microseconds of CPU time for a request, the median of one round. */
const measure = async (watched: Case): Promise<number> => {
  const subject = await begin(watched);
  const bench = new Bench({ time: 1_000, warmupTime: 300, now: cpuMs });
  bench.add(watched.name, () => subject.ask());
  await bench.run();
  await subject.close();
  const result = bench.tasks[0]?.result;
  if (result === undefined || !('latency' in result))
    throw new Error(`${watched.name} could not be measured`);
  return (result.latency.p50 * 1000) / REQUESTS;
};

/**
 * The cases take turns, and the first round doesn't count: what is measured first finds the process in another shape
 * than what comes later. The best of the others is told.
 */
const ROUNDS = 4;

const best = cases.map(() => Infinity);
for (let round = 0; round < ROUNDS; round++) {
  for (const [at, watched] of cases.entries()) {
    const each = await measure(watched);
    if (round > 0) best[at] = Math.min(best[at] ?? Infinity, each);
  }
}
for (const [at, { name }] of cases.entries()) {
  const each = best[at] ?? NaN;
  const columns = [
    name.padEnd(22),
    `${Math.round(1e6 / each)} requests per CPU second`.padStart(32),
    `${each.toFixed(1)} µs each`.padStart(16),
    `× ${(each / (best[0] ?? NaN)).toFixed(2)}`.padStart(9),
  ];
  process.stdout.write(`${columns.join('')}\n`);
}
