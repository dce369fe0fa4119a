/**
 * A million messages, right and wrong, to the built server: `npm run fuzz [-- --seed N --messages N]`. One
 * server over stdio, one over WebSockets. Exit status 1 if one of them crashes, leaves a request unanswered,
 * answers one wrongly, or holds more at the end than at the start.
 */
import { inspect, parseArgs } from 'node:util';
import { type CheckingClient, overStdio, overWebSocket } from '../support/checking-client.js';
import { cookie, runCleanups } from '../support/environment.js';
import { temporaryDirectory } from '../support/files.js';
import { nobody } from '../support/http.js';
import { cleanUpOnSignals, type Figures, grown, shown, WatchedServer } from '../support/watched-server.js';
import { letGo, type Lane, runLane, SEEDS_A_LANE, takeOver, type Tally } from './lane.js';

const RETENTION_SECONDS = 1;
const ARGS = ['--allow-http', '--retention', String(RETENTION_SECONDS), '--detached-ttl', '1'];

/** After it nothing is retained any more. */
const QUIET_MS = 3 * RETENTION_SECONDS * 1000;

/** The lanes over WebSockets; one more is over stdio. */
const WEBSOCKET_LANES = 7;

/** Before the first figures are taken, on each lane: what is compiled and pooled once is there then. */
const WARM_UP_MESSAGES = 5_000;

/** Who waits for it wants to see that it is alive. */
const PROGRESS_MS = 30_000;

/** A lane and the connection that it is on. */
type Busy = { readonly lane: Lane; client: CheckingClient };

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const initialized = async (client: CheckingClient): Promise<CheckingClient> => {
  await client.initialize();
  return client;
};

const openLanes = async (stdio: WatchedServer, url: string): Promise<Busy[]> => {
  const origin = await nobody();
  const lane = (number: number, reconnect: Lane['reconnect']): Lane => ({
    number,
    reconnect,
    world: { root: temporaryDirectory(), nobody: origin, cookie },
  });
  const connect = async (): Promise<CheckingClient> => initialized((await overWebSocket(url)).client);
  const overWebSockets = Array.from({ length: WEBSOCKET_LANES }, async (_, index) => ({
    lane: lane(index + 1, connect),
    client: await connect(),
  }));
  const first = { lane: lane(0, undefined), client: await initialized(overStdio(stdio.process)) };
  return [first, ...(await Promise.all(overWebSockets))];
};

/** So many messages on each lane, all lanes at once. */
const sendOn = async (
  lanes: readonly Busy[],
  seed: number,
  messages: number,
  tally: Tally,
): Promise<void> => {
  await Promise.all(
    lanes.map(async (busy) => {
      busy.client = await runLane(busy.lane, seed, messages, tally, busy.client);
    }),
  );
};

const figuresOf = async (servers: readonly WatchedServer[], lanes: readonly Busy[]): Promise<Figures[]> => {
  await Promise.all(lanes.map(async ({ client }) => letGo(client)));
  return Promise.all(servers.map(async (server) => server.figures(QUIET_MS)));
};

const report = (tally: Tally, seconds: number): void => {
  const codes = [...tally.codes].sort(([a], [b]) => a.localeCompare(b));
  say(`${tally.messages} messages on ${tally.connections} connections in ${seconds.toFixed(0)} s`);
  say(`answers: ${codes.map(([code, times]) => `${code}: ${times}`).join(', ')}`);
  say(`${tally.cutOff} requests were cut off with their connection`);
};

/** @returns what went wrong, in words */
const run = async (
  servers: readonly [stdio: WatchedServer, ws: WatchedServer],
  seed: number,
  messages: number,
  tally: Tally,
): Promise<string[]> => {
  const began = performance.now();
  const lanes = await openLanes(servers[0], await servers[1].url());
  const share = messages / lanes.length;
  const warmUp = Math.min(WARM_UP_MESSAGES, share / 2);
  await sendOn(lanes, seed, warmUp, tally);
  const start = await figuresOf(servers, lanes);
  // half the way to the seeds of the next lane: other messages than before
  await sendOn(lanes, seed + SEEDS_A_LANE / 2, share - warmUp, tally);
  const end = await figuresOf(servers, lanes);
  for (const server of servers) server.expectEnd();
  for (const { client } of lanes) {
    takeOver(tally, client);
    await client.end();
  }
  report(tally, (performance.now() - began) / 1000);
  return ['stdio', 'ws'].flatMap((name, index) => {
    const [before, after] = [start[index], end[index]];
    if (before === undefined || after === undefined) return [];
    say(`${name} at the start: ${shown(before)}`);
    say(`${name} at the end:   ${shown(after)}`);
    return grown(before, after).map((fault) => `${name}: ${fault}`);
  });
};

const main = async (): Promise<void> => {
  cleanUpOnSignals();
  const { values } = parseArgs({ options: { seed: { type: 'string' }, messages: { type: 'string' } } });
  const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
  const messages = Number(values.messages ?? 1_000_000);
  if (!Number.isInteger(seed) || !Number.isInteger(messages) || messages < 1)
    throw new Error('--seed and --messages are whole numbers');
  say(`seed ${seed}, ${messages} messages`);
  const servers = [
    new WatchedServer(ARGS),
    new WatchedServer(['--listen', 'ws://127.0.0.1:0', ...ARGS]),
  ] as const;
  const tally: Tally = { messages: 0, connections: 0, cutOff: 0, codes: new Map() };
  const progress = setInterval(() => say(`${tally.messages} messages so far`), PROGRESS_MS);
  const faults = await run(servers, seed, messages, tally).catch((error: unknown) => [inspect(error)]);
  clearInterval(progress);
  for (const fault of [...faults, ...servers.flatMap(({ complaints }) => complaints)]) {
    process.exitCode = 1;
    say(`FAILED: ${fault}`);
  }
  await runCleanups();
};

await main();
