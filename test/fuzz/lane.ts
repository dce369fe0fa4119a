import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { type Method, methods } from '../../src/protocol.js';
import type { CheckingClient } from '../support/checking-client.js';
import { makeTree } from '../support/files.js';
import { idleCall, malformed, requestOf, type Unnumbered } from './messages.js';
import { anyCall, wrongTexts } from './params.js';
import { handleIds, processIds, type World } from './world.js';

/** So many messages are sent at once; then all answers are waited for. */
const BATCH = 250;

/** Batches on one connection that can be had again. */
const BATCHES_A_CONNECTION = 8;

/** While the last processes are waited for to be evicted. */
const LOOK_EVERY_MS = 50;

/** Seeds of batches; far enough apart that no two lanes use the same. */
export const SEEDS_A_LANE = 1_000_000;

const isMethod = (name: string): name is Method => Object.hasOwn(methods, name);

/** Each start is a fork; the other methods are to have most of the time. */
const isStart = (method: Method): boolean => method === 'process/start' || method === 'command/exec';

const message = (world: World): fc.Arbitrary<Unnumbered> => {
  const names = Object.keys(methods).filter(isMethod);
  const requests = anyCall(
    world,
    names.filter((method) => !isStart(method)),
  );
  return fc.oneof(
    { weight: 80, arbitrary: requests.chain(requestOf) },
    { weight: 4, arbitrary: anyCall(world, names.filter(isStart)).chain(requestOf) },
    { weight: 6, arbitrary: idleCall.chain(requestOf) },
    { weight: 10, arbitrary: malformed },
  );
};

export type Lane = {
  /** A new connection; undefined where there is only one. */
  readonly reconnect: (() => Promise<CheckingClient>) | undefined;
  readonly world: World;
  /** From 0; makes its messages others than those of the other lanes. */
  readonly number: number;
};

export type Tally = {
  messages: number;
  connections: number;
  /** Requests whose connection was cut before they were answered. */
  cutOff: number;
  readonly codes: Map<string, number>;
};

/** Adds what was counted on a connection that is over. */
export const takeOver = (tally: Tally, client: CheckingClient): void => {
  tally.connections++;
  for (const [code, times] of client.codes) tally.codes.set(code, (tally.codes.get(code) ?? 0) + times);
};

/** The tree as it was at first. A request that was cut off may still be at work in it: then not quite. */
const resetTree = ({ root }: World): void => {
  try {
    for (const name of fs.readdirSync(root))
      fs.rmSync(path.join(root, name), { recursive: true, force: true, maxRetries: 3 });
    makeTree(root, { 'a/b/file': 'content', 'b/c': null, file: 'x', link: '->a', loop: '->loop' });
  } catch {
    // the requests don't depend on it
  }
};

/** Sends a batch. Answers how many of its messages are malformed. */
const sendBatch = (client: CheckingClient, batch: readonly Unnumbered[], from: number): number => {
  let bad = 0;
  for (const [index, unnumbered] of batch.entries()) {
    const one = unnumbered(from + index);
    if (one.kind === 'malformed') bad++;
    else void client.expectAnswer(one.id, one.method, one.params);
    client.raw(one.text);
  }
  return bad;
};

/**
 * Lets go of what a client may hold as long as its connection lasts: open files, and ended processes whose
 * window is full, which are retained until their output is acknowledged.
 */
export const letGo = async (client: CheckingClient): Promise<void> => {
  await Promise.all([...handleIds, ...wrongTexts].map((handleId) => client.call('fs/close', { handleId })));
  for (let left = true; left; await sleep(LOOK_EVERY_MS)) {
    const { processes } = await client.request('process/list');
    left = Array.isArray(processes) && processes.length > 0;
    // each lets another window go
    const acks = processIds.map((processId) =>
      client.call('process/ack', { processId, bytes: Number.MAX_SAFE_INTEGER }),
    );
    await Promise.all(acks);
  }
};

/** Ends a connection in one of the ways in which connections end. */
const endSomehow = async (client: CheckingClient, how: number, tally: Tally): Promise<void> => {
  if (how === 0) await client.end();
  else if (how === 1) {
    client.raw('{"method":"exit"}');
    await client.until(() => client.closed, 'the end after a violation');
  } else {
    tally.cutOff += client.unanswered.length;
    await client.cut();
  }
};

/**
 * Sends messages on one connection after the other, and checks that each is answered.
 *
 * @throws Error at the first message that is not answered as it must be, with the seed of its batch
 */
export const runLane = async (
  lane: Lane,
  seed: number,
  messages: number,
  tally: Tally,
  first: CheckingClient,
): Promise<CheckingClient> => {
  const arbitrary = message(lane.world);
  let client = first;
  let sent = client.sent;
  for (let batch = 0, total = 0; total < messages; batch++) {
    const batchSeed = seed + lane.number * SEEDS_A_LANE + batch;
    resetTree(lane.world);
    try {
      const before = client.malformed;
      const bad = sendBatch(client, fc.sample(arbitrary, { seed: batchSeed, numRuns: BATCH }), batch * BATCH);
      const isLast =
        lane.reconnect !== undefined && batch % BATCHES_A_CONNECTION === BATCHES_A_CONNECTION - 1;
      const how = Math.floor(batch / BATCHES_A_CONNECTION) % 4;
      // cut off amid its requests
      const isCutOff = isLast && how === 3;
      if (!isCutOff) {
        await client.settle(processIds);
        if (client.malformed - before !== bad)
          client.faults.push(`${bad} malformed messages, ${client.malformed - before} answers to them`);
      }
      if (client.faults.length > 0) throw new Error(client.faults.slice(0, 10).join('\n'));
      total += client.sent - sent;
      tally.messages += client.sent - sent;
      sent = client.sent;
      if (isLast && lane.reconnect !== undefined) {
        await endSomehow(client, how, tally);
        takeOver(tally, client);
        client = await lane.reconnect();
        sent = 0;
      }
    } catch (error) {
      throw new Error(`lane ${lane.number}, batch ${batch} (seed ${batchSeed})`, { cause: error });
    }
  }
  return client;
};
