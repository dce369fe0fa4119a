import {
  type ActorRefFrom,
  assertEvent,
  assign,
  type CallbackActorRef,
  emit,
  enqueueActions,
  fromCallback,
  setup,
  stopChild,
} from 'xstate';
import type { FileCommand } from '../src/files/actor.js';
import type { FileRequest } from '../src/files/request.js';
import type { HttpCommand, HttpEvent } from '../src/http/actor.js';
import type { HttpRequest } from '../src/http/request.js';
import type { Launch } from '../src/process/launch.js';
import type { ProcessHost } from '../src/process/actor.js';
import type { OutputLog } from '../src/output/log.js';
import type { EnvironmentInfo, Params, ProcessState, ProcessSummary } from '../src/protocol.js';
import type { RequestId, RpcError } from '../src/rpc.js';
import type { ServerState } from '../src/server-state.js';
import { timerDelay } from './delay.js';
import { processMachine, type ProcessRequest } from './process.js';
import { invalidRequest, type Notification, type Reply, succeeded } from './reply.js';

type ProcessRef = ActorRefFrom<typeof processMachine>;
type FilesRef = CallbackActorRef<FileCommand>;
type HttpRef = CallbackActorRef<HttpCommand>;

/** process/start, with what the edge made of its parameters: something to run, or why not. */
export type StartRequest = {
  readonly type: 'process.start';
  readonly id: RequestId;
  readonly processId: string;
  readonly result: object;
  readonly start: { readonly launch: Launch; readonly log: OutputLog } | { readonly refusal: RpcError };
};

export type ConnectionEvent =
  | {
      readonly type: 'initialize';
      readonly id: RequestId;
      readonly params: Params<'initialize'>;
      /** The client knows how to resume: it is waited for when its wire ends. */
      readonly resumable: boolean;
      /** Why the session that it asked for can't be resumed. */
      readonly refusal?: RpcError;
    }
  /** A client has come back on a new wire. */
  | { readonly type: 'attach'; readonly id: RequestId }
  | { readonly type: 'initialized' }
  | { readonly type: 'environment.info'; readonly id: RequestId }
  | { readonly type: 'environment.status'; readonly id: RequestId }
  | StartRequest
  | ProcessRequest
  | { readonly type: 'process.list'; readonly id: RequestId }
  | { readonly type: 'server.state'; readonly id: RequestId }
  | FileRequest
  | HttpRequest
  | { readonly type: 'wire.closed' }
  /** The session is over, whoever may come back. */
  | { readonly type: 'session.close' }
  | Reply
  | HttpEvent
  /** Nothing about files is under way any more. */
  | { readonly type: 'files.closed' }
  | { readonly type: 'xstate.done.actor.*'; readonly actorId: string }
  | { readonly type: 'xstate.error.actor.*'; readonly actorId: string; readonly error: unknown };

/** What the connection tells whoever holds its wire. */
export type ConnectionEmitted =
  | Reply
  | Notification
  /** The peer broke the protocol: the wire is to be closed. */
  | { readonly type: 'violation'; readonly reason: string }
  /** A process actor crashed. Its requests will get no answer from it. */
  | { readonly type: 'crash'; readonly processId: string; readonly error: unknown };

export type ConnectionInput = {
  readonly sessionId: string;
  readonly protocolVersion: string;
  readonly environmentInfo: EnvironmentInfo;
  readonly host: ProcessHost;
  readonly server: ServerState;
  readonly retentionMs: number;
  /** How long a resumable client is waited for. */
  readonly detachedTtlMs: number;
};

export type ConnectionContext = ConnectionInput & {
  readonly clientName: string | null;
  readonly resumable: boolean;
  /** Every process whose id is taken, by the client's key. */
  readonly processes: ReadonlyMap<string, ProcessRef>;
  /** From the first request about files on, until the wire or the session ends. */
  readonly files: FilesRef | undefined;
  /** The same of http/request. */
  readonly http: HttpRef | undefined;
};

/** Requests, and the word for them in the errors of an unfinished handshake (docs/protocol.md section 2). */
const families = {
  'process.start': 'exec',
  'process.read': 'exec',
  'process.write': 'exec',
  'process.terminate': 'exec',
  'process.signal': 'exec',
  'process.resize': 'exec',
  'process.closeStdin': 'exec',
  'process.ack': 'exec',
  'process.list': 'exec',
  'fs.readFile': 'filesystem',
  'fs.writeFile': 'filesystem',
  'fs.createDirectory': 'filesystem',
  'fs.getMetadata': 'filesystem',
  'fs.canonicalize': 'filesystem',
  'fs.readDirectory': 'filesystem',
  'fs.walk': 'filesystem',
  'fs.remove': 'filesystem',
  'fs.copy': 'filesystem',
  'fs.open': 'filesystem',
  'fs.readBlock': 'filesystem',
  'fs.close': 'filesystem',
  'http.request': 'http',
  'server.state': 'server state',
  'environment.info': 'environment info',
  'environment.status': 'environment status',
} as const;

const processRequestTypes = [
  'process.read',
  'process.write',
  'process.terminate',
  'process.signal',
  'process.resize',
  'process.closeStdin',
  'process.ack',
] as const;

const fileRequestTypes = [
  'fs.readFile',
  'fs.writeFile',
  'fs.createDirectory',
  'fs.getMetadata',
  'fs.canonicalize',
  'fs.readDirectory',
  'fs.walk',
  'fs.remove',
  'fs.copy',
  'fs.open',
  'fs.readBlock',
  'fs.close',
] as const;

const requestTypes = [
  ...processRequestTypes,
  ...fileRequestTypes,
  'http.request',
  'process.start',
  'process.list',
  'server.state',
  'environment.info',
  'environment.status',
] as const;

const FILES = 'files';
const HTTP = 'http';

/** `children` of an actor is a plain object: the prefix keeps names like `__proto__` harmless. */
const actorId = (processId: string): string => `process:${processId}`;
const processIdOf = (id: string): string => id.slice('process:'.length);

const without = (
  processes: ReadonlyMap<string, ProcessRef>,
  processId: string,
): ReadonlyMap<string, ProcessRef> => {
  const left = new Map(processes);
  left.delete(processId);
  return left;
};

/** What process/list tells of one. */
export const summary = (processId: string, ref: ProcessRef): ProcessSummary => {
  const { context, value } = ref.getSnapshot();
  const live = typeof value === 'object' ? value.live : 'starting';
  const named = typeof live === 'object' ? ('exited' in live ? 'exited' : 'retained') : live;
  const state = named === 'ending' ? 'running' : named;
  return { processId, state, tty: context.launch.tty, pid: context.pid, exitCode: context.exitCode };
};

const stateOf = (processId: string, ref: ProcessRef): ProcessState => {
  const { launch, log } = ref.getSnapshot().context;
  return {
    ...summary(processId, ref),
    program: launch.argv[0] ?? '',
    ageMs: Math.max(0, Date.now() - launch.createdAt),
    outputBytes: log.retainedBytes + log.droppedBytes,
    droppedBytes: log.droppedBytes,
  };
};

/** What a request about a process that isn't known is answered. */
const unknownProcess = (event: ProcessRequest): Reply => {
  const { processId } = event.params;
  switch (event.type) {
    case 'process.terminate':
      return succeeded(event.id, { running: false });
    case 'process.signal':
      return succeeded(event.id, {});
    case 'process.write':
      if (event.params.writeId !== undefined) {
        return succeeded(event.id, { accepted: false, status: 'unknownProcess' });
      }
      break;
    case 'process.read':
    case 'process.resize':
    case 'process.closeStdin':
    case 'process.ack':
      break;
  }
  return invalidRequest(event.id, `unknown process id ${processId}`);
};

/**
 * One connection: the handshake, then the processes of its session. A process is an actor of its own under
 * its client's key; requests about it are handed on, its replies are emitted.
 */
export const connectionMachine = setup({
  types: {
    context: {} as ConnectionContext,
    events: {} as ConnectionEvent,
    emitted: {} as ConnectionEmitted,
    input: {} as ConnectionInput,
  },
  actors: {
    process: processMachine,
    files: fromCallback<FileCommand>(() => {
      throw new Error('the actor for files must be provided');
    }),
    http: fromCallback<HttpCommand>(() => {
      throw new Error('the actor for http must be provided');
    }),
  },
  delays: {
    detachedTtl: ({ context }) => timerDelay(context.detachedTtlMs),
  },
  guards: {
    initializeIsRefused: ({ event }) => {
      assertEvent(event, 'initialize');
      return event.refusal !== undefined;
    },
    isResumable: ({ context }) => context.resumable,
    startIsRefused: ({ event }) => {
      assertEvent(event, 'process.start');
      return 'refusal' in event.start;
    },
    processIdIsTaken: ({ context, event }) => {
      assertEvent(event, 'process.start');
      return context.processes.has(event.processId);
    },
    processLimitIsReached: ({ context }) => context.host.places.refusal !== undefined,
    processIsKnown: ({ context, event }) => {
      assertEvent(event, processRequestTypes);
      return context.processes.has(event.params.processId);
    },
    nothingIsLeft: ({ context }) =>
      context.processes.size === 0 && context.files === undefined && context.http === undefined,
  },
  actions: {
    rememberClient: assign({
      clientName: ({ event }) => {
        assertEvent(event, 'initialize');
        return event.params.clientName;
      },
      resumable: ({ event }) => {
        assertEvent(event, 'initialize');
        return event.resumable;
      },
    }),
    answerInitialize: emit(({ context, event }): ConnectionEmitted => {
      assertEvent(event, ['initialize', 'attach']);
      const { protocolVersion, sessionId, environmentInfo } = context;
      return succeeded(event.id, { protocolVersion, sessionId, environmentInfo });
    }),
    rejectInitialize: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, 'initialize');
      const error = event.refusal ?? { code: -32603, message: 'internal error' };
      return { type: 'reply', id: event.id, error };
    }),
    rejectSecondInitialize: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, 'initialize');
      return invalidRequest(event.id, 'initialize may only be sent once per connection');
    }),
    rejectUninitialized: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, requestTypes);
      return invalidRequest(
        event.id,
        `client must call initialize before using ${families[event.type]} methods`,
      );
    }),
    rejectUnready: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, requestTypes);
      return invalidRequest(
        event.id,
        `client must send initialized before using ${families[event.type]} methods`,
      );
    }),
    tellViolation: emit({ type: 'violation', reason: 'initialized was sent before initialize' }),

    answerEnvironmentInfo: emit(({ context, event }): ConnectionEmitted => {
      assertEvent(event, 'environment.info');
      return succeeded(event.id, context.environmentInfo);
    }),
    answerEnvironmentStatus: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, 'environment.status');
      return succeeded(event.id, { status: 'ready' });
    }),
    answerList: emit(({ context, event }): ConnectionEmitted => {
      assertEvent(event, 'process.list');
      return succeeded(event.id, {
        processes: [...context.processes].map(([processId, ref]) => summary(processId, ref)),
      });
    }),

    answerServerState: emit(({ context, event }): ConnectionEmitted => {
      assertEvent(event, 'server.state');
      const processes = [...context.processes].map(([processId, ref]) => stateOf(processId, ref));
      const session = { clientName: context.clientName, processes };
      return succeeded(event.id, { server: context.server.summary(), session });
    }),

    rejectRefusedStart: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, 'process.start');
      const error =
        'refusal' in event.start ? event.start.refusal : { code: -32603, message: 'internal error' };
      return { type: 'reply', id: event.id, error };
    }),
    rejectTakenProcessId: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, 'process.start');
      return invalidRequest(event.id, `process ${event.processId} already exists`);
    }),
    rejectStartAboveLimit: emit(({ context, event }): ConnectionEmitted => {
      assertEvent(event, 'process.start');
      const message = context.host.places.refusal ?? 'limit reached';
      return { type: 'reply', id: event.id, error: { code: -32001, message } };
    }),
    spawnProcess: assign({
      processes: ({ context, event, spawn }) => {
        assertEvent(event, 'process.start');
        if ('refusal' in event.start) return context.processes;
        const { processId, id: startId, result: startResult } = event;
        const { launch, log } = event.start;
        const { host, retentionMs } = context;
        const ref = spawn('process', {
          id: actorId(processId),
          input: { processId, startId, startResult, launch, log, host, retentionMs },
        });
        return new Map(context.processes).set(processId, ref);
      },
    }),
    forwardToProcess: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, processRequestTypes);
      const ref = context.processes.get(event.params.processId);
      if (ref !== undefined) enqueue.sendTo(ref, event);
    }),
    answerUnknownProcess: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, processRequestTypes);
      return unknownProcess(event);
    }),
    startFiles: assign({
      files: ({ context, spawn }) => context.files ?? spawn('files', { id: FILES }),
    }),
    forwardToFiles: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, fileRequestTypes);
      if (context.files !== undefined) enqueue.sendTo(context.files, event);
    }),
    stopFiles: enqueueActions(({ enqueue }) => {
      enqueue(stopChild(FILES));
      enqueue.assign({ files: undefined });
    }),
    endFiles: enqueueActions(({ context, enqueue }) => {
      if (context.files !== undefined) enqueue.sendTo(context.files, { type: 'session.end' });
    }),
    startHttp: assign({
      http: ({ context, spawn }) => context.http ?? spawn('http', { id: HTTP }),
    }),
    forwardToHttp: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'http.request');
      if (context.http !== undefined) enqueue.sendTo(context.http, event);
    }),
    stopHttp: enqueueActions(({ enqueue }) => {
      enqueue(stopChild(HTTP));
      enqueue.assign({ http: undefined });
    }),
    endHttp: enqueueActions(({ context, enqueue }) => {
      if (context.http !== undefined) enqueue.sendTo(context.http, { type: 'session.end' });
    }),
    passOn: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, ['reply', 'reply.output', 'reply.encoded', 'notification']);
      return event;
    }),

    forgetProcess: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, ['xstate.done.actor.*', 'xstate.error.actor.*']);
      // a child that is done stays among the children until it is stopped
      enqueue(stopChild(event.actorId));
      enqueue.assign({ processes: without(context.processes, processIdOf(event.actorId)) });
    }),
    tellCrash: emit(({ event }): ConnectionEmitted => {
      assertEvent(event, 'xstate.error.actor.*');
      return { type: 'crash', processId: processIdOf(event.actorId), error: event.error };
    }),
    abandonChild: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'xstate.error.actor.*');
      // nothing stops the children of an actor that threw
      const crashed = context.processes.get(processIdOf(event.actorId));
      const child = crashed?.getSnapshot().children.child;
      if (child !== undefined) enqueue.sendTo(child, { type: 'abandon' });
    }),

    detachProcesses: enqueueActions(({ context, enqueue }) => {
      for (const ref of context.processes.values()) enqueue.sendTo(ref, { type: 'session.detached' });
    }),
    attachProcesses: enqueueActions(({ context, enqueue }) => {
      for (const ref of context.processes.values()) enqueue.sendTo(ref, { type: 'session.attached' });
    }),
    endProcesses: enqueueActions(({ context, enqueue }) => {
      for (const ref of context.processes.values()) enqueue.sendTo(ref, { type: 'session.end' });
    }),
    endGroups: ({ context }) => {
      context.host.groups.end();
    },
  },
}).createMachine({
  id: 'connection',
  description: 'One client, from its first message until its wire is closed.',
  context: ({ input }) => ({
    ...input,
    clientName: null,
    resumable: false,
    processes: new Map(),
    files: undefined,
    http: undefined,
  }),
  on: {
    reply: { actions: 'passOn' },
    'reply.output': { actions: 'passOn' },
    'reply.encoded': { actions: 'passOn' },
    notification: { actions: 'passOn' },
    'files.closed': { actions: 'stopFiles' },
    'http.closed': { actions: 'stopHttp' },
    'xstate.done.actor.*': { actions: 'forgetProcess' },
    'xstate.error.actor.*': { actions: ['tellCrash', 'abandonChild', 'forgetProcess'] },
  },
  initial: 'open',
  states: {
    open: {
      description: 'The wire is there.',
      on: {
        // handles and bodies are the wire's; a client that comes back opens its files again
        'wire.closed': [
          {
            description: 'The client may come back.',
            guard: 'isResumable',
            target: 'detached',
            actions: ['stopFiles', 'stopHttp'],
          },
          { target: 'closing', actions: ['stopFiles', 'stopHttp'] },
        ],
        'session.close': { target: 'closing' },
      },
      initial: 'awaitingInitialize',
      states: {
        awaitingInitialize: {
          description: 'Nothing but initialize is served yet. One that fails may be tried again.',
          on: {
            initialize: [
              {
                description: 'The session that it wants is not there for it.',
                guard: 'initializeIsRefused',
                actions: 'rejectInitialize',
              },
              { target: 'awaitingInitialized', actions: ['rememberClient', 'answerInitialize'] },
            ],
            initialized: {
              description: 'There is nothing to say that to: the client broke the protocol.',
              target: '#connection.closed',
              actions: 'tellViolation',
            },
            'process.*': { actions: 'rejectUninitialized' },
            'environment.*': { actions: 'rejectUninitialized' },
            'fs.*': { actions: 'rejectUninitialized' },
            'http.request': { actions: 'rejectUninitialized' },
            'server.state': { actions: 'rejectUninitialized' },
          },
        },
        awaitingInitialized: {
          description: 'The client has to say that it got the answer.',
          on: {
            initialize: { actions: 'rejectSecondInitialize' },
            initialized: { target: 'ready' },
            'process.*': { actions: 'rejectUnready' },
            'environment.*': { actions: 'rejectUnready' },
            'fs.*': { actions: 'rejectUnready' },
            'http.request': { actions: 'rejectUnready' },
            'server.state': { actions: 'rejectUnready' },
          },
        },
        ready: {
          description: 'Everything is served.',
          on: {
            initialize: { actions: 'rejectSecondInitialize' },
            initialized: {},
            'environment.info': { actions: 'answerEnvironmentInfo' },
            'environment.status': { actions: 'answerEnvironmentStatus' },
            'process.list': { actions: 'answerList' },
            'server.state': { actions: 'answerServerState' },
            'process.start': [
              { guard: 'startIsRefused', actions: 'rejectRefusedStart' },
              { guard: 'processIdIsTaken', actions: 'rejectTakenProcessId' },
              { guard: 'processLimitIsReached', actions: 'rejectStartAboveLimit' },
              { actions: 'spawnProcess' },
            ],
            'process.*': [
              { guard: 'processIsKnown', actions: 'forwardToProcess' },
              { actions: 'answerUnknownProcess' },
            ],
            'fs.*': { actions: ['startFiles', 'forwardToFiles'] },
            'http.request': { actions: ['startHttp', 'forwardToHttp'] },
          },
        },
      },
    },
    detached: {
      description: 'The wire has ended, and the client may come back on another. Its processes go on.',
      entry: 'detachProcesses',
      exit: 'attachProcesses',
      on: {
        attach: { target: '#connection.open.awaitingInitialized', actions: 'answerInitialize' },
        'session.close': { target: 'closing' },
      },
      after: {
        detachedTtl: { description: 'It has not come back in time.', target: 'closing' },
      },
    },
    closing: {
      description:
        'The session ends: every process answers what waits for it, and then is gone; so do files and http.',
      entry: ['endProcesses', 'endFiles', 'endHttp'],
      always: {
        description: 'All that was waited for has ended.',
        guard: 'nothingIsLeft',
        target: 'closed',
      },
    },
    closed: {
      description: 'Nothing of this session is left.',
      type: 'final',
      entry: 'endGroups',
    },
  },
});
