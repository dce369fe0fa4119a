/**
 * Churn on one server that listens: `npm run soak [-- --minutes N]`. Clients come and go in all the ways there
 * are, and check every byte that they get. Exit status 1 if one of them got something else than it should, or
 * if the server holds more at the end than at the start, each after a quiet time.
 */
import { inspect, parseArgs } from 'node:util';
import { runCleanups } from '../support/environment.js';
import { temporaryDirectory } from '../support/files.js';
import { cleanUpOnSignals, type Figures, grown, shown, WatchedServer } from '../support/watched-server.js';
import { scenarios } from './scenarios.js';

const RETENTION_SECONDS = 1;
const DETACHED_SECONDS = 2;
const ARGS =
  `--listen ws://127.0.0.1:0 --retention ${RETENTION_SECONDS} --detached-ttl ${DETACHED_SECONDS}`.split(' ');

/** After it no session is waited for and no process is retained; the rest is for what was killed to be gone. */
const QUIET_MS = (RETENTION_SECONDS + DETACHED_SECONDS + 5) * 1000;

/** Clients at the same time. */
const CLIENTS = 8;

const MINUTE_MS = 60_000;

/** The server has seen everything by then: what is compiled and pooled once is there. */
const WARM_UP_MS = MINUTE_MS;

/** What the allocator keeps of one run varies by so much; what leaks outside of the heap shows here only. */
const RESIDENT_TOLERANCE_MIB = 96;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

type Tally = Map<string, number>;

/** Clients one after the other until this time: each lane goes through the scenarios in turn. */
const lane = async (
  server: { url: string; directory: string },
  first: number,
  until: number,
  tally: Tally,
): Promise<void> => {
  const all = [...scenarios];
  for (let turn = first; performance.now() < until; turn++) {
    const [name, scenario] = all[turn % all.length] ?? [];
    if (name === undefined || scenario === undefined) return;
    try {
      await scenario(server);
    } catch (error) {
      throw new Error(`scenario ${name}`, { cause: error });
    }
    tally.set(name, (tally.get(name) ?? 0) + 1);
  }
};

const churn = async (server: { url: string; directory: string }, ms: number, tally: Tally): Promise<void> => {
  const until = performance.now() + ms;
  const lanes = Array.from({ length: CLIENTS }, async (_, first) => lane(server, first, until, tally));
  await Promise.all(lanes);
};

const rounds = (tally: Tally): string => [...tally].map(([name, times]) => `${name} ${times}`).join(', ');

const compared = (start: Figures, end: Figures): string[] => [
  ...grown(start, end),
  ...(end.residentMiB > start.residentMiB + RESIDENT_TOLERANCE_MIB
    ? [`resident: ${start.residentMiB.toFixed(0)} MiB at the start, ${end.residentMiB.toFixed(0)} at the end`]
    : []),
];

/** @returns what went wrong, in words */
const run = async (watched: WatchedServer, minutes: number): Promise<string[]> => {
  const server = { url: await watched.url(), directory: temporaryDirectory() };
  const tally: Tally = new Map();
  await churn(server, WARM_UP_MS, tally);
  const start = await watched.figures(QUIET_MS);
  say(`at the start: ${shown(start)}`);
  for (let minute = 1; minute <= minutes; minute++) {
    await churn(server, MINUTE_MS, tally);
    say(`minute ${minute}: ${shown(await watched.figures(0))}`);
  }
  const end = await watched.figures(QUIET_MS);
  say(`at the end:   ${shown(end)}`);
  say(`clients: ${rounds(tally)}`);
  return compared(start, end);
};

const main = async (): Promise<void> => {
  cleanUpOnSignals();
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
  const minutes = Number(values.minutes);
  if (!Number.isInteger(minutes) || minutes < 1) throw new Error('--minutes is a whole number');
  say(`a minute to warm up, then ${minutes}`);
  const watched = new WatchedServer(ARGS);
  const faults = await run(watched, minutes).catch((error: unknown) => [inspect(error)]);
  for (const fault of [...faults, ...watched.complaints]) {
    process.exitCode = 1;
    say(`FAILED: ${fault}`);
  }
  await runCleanups();
};

await main();
