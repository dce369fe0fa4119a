import { expect } from 'chai';
import type { SnapshotFrom } from 'xstate';
import type { ProcessEvent, processMachine } from '../../machines/process.js';
import { terminate } from '../support/requests.js';
import { type Step, TooSlow } from './paths.js';
import { EXIT, KILLED, type ProcessWorld } from './process-world.js';
import { evicted } from './sessions.js';

export type ProcessState = SnapshotFrom<typeof processMachine>;

export type ProcessEventEntry = {
  readonly event: ProcessEvent;
  /** Can it come about in this state, in reality? */
  readonly comes: (state: ProcessState) => boolean;
  /** Makes it come about, and waits for what tells of it. */
  readonly cause: (world: ProcessWorld, step: Step<ProcessState, unknown>) => Promise<void>;
  /** What process/start has to say so that it can. */
  readonly start?: (world: Pick<ProcessWorld, 'shortMs'>) => object;
};

const isStarting = (state: ProcessState): boolean => state.matches({ live: 'starting' });
const isRunning = (state: ProcessState): boolean => state.matches({ live: 'running' });
const isDraining = (state: ProcessState): boolean => state.matches({ live: { exited: 'draining' } });
const isClosing = (state: ProcessState): boolean => state.matches({ live: { exited: 'closing' } });
const isKeeping = (state: ProcessState): boolean => state.matches({ live: { retained: 'keeping' } });
const isEnding = (state: ProcessState): boolean => state.matches({ live: 'ending' });
const isHeard = ({ context }: ProcessState): boolean => context.attached;
/** Nobody has made it end yet. */
const isLeftAlone = ({ context }: ProcessState): boolean => !context.killed && context.endedBy === null;
/** Its input can be broken: a terminal's can't. */
const hasPipe = (state: ProcessState): boolean =>
  isRunning(state) &&
  isHeard(state) &&
  isLeftAlone(state) &&
  state.context.stdinOpen &&
  !state.context.launch.tty;

/** Reasons that come by themselves. */
const DEADLINES: ReadonlySet<unknown> = new Set(['timeout', 'idle']);

/** A grace that isn't over before the path is. */
const LONG_GRACE_MS = 60_000;

/** More than is accepted in front of a child that doesn't read, in base64. */
const MUCH_INPUT = Buffer.alloc(3 * 1024 * 1024).toString('base64');

/** Its group is killed: in a running process the exit tells of it, later the end of the group. */
const killed = async (world: ProcessWorld, { before }: Step<ProcessState, unknown>): Promise<void> => {
  if (isDraining(before)) {
    await world.gone('member');
    return;
  }
  world.exit = KILLED;
  await world.gone('child');
};

/**
 * Every event by which the path of a process can go on, and how it is brought about for a real one. Under the
 * name of its type, unless there are several of one type.
 */
export const processEvents = {
  'child.spawned': {
    event: { type: 'child.spawned', pid: 7 },
    comes: isStarting,
    cause: async (world, { before }) => {
      await world.flush();
      await world.ready();
      if (!isHeard(before)) return; // the answer goes nowhere
      const { result } = await world.startAnswer();
      expect(result).to.deep.equal({ processId: world.processId, sandboxType: 'none' });
    },
  },
  'child.failed': {
    event: { type: 'child.failed', failure: { kind: 'spawnNotFound', message: 'cannot' } },
    comes: (state) => isStarting(state) && isHeard(state),
    cause: async (world) => {
      await world.flush();
      const { error } = await world.startAnswer();
      expect(error).to.deep.include({ code: -32603, data: { kind: 'spawnNotFound' } });
    },
  },
  'child.exited': {
    event: { type: 'child.exited', ...EXIT },
    comes: (state) => isRunning(state) || isEnding(state),
    cause: async (world, { before }) => {
      await world.flush();
      if (!before.context.killed) world.tellChild('end');
      await world.gone('child');
      if (!isHeard(before)) return; // nobody is told
      const told = await world.client.exited(world.processId);
      const reason = before.context.endedBy ?? 'exited';
      if (told['reason'] !== reason && DEADLINES.has(told['reason'])) {
        throw new TooSlow('the deadline came first');
      }
      expect(told).to.include({ ...world.exit, reason });
    },
  },
  'child.closed': {
    event: { type: 'child.closed' },
    comes: (state) => isDraining(state) || isClosing(state),
    cause: async (world, { before }) => {
      await world.flush();
      // of one whose group was killed the server closes the output by itself
      if (!before.context.killed) world.tellHolder('end');
      if (isHeard(before)) await world.client.processClosed(world.processId);
      else if (!before.context.killed) await world.gone('holder');
      world.closedAt = Date.now();
    },
  },
  'child.stdinBroken': {
    event: { type: 'child.stdinBroken' },
    comes: hasPipe,
    // while a write waits: that is refused, `child.refusedWrite`, and those after it
    cause: async (world) => {
      const refusal = `stdin is closed for process ${world.processId}`;
      world.queueRefused('process/write', { chunk: MUCH_INPUT }, refusal);
      const refused = world.flush();
      world.tellChild('closeStdin');
      await refused;
    },
  },
  'child.wrote': {
    event: { type: 'child.wrote' },
    comes: (state) => isRunning(state) && isHeard(state) && isLeftAlone(state) && state.context.stdinOpen,
    cause: async (world) => {
      world.queueAnswered('process/write', { chunk: 'eA==' }, { accepted: true, status: 'accepted' });
      await world.flush();
    },
  },
  'output.appended': {
    event: { type: 'output.appended' },
    comes: (state) => isHeard(state) && (isDraining(state) || (isRunning(state) && isLeftAlone(state))),
    cause: async (world) => {
      const { nextSeq } = await world.client.read(world.processId);
      const reading = world.client.read(world.processId, { afterSeq: nextSeq - 1, waitMs: 60_000 });
      // taken up after it, and answered before it: the read waits
      await world.client.request('environment/status');
      world.tellHolder('print');
      const { chunks } = await reading;
      expect(chunks[0]?.chunk.data.toString().trim()).to.equal('more');
    },
  },
  'read.deadline': {
    event: { type: 'read.deadline', key: 'read 0' },
    comes: (state) => isHeard(state) && (isDraining(state) || (isRunning(state) && isLeftAlone(state))),
    cause: async (world) => {
      const { chunks, closed } = await world.client.read(world.processId, {
        afterSeq: Number.MAX_SAFE_INTEGER,
        waitMs: 20,
      });
      expect({ chunks, closed }).to.deep.equal({ chunks: [], closed: false });
    },
  },
  'deadline.timeout': {
    event: { type: 'deadline.timeout' },
    comes: (state) => isHeard(state) && (isRunning(state) || isDraining(state)) && isLeftAlone(state),
    start: ({ shortMs }) => ({ timeoutMs: shortMs }),
    cause: killed,
  },
  'deadline.idle': {
    event: { type: 'deadline.idle' },
    comes: (state) => isHeard(state) && (isRunning(state) || isDraining(state)) && isLeftAlone(state),
    start: ({ shortMs }) => ({ idleTimeoutMs: shortMs }),
    cause: killed,
  },
  'deadline.grace': {
    event: { type: 'deadline.grace' },
    comes: (state) =>
      isHeard(state) &&
      !state.context.killed &&
      (isDraining(state) || (isRunning(state) && state.context.endedBy === 'terminated')),
    cause: async (world, step) => {
      // the earliest grace counts
      const ladder = { signal: 'user1', graceMs: 20 };
      world.queueAnswered('process/terminate', ladder, { running: isRunning(step.before) });
      await world.flush();
      await killed(world, step);
    },
  },
  'process.terminate': {
    event: terminate('t', 'p'),
    // one that was killed may be gone at any moment
    comes: (state) => isHeard(state) && !isEnding(state) && !(isRunning(state) && state.context.killed),
    // not sent yet: what is asked next is to be taken up in the same turn
    cause: async (world, { before }) => {
      const running = isStarting(before) || isRunning(before);
      if (isRunning(before)) world.exit = KILLED;
      world.queueAnswered('process/terminate', {}, { running });
      if (!isStarting(before)) return;
      await world.flush();
      expect((await world.startAnswer()).error).to.deep.equal({
        code: -32600,
        message: `process ${world.processId} start was cancelled`,
      });
    },
  },
  'process.terminate with a grace': {
    event: terminate('t', 'p', { signal: 'user1', graceMs: LONG_GRACE_MS }),
    comes: (state) => isHeard(state) && (isRunning(state) || isDraining(state)) && isLeftAlone(state),
    cause: async (world, { before }) => {
      const ladder = { signal: 'user1', graceMs: LONG_GRACE_MS };
      world.queueAnswered('process/terminate', ladder, { running: isRunning(before) });
      await world.flush();
    },
  },
  'session.detached': {
    event: { type: 'session.detached' },
    comes: (state) => isHeard(state) && !isEnding(state),
    cause: async (world) => {
      await world.flush();
      await world.disconnect();
    },
  },
  'session.attached': {
    event: { type: 'session.attached' },
    comes: (state) => !isHeard(state) && !isEnding(state),
    cause: async (world) => {
      expect(await world.resume()).to.equal(undefined);
    },
  },
  'session.end': {
    event: { type: 'session.end' },
    // one that was killed may be gone at any moment, one that starts has started before its session is given up
    comes: (state) =>
      !isEnding(state) &&
      !(isRunning(state) && state.context.killed) &&
      (isHeard(state) || !isStarting(state)),
    cause: async (world, { before }) => {
      if (isHeard(before)) {
        const sent = world.flush();
        await world.client.close();
        await sent;
      } else await world.outlastSession();
      if (isRunning(before)) world.exit = KILLED;
      if (!isStarting(before)) return;
      const { error } = await world.startAnswer();
      if (error === undefined) throw new TooSlow('it had started');
      expect(error).to.deep.equal({
        code: -32600,
        message: `process ${world.processId} start was cancelled`,
      });
    },
  },
  'after retention': {
    // what XState makes of the delay, which the types leave out
    event: JSON.parse('{"type":"xstate.after.retention.process.live.retained.keeping"}'),
    comes: (state) => isKeeping(state) && isHeard(state),
    cause: async (world) => {
      await evicted(world.client, world.processId);
    },
  },
} satisfies Record<string, ProcessEventEntry>;

export type ProcessEventName = keyof typeof processEvents;

/** Requests that leave a process in its state: asked in every state (process-states.ts). */
export const askedEverywhere = [
  'process.read',
  'process.write',
  'process.signal',
  'process.resize',
  'process.closeStdin',
  'process.ack',
];

/** Events that are no step of a path through a real server, and why. */
export const notCaused: Readonly<Record<string, string>> = {
  'child.refusedWrite': 'child.stdinBroken comes with it, and that is caused while a write waits',
  'child.swept': 'only with --sweep, and it changes no state: test/process/sweep.test.ts',
  'xstate.after.closeGrace.process.live.exited.closing':
    'child.closed comes with it: every path to there from closing, where a stranger holds the output',
  'xstate.after.closeGrace.process.live.ending':
    'only where a process that was sent SIGKILL is not gone after a second: test/machines/process-end.test.ts',
};
