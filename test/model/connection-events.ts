import { expect } from 'chai';
import type { SnapshotFrom } from 'xstate';
import type { ConnectionEvent, connectionMachine } from '../../machines/connection.js';
import { fileRequest, httpRequest, initialize, startEvent } from '../support/requests.js';
import type { ConnectionWorld } from './connection-world.js';
import type { Step } from './paths.js';
import { evicted } from './sessions.js';

export type ConnectionState = SnapshotFrom<typeof connectionMachine>;

export type ConnectionEventEntry = {
  readonly event: ConnectionEvent;
  /** Can it come about in this state, in reality? */
  readonly comes: (state: ConnectionState) => boolean;
  /** Makes it come about, and waits for what tells of it. */
  readonly cause: (world: ConnectionWorld, step: Step<ConnectionState, unknown>) => Promise<void>;
};

const isOpen = (state: ConnectionState): boolean => state.matches('open');
const isNew = (state: ConnectionState): boolean => state.matches({ open: 'awaitingInitialize' });
const isReady = (state: ConnectionState): boolean => state.matches({ open: 'ready' });
/** One thing at a time: together they change each other nothing. */
const isIdle = (state: ConnectionState): boolean =>
  isReady(state) &&
  state.context.processes.size === 0 &&
  state.context.files === undefined &&
  state.context.http === undefined;
const isDetached = (state: ConnectionState): boolean => state.matches('detached');
const isClosing = (state: ConnectionState): boolean => state.matches('closing');

/** The first one is served, a second one isn't. */
const initializing =
  (params: object): ConnectionEventEntry['cause'] =>
  async (world, { before }) => {
    if (isNew(before)) {
      const result = await world.client.request('initialize', { clientName: 'model', ...params });
      expect(result).to.include({ protocolVersion: 'exec-server.v0' });
      world.sessionId = String(result['sessionId']);
    } else {
      const error = { code: -32600, message: 'initialize may only be sent once per connection' };
      expect(await world.client.refused('initialize', { clientName: 'model' })).to.deep.equal(error);
    }
  };

const ended = async ({ client }: ConnectionWorld): Promise<void> => {
  await client.until(() => client.closed, 'the end of the connection');
};

/**
 * Every event by which the path of a connection can go on, and how it is brought about for a real one. Under the
 * name of its type, unless there are several of one type.
 */
export const connectionEvents = {
  initialize: {
    event: initialize('i'),
    comes: isOpen,
    cause: initializing({}),
  },
  'initialize of one that can resume': {
    event: initialize('i', { resumable: true }),
    comes: isNew,
    cause: initializing({ resumeSessionId: null }),
  },
  'initialize that is refused': {
    event: initialize('i', { refusal: { code: -32600, message: 'unknown session id S' } }),
    comes: isNew,
    cause: async ({ client }) => {
      const params = { clientName: 'model', resumeSessionId: 'S' };
      const error = { code: -32600, message: 'unknown session id S' };
      expect(await client.refused('initialize', params)).to.deep.equal(error);
    },
  },
  initialized: {
    event: { type: 'initialized' },
    comes: isOpen,
    cause: async (world, { before }) => {
      world.client.notify('initialized');
      if (isNew(before)) await ended(world);
    },
  },
  attach: {
    event: { type: 'attach', id: 'a' },
    comes: isDetached,
    cause: async (world) => {
      expect(await world.resume()).to.equal(undefined);
    },
  },
  'process.start': {
    event: startEvent('p'),
    comes: isIdle,
    cause: async (world) => world.start('p'),
  },
  'fs.*': {
    event: fileRequest('f'),
    comes: isIdle,
    cause: async ({ client }) => {
      expect(await client.request('fs/canonicalize', { path: '/' })).to.deep.equal({ path: 'file:///' });
    },
  },
  'http.request': {
    event: httpRequest('h'),
    comes: isIdle,
    cause: async ({ client, nobody }) => {
      const params = { method: 'GET', url: nobody, requestId: 'r' };
      const error = { code: -32603, message: 'http/request failed: connection refused' };
      expect(await client.refused('http/request', params)).to.deep.equal(error);
    },
  },
  'wire.closed': {
    event: { type: 'wire.closed' },
    comes: isOpen,
    cause: async ({ client }) => client.close(),
  },
  'session.close': {
    event: { type: 'session.close' },
    // the end of the input says so over stdio, where nobody can resume; to a detached one the end of the server
    comes: (state) => isDetached(state) || (isOpen(state) && !state.context.resumable),
    cause: async (world, { before }) => {
      if (isDetached(before)) {
        await world.endServer();
        return;
      }
      const isRead = before.context.processes.has('p');
      const read = { processId: 'p', afterSeq: 99, waitMs: 60_000 };
      const reading = isRead ? world.client.call('process/read', read) : undefined;
      await world.client.close();
      const error = { code: -32600, message: 'process p ended with its session' };
      if (reading !== undefined) expect((await reading).error).to.deep.equal(error);
    },
  },
  'after detachedTtl': {
    // what XState makes of the delay, which the types leave out
    event: JSON.parse('{"type":"xstate.after.detachedTtl.connection.detached"}'),
    comes: isDetached,
    cause: async (world) => world.outlastSession(),
  },
  'xstate.done.actor.*': {
    event: { type: 'xstate.done.actor.*', actorId: 'process:p' },
    comes: (state) => (isReady(state) || isClosing(state)) && state.context.processes.size > 0,
    cause: async (world, { before }) => {
      if (isClosing(before)) {
        await world.gone();
        return;
      }
      await world.client.request('process/terminate', { processId: 'p' });
      await evicted(world.client, 'p');
    },
  },
  'files.closed': {
    event: { type: 'files.closed' },
    comes: (state) => isClosing(state) && state.context.files !== undefined,
    cause: ended,
  },
  'http.closed': {
    event: { type: 'http.closed' },
    comes: (state) => isClosing(state) && state.context.http !== undefined,
    cause: ended,
  },
} satisfies Record<string, ConnectionEventEntry>;

export type ConnectionEventName = keyof typeof connectionEvents;

/** Requests that leave a connection in its state: asked in every state (connection-states.ts). */
export const askedEverywhere = [
  'environment.*',
  'environment.info',
  'environment.status',
  'process.*',
  'process.list',
  'server.state',
];

const PASSED_ON = 'an answer on its way: there is one to all that is asked here';

/** Events that are no step of a path through a real server, and why. */
export const notCaused: Readonly<Record<string, string>> = {
  reply: PASSED_ON,
  'reply.output': PASSED_ON,
  'reply.encoded': PASSED_ON,
  notification: PASSED_ON,
  'xstate.error.actor.*': 'a crash, of which no client should know a way: test/machines/crash.test.ts',
};
