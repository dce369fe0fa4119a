import { assertEvent, assign, cancel, enqueueActions, fromCallback, sendParent, sendTo, setup } from 'xstate';
import type { OutputLog } from '../src/output/log.js';
import type { ChildCommand, ChildEvent, ChildInput, ProcessHost } from '../src/process/actor.js';
import type { Launch } from '../src/process/launch.js';
import type { EndReason, Params, WriteStatus } from '../src/protocol.js';
import type { RequestId } from '../src/rpc.js';
import { timerDelay } from './delay.js';
import type { Reply } from './reply.js';
import { invalidRequest, succeeded } from './reply.js';

type Request<T extends string, P> = { readonly type: T; readonly id: RequestId; readonly params: P };

/** Requests about one process. The type is the method's name with dots: that is the routing. */
export type ProcessRequest =
  | Request<'process.read', Params<'process/read'>>
  | Request<'process.write', Params<'process/write'>>
  | Request<'process.terminate', Params<'process/terminate'>>
  | Request<'process.signal', Params<'process/signal'>>
  | Request<'process.resize', Params<'process/resize'>>
  | Request<'process.closeStdin', Params<'process/closeStdin'>>
  | Request<'process.ack', Params<'process/ack'>>;

export type ProcessEvent =
  | ProcessRequest
  | ChildEvent
  | { readonly type: 'output.appended' }
  | { readonly type: 'read.deadline'; readonly key: string }
  /** The time that it may run, may be quiet, or has to end by itself, is over. */
  | { readonly type: 'deadline.timeout' }
  | { readonly type: 'deadline.idle' }
  | { readonly type: 'deadline.grace' }
  /** Nobody is there to be told anything; a client may come back. */
  | { readonly type: 'session.detached' }
  | { readonly type: 'session.attached' }
  | { readonly type: 'session.end' };

/** A read that waits for output, an exit, or its deadline. */
type ParkedRead = { readonly key: string; readonly id: RequestId; readonly params: Params<'process/read'> };

/** A terminate that is answered when the sweep is done. */
type PendingTerminate = { readonly id: RequestId; readonly running: boolean };

/** A write whose bytes wait in front of the child, with the requests that it will answer. */
type PendingWrite = { readonly writeId: string | undefined; readonly ids: RequestId[] };

export type ProcessInput = {
  readonly processId: string;
  /** The start request, answered when it is known whether the child runs. */
  readonly startId: RequestId;
  /** What that request is answered with. */
  readonly startResult: object;
  readonly launch: Launch;
  readonly log: OutputLog;
  readonly host: ProcessHost;
  /** How long a closed process stays readable. */
  readonly retentionMs: number;
};

export type ProcessContext = ProcessInput & {
  readonly pid: number | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdinOpen: boolean;
  /** Why it was made to end; null: it was not. */
  readonly endedBy: EndReason | null;
  /** Its group was killed: its output is closed soon after it, whoever holds it. */
  readonly killed: boolean;
  readonly pendingTerminates: readonly PendingTerminate[];
  /** A client is there. */
  readonly attached: boolean;
  readonly parkedReads: readonly ParkedRead[];
  readonly readsParked: number;
  /** Changed in place, as `writes` is: a copy of 4096 entries for each keystroke would cost 1 ms. */
  readonly pendingWrites: PendingWrite[];
  /** What the latest writes with an id were answered; undefined while they wait. */
  readonly writes: Map<string, WriteStatus | undefined>;
};

/** docs/protocol.md, process/write: so many writeIds are remembered. */
const REMEMBERED_WRITES = 4096;

/**
 * process/terminate promises `closed` within 2 s, even if a stranger holds the pipe. What was killed needs
 * some time to be gone and its last output to be read; this leaves as much again.
 */
const CLOSE_GRACE_MS = 1_000;

/** As long as most supervisors leave a service to end by itself, and no longer than a person waits. */
const DEFAULT_GRACE_MS = 5_000;

/** Why a process ended that nobody made to end. */
const endOf = ({ endedBy, signal }: ProcessContext): EndReason =>
  endedBy ?? (signal === null ? 'exited' : 'signalled');

const writeAnswer = (status: WriteStatus): object => ({ accepted: status === 'accepted', status });

/** Without a writeId a refusal is an error, with one it is a result (docs/protocol.md, process/write). */
const refusedWrite = (
  id: RequestId,
  writeId: string | undefined,
  status: WriteStatus,
  message: string,
): Reply => (writeId === undefined ? invalidRequest(id, message) : succeeded(id, writeAnswer(status)));

const stdinClosed = (id: RequestId, writeId: string | undefined, processId: string): Reply =>
  refusedWrite(id, writeId, 'stdinClosed', `stdin is closed for process ${processId}`);

const remember = (
  { writes }: ProcessContext,
  writeId: string | undefined,
  status: WriteStatus | undefined,
): void => {
  if (writeId === undefined) return;
  writes.set(writeId, status);
  const [oldest] = writes.keys();
  if (writes.size > REMEMBERED_WRITES && oldest !== undefined) writes.delete(oldest);
};

const readReply = (
  context: ProcessContext,
  id: RequestId,
  params: Params<'process/read'>,
  closed: boolean,
): Reply => ({
  type: 'reply.output',
  id,
  log: context.log,
  afterSeq: params.afterSeq ?? 0,
  maxBytes: params.maxBytes,
  exitCode: context.exitCode,
  signal: context.signal,
  reason: context.exitCode === null ? null : endOf(context),
  closed,
});

/**
 * The life of one process. It owns the child (its invocation ends the child's group) and the output log;
 * bytes go from one to the other without passing through here. It decides when an exit is told: the child
 * actor has put all that was left into the log before it says `child.exited`.
 */
export const processMachine = setup({
  types: {
    context: {} as ProcessContext,
    events: {} as ProcessEvent,
    input: {} as ProcessInput,
  },
  actors: {
    child: fromCallback<ChildCommand, ChildInput>(() => {
      throw new Error('the child actor must be provided');
    }),
  },
  delays: {
    retention: ({ context }) => timerDelay(context.retentionMs),
    closeGrace: CLOSE_GRACE_MS,
  },
  guards: {
    readIsAnswerable: ({ context, event }) => {
      assertEvent(event, 'process.read');
      return (event.params.waitMs ?? 0) === 0 || context.log.hasEventAfter(event.params.afterSeq ?? 0);
    },
    writeWasSeen: ({ context, event }) => {
      assertEvent(event, 'process.write');
      return event.params.writeId !== undefined && context.writes.has(event.params.writeId);
    },
    stdinIsOpen: ({ context }) => context.stdinOpen,
    hasTerminal: ({ context }) => context.launch.tty,
    wasKilled: ({ context }) => context.killed,
    isGraceful: ({ event }) => {
      assertEvent(event, 'process.terminate');
      const { signal, graceMs } = event.params;
      return graceMs !== 0 && (graceMs !== undefined || (signal !== undefined && signal !== 'kill'));
    },
    isQuietForTooLong: ({ context }) => context.log.quietMs >= context.launch.idleTimeoutMs,
    sweeps: ({ context }) => context.host.sweeps,
    outputIsSent: ({ context }) => !context.log.hasUnsent,
    isDetached: ({ context }) => !context.attached,
  },
  actions: {
    rememberChild: assign({
      pid: ({ event }) => {
        assertEvent(event, 'child.spawned');
        return event.pid;
      },
      stdinOpen: ({ context }) => context.launch.tty || context.launch.pipeStdin,
    }),
    rememberExit: assign({
      exitCode: ({ event }) => {
        assertEvent(event, 'child.exited');
        return event.exitCode;
      },
      signal: ({ event }) => {
        assertEvent(event, 'child.exited');
        return event.signal;
      },
      stdinOpen: false,
    }),
    rememberTerminated: assign({ endedBy: ({ context }) => context.endedBy ?? 'terminated' }),
    rememberTimeout: assign({ endedBy: ({ context }) => context.endedBy ?? 'timeout' }),
    rememberIdle: assign({ endedBy: ({ context }) => context.endedBy ?? 'idle' }),
    rememberDisconnected: assign({ endedBy: ({ context }) => context.endedBy ?? 'disconnected' }),
    startDeadlines: enqueueActions(({ context, enqueue }) => {
      const { timeoutMs, idleTimeoutMs } = context.launch;
      if (timeoutMs > 0) {
        enqueue.raise({ type: 'deadline.timeout' }, { delay: timerDelay(timeoutMs) });
      }
      if (idleTimeoutMs > 0) {
        enqueue.raise({ type: 'deadline.idle' }, { delay: timerDelay(idleTimeoutMs) });
      }
    }),
    waitForIdle: enqueueActions(({ context, enqueue }) => {
      const left = Math.max(context.launch.idleTimeoutMs - context.log.quietMs, 1);
      enqueue.raise({ type: 'deadline.idle' }, { delay: timerDelay(left) });
    }),
    // the earliest of several ends it: nobody can put off what another has asked for
    startGrace: enqueueActions(({ event, enqueue }) => {
      assertEvent(event, 'process.terminate');
      const { graceMs = DEFAULT_GRACE_MS } = event.params;
      enqueue.raise({ type: 'deadline.grace' }, { delay: timerDelay(graceMs) });
    }),
    rememberDetached: assign({ attached: false }),
    rememberAttached: assign({ attached: true }),
    dropParkedReads: enqueueActions(({ context, enqueue }) => {
      for (const { key } of context.parkedReads) enqueue(cancel(key));
      enqueue.assign({ parkedReads: [] });
    }),
    closeStdinForWrites: assign({ stdinOpen: ({ context }) => context.launch.tty && context.stdinOpen }),
    breakStdin: assign({ stdinOpen: false }),

    answerStart: sendParent(({ context }): Reply => succeeded(context.startId, context.startResult)),
    rejectStart: sendParent(({ context, event }): Reply => {
      assertEvent(event, 'child.failed');
      const { kind, message } = event.failure;
      return { type: 'reply', id: context.startId, error: { code: -32603, message, data: { kind } } };
    }),
    rejectCancelledStart: sendParent(({ context }): Reply =>
      invalidRequest(context.startId, `process ${context.processId} start was cancelled`),
    ),
    rejectStarting: sendParent(({ context, event }): Reply => {
      assertEvent(event, ['process.read', 'process.resize', 'process.closeStdin', 'process.ack']);
      return invalidRequest(event.id, `process id ${context.processId} is starting`);
    }),
    rejectResize: sendParent(({ context, event }): Reply => {
      assertEvent(event, 'process.resize');
      return invalidRequest(event.id, `process ${context.processId} has no terminal to resize`);
    }),

    answerRead: sendParent(({ context, event }): Reply => {
      assertEvent(event, 'process.read');
      return readReply(context, event.id, event.params, false);
    }),
    answerReadAfterClose: sendParent(({ context, event }): Reply => {
      assertEvent(event, 'process.read');
      return readReply(context, event.id, event.params, true);
    }),
    parkRead: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'process.read');
      const key = `read ${context.readsParked}`;
      const wait = timerDelay(event.params.waitMs ?? 0);
      enqueue.assign({
        readsParked: context.readsParked + 1,
        parkedReads: [...context.parkedReads, { key, id: event.id, params: event.params }],
      });
      enqueue.raise({ type: 'read.deadline', key }, { id: key, delay: wait });
      enqueue.sendTo('child', { type: 'watchOutput' });
    }),
    answerParkedReads: enqueueActions(({ context, enqueue }) => {
      const left = context.parkedReads.filter(
        ({ params }) => !context.log.hasEventAfter(params.afterSeq ?? 0),
      );
      for (const read of context.parkedReads) {
        if (left.includes(read)) continue;
        enqueue(cancel(read.key));
        enqueue.sendParent(readReply(context, read.id, read.params, false));
      }
      enqueue.assign({ parkedReads: left });
      if (left.length > 0) enqueue.sendTo('child', { type: 'watchOutput' });
    }),
    answerParkedReadsAfterClose: enqueueActions(({ context, enqueue }) => {
      for (const read of context.parkedReads) {
        enqueue(cancel(read.key));
        enqueue.sendParent(readReply(context, read.id, read.params, true));
      }
      enqueue.assign({ parkedReads: [] });
    }),
    answerOverdueRead: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'read.deadline');
      const overdue = context.parkedReads.find(({ key }) => key === event.key);
      if (overdue !== undefined) enqueue.sendParent(readReply(context, overdue.id, overdue.params, false));
      enqueue.assign({ parkedReads: context.parkedReads.filter((read) => read !== overdue) });
    }),

    forwardWrite: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'process.write');
      const { writeId, chunk } = event.params;
      context.pendingWrites.push({ writeId, ids: [event.id] });
      context.log.noteInput();
      remember(context, writeId, undefined);
      enqueue.sendTo('child', { type: 'write', chunk });
    }),
    answerRepeatedWrite: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'process.write');
      const { writeId } = event.params;
      const status = writeId === undefined ? undefined : context.writes.get(writeId);
      if (status === undefined) {
        context.pendingWrites.find((write) => write.writeId === writeId)?.ids.push(event.id);
      } else {
        enqueue.sendParent(succeeded(event.id, writeAnswer(status)));
      }
    }),
    answerFirstWrite: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, ['child.wrote', 'child.refusedWrite']);
      const first = context.pendingWrites.shift();
      if (first === undefined) return;
      const status = event.type === 'child.wrote' ? 'accepted' : 'stdinClosed';
      for (const id of first.ids) {
        enqueue.sendParent(
          status === 'accepted'
            ? succeeded(id, writeAnswer(status))
            : stdinClosed(id, first.writeId, context.processId),
        );
      }
      remember(context, first.writeId, status);
    }),
    refuseWrite: sendParent(({ context, event }): Reply => {
      assertEvent(event, 'process.write');
      return stdinClosed(event.id, event.params.writeId, context.processId);
    }),
    refuseEarlyWrite: sendParent(({ context, event }): Reply => {
      assertEvent(event, 'process.write');
      const { writeId } = event.params;
      return refusedWrite(event.id, writeId, 'starting', `process id ${context.processId} is starting`);
    }),

    answerTerminate: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'process.terminate');
      const running = context.exitCode === null;
      if (!context.host.sweeps) {
        enqueue.sendParent(succeeded(event.id, { running }));
        return;
      }
      enqueue.assign({ pendingTerminates: [...context.pendingTerminates, { id: event.id, running }] });
    }),
    answerCancel: sendParent(({ event }): Reply => {
      assertEvent(event, 'process.terminate');
      return succeeded(event.id, { running: true });
    }),
    answerSwept: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'child.swept');
      const { survivors } = event;
      for (const { id, running } of context.pendingTerminates) {
        enqueue.sendParent(succeeded(id, { running, survivors }));
      }
      enqueue.assign({ pendingTerminates: [] });
    }),
    answerUnswept: enqueueActions(({ context, enqueue }) => {
      for (const { id, running } of context.pendingTerminates) enqueue.sendParent(succeeded(id, { running }));
    }),
    answerDone: sendParent(({ event }): Reply => {
      assertEvent(event, ['process.signal', 'process.resize', 'process.closeStdin', 'process.ack']);
      return succeeded(event.id, {});
    }),
    killGroup: enqueueActions(({ enqueue }) => {
      enqueue.assign({ killed: true });
      enqueue.sendTo('child', { type: 'kill' });
    }),
    /** Nothing of it is left that could end by itself. */
    killAfterGrace: enqueueActions(({ context, enqueue }) => {
      if (context.endedBy !== 'terminated' || context.killed) return;
      enqueue.assign({ killed: true });
      enqueue.sendTo('child', { type: 'kill' });
    }),
    signalEnd: sendTo('child', ({ event }): ChildCommand => {
      assertEvent(event, 'process.terminate');
      return { type: 'signal', signal: event.params.signal ?? 'terminate' };
    }),
    forwardSignal: sendTo('child', ({ event }): ChildCommand => {
      assertEvent(event, 'process.signal');
      return { type: 'signal', signal: event.params.signal };
    }),
    forwardResize: sendTo('child', ({ event }): ChildCommand => {
      assertEvent(event, 'process.resize');
      return { type: 'resize', rows: event.params.rows, cols: event.params.cols };
    }),
    endStdin: sendTo('child', { type: 'endStdin' }),
    closeOutput: sendTo('child', { type: 'closeOutput' }),

    acknowledgeOutput: ({ context, event }) => {
      assertEvent(event, 'process.ack');
      context.log.acknowledge(event.params.bytes);
    },
    tellExited: ({ context, event }) => {
      assertEvent(event, 'child.exited');
      context.log.exited(event.exitCode, event.signal, endOf({ ...context, signal: event.signal }));
    },
    tellClosed: ({ context }) => {
      context.log.closed();
    },
    rejectPending: enqueueActions(({ context, enqueue }) => {
      const message = `process ${context.processId} ended with its session`;
      for (const { id } of context.parkedReads) enqueue.sendParent(invalidRequest(id, message));
      for (const { ids, writeId } of context.pendingWrites) {
        for (const id of ids) enqueue.sendParent(stdinClosed(id, writeId, context.processId));
      }
    }),
    releaseLog: ({ context }) => {
      context.log.release();
    },
  },
}).createMachine({
  id: 'process',
  description: 'One process, from its start request until its id is free again.',
  context: ({ input }) => ({
    ...input,
    pid: null,
    exitCode: null,
    signal: null,
    stdinOpen: false,
    endedBy: null,
    killed: false,
    pendingTerminates: [],
    attached: true,
    parkedReads: [],
    readsParked: 0,
    pendingWrites: [],
    writes: new Map(),
  }),
  initial: 'live',
  states: {
    live: {
      description: 'The id is taken. Leaving this state ends the child and its group.',
      invoke: {
        id: 'child',
        src: 'child',
        input: ({ context: { launch, log, host } }) => ({ launch, log, host }),
      },
      on: {
        'output.appended': { actions: 'answerParkedReads' },
        'read.deadline': { actions: 'answerOverdueRead' },
        'child.wrote': { actions: 'answerFirstWrite' },
        'child.refusedWrite': { actions: 'answerFirstWrite' },
        'child.stdinBroken': { actions: 'breakStdin' },
        'child.swept': { actions: 'answerSwept' },
        'session.detached': { actions: ['rememberDetached', 'dropParkedReads'] },
        'session.attached': { actions: 'rememberAttached' },
      },
      initial: 'starting',
      states: {
        starting: {
          description: 'Waiting for its turn to fork, then for what came of it.',
          on: {
            'child.spawned': {
              target: 'running',
              actions: ['rememberChild', 'answerStart', 'startDeadlines'],
            },
            'child.failed': { target: '#process.evicted', actions: 'rejectStart' },
            'process.terminate': {
              target: '#process.evicted',
              actions: ['answerCancel', 'rejectCancelledStart'],
            },
            'process.read': { actions: 'rejectStarting' },
            'process.write': { actions: 'refuseEarlyWrite' },
            'process.signal': { actions: 'answerDone' },
            'process.resize': { actions: 'rejectStarting' },
            'process.closeStdin': { actions: 'rejectStarting' },
            'process.ack': { actions: 'rejectStarting' },
            'session.end': { target: '#process.evicted', actions: 'rejectCancelledStart' },
          },
        },
        running: {
          description: 'The child runs. Its output goes to the log and from there to the client.',
          on: {
            'child.exited': [
              {
                description: 'Its group was killed already.',
                guard: 'wasKilled',
                target: 'exited.closing',
                actions: ['rememberExit', 'tellExited'],
              },
              { target: 'exited', actions: ['rememberExit', 'tellExited'] },
            ],
            'process.read': [{ guard: 'readIsAnswerable', actions: 'answerRead' }, { actions: 'parkRead' }],
            'process.write': [
              { guard: 'writeWasSeen', actions: 'answerRepeatedWrite' },
              { guard: 'stdinIsOpen', actions: 'forwardWrite' },
              { actions: 'refuseWrite' },
            ],
            'process.terminate': [
              {
                description: 'It may end by itself first.',
                guard: 'isGraceful',
                actions: ['rememberTerminated', 'startGrace', 'signalEnd', 'answerTerminate'],
              },
              { actions: ['rememberTerminated', 'killGroup', 'answerTerminate'] },
            ],
            'deadline.grace': { actions: 'killGroup' },
            'deadline.timeout': { actions: ['rememberTimeout', 'killGroup'] },
            'deadline.idle': [
              { guard: 'isQuietForTooLong', actions: ['rememberIdle', 'killGroup'] },
              { description: 'There was output or input meanwhile.', actions: 'waitForIdle' },
            ],
            'process.signal': { actions: ['forwardSignal', 'answerDone'] },
            'process.resize': [
              { guard: 'hasTerminal', actions: ['forwardResize', 'answerDone'] },
              { actions: 'rejectResize' },
            ],
            'process.closeStdin': { actions: ['endStdin', 'closeStdinForWrites', 'answerDone'] },
            'process.ack': { actions: ['acknowledgeOutput', 'answerDone'] },
            'session.end': {
              target: 'ending',
              actions: ['rememberDisconnected', 'rejectPending', 'killGroup'],
            },
          },
        },
        ending: {
          description:
            'Its session is over and its group killed: its exit is told, if anybody is left to hear.',
          on: {
            'child.exited': {
              target: '#process.evicted',
              actions: ['rememberExit', 'tellExited', 'tellClosed'],
            },
          },
          after: {
            closeGrace: {
              description: 'It is not gone in spite of SIGKILL: nobody waits for it any longer.',
              target: '#process.evicted',
            },
          },
        },
        exited: {
          description:
            'The child was reaped and its exit is told. Somebody else may still hold its output open.',
          on: {
            'child.closed': { target: 'retained' },
            'process.read': [{ guard: 'readIsAnswerable', actions: 'answerRead' }, { actions: 'parkRead' }],
            'process.write': [
              { guard: 'writeWasSeen', actions: 'answerRepeatedWrite' },
              { actions: 'refuseWrite' },
            ],
            // once it is closing a further one must not start the grace anew
            'process.terminate': { actions: ['killGroup', 'answerTerminate'] },
            'process.signal': { actions: ['forwardSignal', 'answerDone'] },
            'process.resize': [{ guard: 'hasTerminal', actions: 'answerDone' }, { actions: 'rejectResize' }],
            'process.closeStdin': { actions: 'answerDone' },
            'process.ack': { actions: ['acknowledgeOutput', 'answerDone'] },
            'session.end': { target: '#process.evicted', actions: 'rejectPending' },
          },
          initial: 'draining',
          states: {
            draining: {
              description: 'Output still comes, from descendants of the child.',
              on: {
                'process.terminate': [
                  {
                    description: 'What it left behind may end by itself first.',
                    guard: 'isGraceful',
                    actions: ['startGrace', 'signalEnd', 'answerTerminate'],
                  },
                  { target: 'closing', actions: ['killGroup', 'answerTerminate'] },
                ],
                'deadline.grace': { target: 'closing', actions: 'killGroup' },
                'deadline.timeout': { target: 'closing', actions: 'killGroup' },
                'deadline.idle': [
                  {
                    description: 'Not even those that it left behind print anything.',
                    guard: 'isQuietForTooLong',
                    target: 'closing',
                    actions: 'killGroup',
                  },
                  { description: 'There was output meanwhile.', actions: 'waitForIdle' },
                ],
              },
            },
            closing: {
              description: 'Its group was killed: its output is closed soon, though a stranger may hold it.',
              after: {
                closeGrace: {
                  description: 'A stranger holds it: the server stops listening to that.',
                  actions: 'closeOutput',
                },
              },
            },
          },
        },
        retained: {
          description: 'All is told. Output can still be read, and the id is still taken.',
          entry: ['tellClosed', 'answerParkedReadsAfterClose', 'killAfterGrace'],
          initial: 'keeping',
          states: {
            keeping: {
              description:
                'Kept for the retention time, and as long again while the client has not taken it all.',
              always: {
                description: 'Nobody is there to read it.',
                guard: 'isDetached',
                target: 'held',
              },
              after: {
                retention: [
                  {
                    description: 'It was there for long enough.',
                    guard: 'outputIsSent',
                    target: '#process.evicted',
                  },
                  {
                    description: 'The client has not taken all of it yet.',
                    target: 'keeping',
                    reenter: true,
                  },
                ],
              },
            },
            held: {
              description:
                'Nobody is attached: kept as long as the session, and then for the whole retention time.',
              on: {
                'session.attached': { target: 'keeping', actions: 'rememberAttached' },
              },
            },
          },
          on: {
            'process.read': { actions: 'answerReadAfterClose' },
            'process.write': [
              { guard: 'writeWasSeen', actions: 'answerRepeatedWrite' },
              { actions: 'refuseWrite' },
            ],
            'process.terminate': { actions: ['killGroup', 'answerTerminate'] },
            'process.signal': { actions: 'answerDone' },
            'process.resize': [{ guard: 'hasTerminal', actions: 'answerDone' }, { actions: 'rejectResize' }],
            'process.closeStdin': { actions: 'answerDone' },
            'process.ack': { actions: ['acknowledgeOutput', 'answerDone'] },
            'session.end': { target: '#process.evicted' },
          },
        },
      },
    },
    evicted: {
      description: 'Nothing is known of it any more.',
      type: 'final',
      entry: ['answerUnswept', 'releaseLog'],
    },
  },
});
