import { expect } from 'chai';
import { once } from 'node:events';
import { startParams } from '../support/client.js';
import type { ProcessEventName, ProcessState } from './process-events.js';
import type { Path } from './paths.js';
import type { ProcessWorld } from './process-world.js';

/** What must be true at the end of a path, by what docs/protocol.md says. */
type Check = (world: ProcessWorld, path: Path<ProcessState, ProcessEventName>) => Promise<void>;

const CHUNK = 'eA==';

/** process/list among what is asked. */
const queueList = (world: ProcessWorld, expected: object): void => {
  world.queue('process/list', {}, ({ result }) => {
    const { processes = [] } = { ...result };
    expect(processes).to.be.an('array');
    const known = Array.isArray(processes) ? processes : [];
    expect(known.find(({ processId }) => processId === world.processId)).to.include(expected);
  });
};

const queueRead = (world: ProcessWorld, expected: object): void => {
  world.queue('process/read', { processId: world.processId }, ({ result }) =>
    expect(result, 'process/read').to.include(expected),
  );
};

const queueTaken = (world: ProcessWorld): void => {
  const params = startParams(world.processId, ['true']);
  world.queueRefused('process/start', params, `process ${world.processId} already exists`);
};

/** Input is refused: without a writeId in an error, with one in a result. */
const queueStdinClosed = (world: ProcessWorld): void => {
  const message = `stdin is closed for process ${world.processId}`;
  world.queueRefused('process/write', { chunk: CHUNK }, message);
  const result = { accepted: false, status: 'stdinClosed' };
  world.queueAnswered('process/write', { chunk: CHUNK, writeId: 'late' }, result);
  // a write that was seen has the same answer
  world.queueAnswered('process/write', { chunk: CHUNK, writeId: 'late' }, result);
};

/** What is done to no effect, or only to what is left of it. */
const queueControl = (world: ProcessWorld): void => {
  const size = { rows: 30, cols: 90 };
  world.queueAnswered('process/signal', { signal: 'windowChange' }, {});
  world.queueAnswered('process/ack', { bytes: 1 }, {});
  if (world.tty) world.queueAnswered('process/resize', size, {});
  else world.queueRefused('process/resize', size, `process ${world.processId} has no terminal to resize`);
};

/** All that is asked of one that has exited. */
const queueAfterExit = (world: ProcessWorld, { context }: ProcessState, closed: boolean): void => {
  const { exitCode, signal } = world.exit;
  queueList(world, { state: closed ? 'retained' : 'exited', tty: world.tty, exitCode });
  const reason = context.endedBy ?? 'exited';
  queueRead(world, { exited: true, exitCode, signal, reason, closed, failure: null });
  queueStdinClosed(world);
  queueControl(world);
  world.queueAnswered('process/closeStdin', {}, {});
  queueTaken(world);
};

/** It was killed, and was told so; its output is closed, though somebody holds it whom no kill has reached. */
const endsKilled = async (world: ProcessWorld, state: ProcessState): Promise<void> => {
  await world.flush();
  await world.until('closed');
  expect(world.isAlive('holder'), 'whom no kill reaches goes on').to.equal(true);
  queueAfterExit(world, state, true);
  await world.flush();
};

const isRetained: Check = async (world, { state }) => {
  // of what was not told to a client that was away it only knows by asking
  await world.until('closed');
  queueAfterExit(world, state, true);
  world.queueAnswered('process/terminate', {}, { running: false });
  await world.flush();
};

const isGivenUp = async (world: ProcessWorld): Promise<void> => {
  const message = `unknown session id ${world.sessionId}`;
  expect(await world.resume()).to.deep.equal({ code: -32600, message });
};

/** Each state of the chart by its path in it. */
export const processStates: Readonly<Record<string, Check>> = {
  'live.starting': async (world, { steps }) => {
    const { processId } = world;
    // after a detour it may have started
    if (steps.length === 0) {
      const starting = `process id ${processId} is starting`;
      queueList(world, { state: 'starting', pid: null, exitCode: null, tty: world.tty });
      world.queueRefused('process/read', {}, starting);
      world.queueRefused('process/write', { chunk: CHUNK }, starting);
      const result = { accepted: false, status: 'starting' };
      world.queueAnswered('process/write', { chunk: CHUNK, writeId: 'w' }, result);
      world.queueAnswered('process/signal', { signal: 'windowChange' }, {});
      world.queueRefused('process/resize', { rows: 30, cols: 90 }, starting);
      world.queueRefused('process/closeStdin', {}, starting);
      world.queueRefused('process/ack', { bytes: 0 }, starting);
      queueTaken(world);
      await world.flush();
      expect((await world.startAnswer()).result).to.deep.equal({ processId, sandboxType: 'none' });
    }
    // nothing of that did it any harm
    await world.ready();
    queueList(world, { state: 'running', exitCode: null });
    await world.flush();
  },

  'live.running': async (world, { state, steps }) => {
    const { context } = state;
    // one that was killed is asked in the turn in which that was asked for; later it may be gone at any moment
    if (!context.killed || steps.at(-1)?.name === 'process.terminate') {
      queueList(world, { state: 'running', exitCode: null, tty: world.tty });
      queueRead(world, { exited: false, exitCode: null, signal: null, reason: null, closed: false });
      if (context.stdinOpen) {
        const accepted = { accepted: true, status: 'accepted' };
        world.queueAnswered('process/write', { chunk: CHUNK }, accepted);
        world.queueAnswered('process/write', { chunk: CHUNK, writeId: 'w' }, accepted);
        world.queueAnswered('process/write', { chunk: CHUNK, writeId: 'w' }, accepted);
      } else queueStdinClosed(world);
      queueControl(world);
      queueTaken(world);
      world.queueAnswered('process/closeStdin', {}, {});
      if (!world.tty) queueStdinClosed(world);
      await world.flush();
    }
    if (context.killed) await endsKilled(world, state);
    else expect(world.isAlive('child')).to.equal(true);
  },

  'live.ending': async (world, { state: { context } }) => {
    await world.gone('child');
    if (!context.attached) {
      await isGivenUp(world);
      return;
    }
    const told = await world.client.exited(world.processId);
    expect(told).to.include({ signal: 'SIGKILL', reason: context.endedBy });
    await world.client.processClosed(world.processId);
    expect(world.client.about(world.processId).at(-1)?.method).to.equal('process/closed');
  },

  'live.exited.draining': async (world, { state }) => {
    queueAfterExit(world, state, false);
    await world.flush();
    const { nextSeq } = await world.client.read(world.processId);
    world.tellHolder('print');
    const { chunks } = await world.client.read(world.processId, { afterSeq: nextSeq - 1, waitMs: 10_000 });
    expect(chunks[0]).to.deep.include({ seq: nextSeq });
    expect(world.isAlive('member'), 'what is left of its group goes on').to.equal(true);
  },

  'live.exited.closing': async (world, { state }) => {
    if (state.context.attached) queueAfterExit(world, state, false);
    await endsKilled(world, state);
  },

  'live.retained.keeping': isRetained,
  'live.retained.held': isRetained,

  evicted: async (world, path) => {
    const { processId, client } = world;
    const end = path.steps.find(({ name }) => name === 'session.end');
    if (end?.before.context.attached === false) {
      await isGivenUp(world);
      return;
    }
    if (end !== undefined) {
      if (client.server?.exitCode === null) await once(client.server, 'exit');
      expect(client.server?.exitCode).to.equal(0);
      for (const part of ['child', 'member'] as const) await world.gone(part);
      return;
    }
    const unknown = `unknown process id ${processId}`;
    world.queue('process/list', {}, ({ result }) =>
      expect(JSON.stringify(result)).to.not.include(JSON.stringify(processId)),
    );
    world.queueRefused('process/read', {}, unknown);
    world.queueRefused('process/write', { chunk: CHUNK }, unknown);
    const result = { accepted: false, status: 'unknownProcess' };
    world.queueAnswered('process/write', { chunk: CHUNK, writeId: 'w' }, result);
    world.queueAnswered('process/signal', { signal: 'windowChange' }, {});
    world.queueRefused('process/resize', { rows: 30, cols: 90 }, unknown);
    world.queueRefused('process/closeStdin', {}, unknown);
    world.queueRefused('process/ack', { bytes: 0 }, unknown);
    world.queueAnswered('process/terminate', {}, { running: false });
    await world.flush();
    // the id is free
    const again = world.client.messages.length;
    await client.start(processId, ['true']);
    await client.until(
      () =>
        client.messages
          .slice(again)
          .some(({ method, params }) => method === 'process/closed' && params?.['processId'] === processId),
      `the end of another ${processId}`,
    );
  },
};
