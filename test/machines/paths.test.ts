import { expect } from 'chai';
import { type ActorLogic, createActor, fromCallback, type SnapshotFrom, transition } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { type ConnectionEvent, connectionMachine } from '../../machines/connection.js';
import { type ProcessEvent, type ProcessInput, processMachine } from '../../machines/process.js';
import type { FileCommand } from '../../src/files/actor.js';
import type { HttpCommand } from '../../src/http/actor.js';
import type { ChildCommand, ChildInput } from '../../src/process/actor.js';
import { connectionInput } from '../support/machines.js';
import {
  closeStdin,
  fileRequest,
  httpRequest,
  initialize,
  launch,
  outputLog,
  read,
  resize,
  signal,
  startEvent,
  terminate,
  write,
} from '../support/requests.js';

/** One of each event that a client, a process or the wire can cause. */
const connectionEvents: readonly ConnectionEvent[] = [
  initialize('i'),
  initialize('i', { resumable: true }),
  initialize('i', { refusal: { code: -32600, message: 'no' } }),
  { type: 'attach', id: 'a' },
  { type: 'session.close' },
  { type: 'initialized' },
  { type: 'environment.info', id: 'r' },
  { type: 'environment.status', id: 'r' },
  startEvent('p'),
  read('r', 'p'),
  write('r', 'p', 'x'),
  terminate('r', 'p'),
  terminate('r', 'p', { signal: 'interrupt' }),
  signal('r', 'p'),
  resize('r', 'p'),
  closeStdin('r', 'p'),
  { type: 'process.list', id: 'r' },
  { type: 'server.state', id: 'r' },
  fileRequest('r'),
  { type: 'files.closed' },
  httpRequest('r'),
  { type: 'http.closed' },
  { type: 'wire.closed' },
  { type: 'reply', id: 'r', result: {} },
  { type: 'xstate.done.actor.*', actorId: 'process:p' },
  { type: 'xstate.error.actor.*', actorId: 'process:p', error: undefined },
];

const processEvents: readonly ProcessEvent[] = [
  { type: 'child.spawned', pid: 7 },
  { type: 'child.failed', failure: { kind: 'spawnFailed', message: 'cannot' } },
  { type: 'child.exited', exitCode: 0, signal: null },
  { type: 'child.closed' },
  { type: 'child.swept', survivors: 0 },
  { type: 'deadline.timeout' },
  { type: 'deadline.idle' },
  { type: 'deadline.grace' },
  { type: 'child.wrote' },
  { type: 'child.refusedWrite' },
  { type: 'child.stdinBroken' },
  { type: 'output.appended' },
  read('r', 'p'),
  write('r', 'p', 'x'),
  terminate('r', 'p'),
  signal('r', 'p'),
  resize('r', 'p'),
  closeStdin('r', 'p'),
  { type: 'session.detached' },
  { type: 'session.attached' },
  { type: 'session.end' },
];

const processInput: ProcessInput = {
  processId: 'p',
  startId: 's',
  startResult: {},
  launch: launch(),
  log: outputLog('p'),
  host: connectionInput().host,
  retentionMs: 30_000,
};

const connectionPaths = getShortestPaths(connectionMachine, {
  events: connectionEvents,
  input: connectionInput(),
  // states are the same if they are called the same and know the same processes
  serializeState: ({ value, context }) =>
    JSON.stringify([
      value,
      [...context.processes.keys()],
      context.resumable,
      context.files !== undefined,
      context.http !== undefined,
    ]),
});

/** A process answers its connection: even where nothing is run it must have one. */
const self = createActor(processMachine, {
  input: processInput,
  parent: createActor(connectionMachine, { input: connectionInput() }),
});
const processLogic: ActorLogic<SnapshotFrom<typeof processMachine>, ProcessEvent, ProcessInput> = {
  transition: (snapshot, event, scope) => processMachine.transition(snapshot, event, { ...scope, self }),
  getInitialSnapshot: (scope, input) => processMachine.getInitialSnapshot({ ...scope, self }, input),
  getPersistedSnapshot: (snapshot) => processMachine.getPersistedSnapshot(snapshot),
};

const processPaths = getShortestPaths(processLogic, {
  events: processEvents,
  input: processInput,
  serializeState: ({ value, context }) =>
    JSON.stringify([value, context.killed, context.endedBy !== null, context.attached]),
});

/** Each state value that was reached, with the length of the shortest path to it. */
const reached = (paths: readonly { state: { value: unknown }; weight: number }[]): Record<string, number> => {
  const lengths: Record<string, number> = {};
  for (const { state, weight } of paths) {
    const name = JSON.stringify(state.value);
    lengths[name] = Math.min(weight, lengths[name] ?? Infinity);
  }
  return lengths;
};

describe('the states of a connection', () => {
  it('can all be reached, and no others', () => {
    expect(reached(connectionPaths)).to.deep.equal({
      '{"open":"awaitingInitialize"}': 0,
      '{"open":"awaitingInitialized"}': 1,
      '{"open":"ready"}': 2,
      '"detached"': 2,
      '"closing"': 4,
      '"closed"': 1,
    });
  });

  it('all lead to closed when the session is closed and the processes end', () => {
    const forget: ConnectionEvent = { type: 'xstate.done.actor.*', actorId: 'process:p' };
    for (const { state } of connectionPaths) {
      const known = state.context.processes.size;
      let snapshot: SnapshotFrom<typeof connectionMachine> = state;
      if (state.status === 'active')
        [snapshot] = transition(connectionMachine, state, { type: 'session.close' });
      if (known > 0) {
        expect(snapshot.value).to.equal('closing');
        [snapshot] = transition(connectionMachine, snapshot, forget);
      }
      if (snapshot.status === 'active')
        [snapshot] = transition(connectionMachine, snapshot, { type: 'files.closed' });
      if (snapshot.status === 'active')
        [snapshot] = transition(connectionMachine, snapshot, { type: 'http.closed' });
      expect(snapshot.value).to.equal('closed');
      expect(snapshot.status).to.equal('done');
    }
  });

  it('are left with real actors, too', () => {
    const child = fromCallback<ChildCommand, ChildInput>(() => undefined);
    const files = fromCallback<FileCommand>(({ sendBack, receive }) => {
      receive(({ type }) => type === 'session.end' && sendBack({ type: 'files.closed' }));
    });
    const http = fromCallback<HttpCommand>(({ sendBack, receive }) => {
      receive(({ type }) => type === 'session.end' && sendBack({ type: 'http.closed' }));
    });
    const machine = connectionMachine.provide({
      actors: { process: processMachine.provide({ actors: { child } }), files, http },
    });
    for (const { steps } of connectionPaths) {
      const actor = createActor(machine, { input: connectionInput() }).start();
      // what the actors tell each other they tell by themselves here
      for (const { event } of steps) {
        if (!event.type.startsWith('xstate.') && actor.getSnapshot().status === 'active') actor.send(event);
      }
      if (actor.getSnapshot().status === 'active') actor.send({ type: 'session.close' });
      expect(actor.getSnapshot().value).to.equal('closed');
    }
  });
});

describe('the states of a process', () => {
  it('can all be reached, and no others', () => {
    expect(reached(processPaths)).to.deep.equal({
      '{"live":"starting"}': 0,
      '{"live":"running"}': 1,
      '{"live":"ending"}': 2,
      '{"live":{"exited":"draining"}}': 2,
      '{"live":{"exited":"closing"}}': 3,
      '{"live":{"retained":"keeping"}}': 3,
      '{"live":{"retained":"held"}}': 4,
      '"evicted"': 1,
    });
  });

  it('all lead to evicted when the session ends', () => {
    for (const { state } of processPaths) {
      if (state.status === 'done') {
        expect(state.value).to.equal('evicted');
        continue;
      }
      let [snapshot] = transition(processLogic, state, { type: 'session.end' });
      if (snapshot.status === 'active') {
        expect(snapshot.value).to.deep.equal({ live: 'ending' });
        [snapshot] = transition(processLogic, snapshot, { type: 'child.exited', exitCode: 0, signal: null });
      }
      expect(snapshot.value).to.equal('evicted');
      expect(snapshot.status).to.equal('done');
    }
  });
});
