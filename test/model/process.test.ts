import { expect } from 'chai';
import path from 'node:path';
import { type ActorLogic, createActor } from 'xstate';
import { connectionMachine } from '../../machines/connection.js';
import { type ProcessEvent, type ProcessInput, processMachine } from '../../machines/process.js';
import { connectStdio, connectWebSocket, launchListener, type TestClient } from '../support/client.js';
import { temporaryDirectory } from '../support/files.js';
import { connectionInput } from '../support/machines.js';
import { launch, outputLog } from '../support/requests.js';
import { eventsOf, failuresOf, leafOf, leavesOf, type Path, pathsOver } from './paths.js';
import {
  askedEverywhere,
  notCaused,
  type ProcessEventEntry,
  type ProcessEventName,
  processEvents,
  type ProcessState,
} from './process-events.js';
import { processStates } from './process-states.js';
import { ProcessWorld } from './process-world.js';

type ProcessPath = Path<ProcessState, ProcessEventName>;

const entryOf = (name: ProcessEventName): ProcessEventEntry => processEvents[name];
const names = Object.keys(processEvents).filter((name): name is ProcessEventName =>
  Object.hasOwn(processEvents, name),
);

const pathsOf = (tty: boolean): ProcessPath[] => {
  const input: ProcessInput = {
    processId: 'p',
    startId: 's',
    startResult: {},
    launch: launch({ tty, pipeStdin: !tty }),
    log: outputLog('p'),
    host: connectionInput().host,
    retentionMs: 30_000,
  };
  const parent = createActor(connectionMachine, { input: connectionInput() });
  const self = createActor(processMachine, { input, parent });
  const logic: ActorLogic<ProcessState, ProcessEvent, ProcessInput> = {
    transition: (snapshot, event, scope) => processMachine.transition(snapshot, event, { ...scope, self }),
    getInitialSnapshot: (scope, given) => processMachine.getInitialSnapshot({ ...scope, self }, given),
    getPersistedSnapshot: (snapshot) => processMachine.getPersistedSnapshot(snapshot),
  };
  return pathsOver(
    logic,
    input,
    names.map((name) => ({ name, event: entryOf(name).event })),
    (name, state) => entryOf(name).comes(state),
    (state) => {
      const { killed, endedBy, attached } = state.context;
      // who made it end is asked after the exit; before it, it decides what can still come
      const isMadeToEnd = state.matches({ live: 'running' }) && endedBy !== null;
      return JSON.stringify(
        state.status === 'active' ? [state.value, killed, isMadeToEnd, attached] : state.value,
      );
    },
  );
};

/** Long enough that a path is done before it, if the machine isn't too slow; every path waits for it in vain. */
const SHORT_MS = 300;
/** A server that forgets soon, and one that gives up its detached sessions soon. */
const RETENTION_S = 2;
const DETACHED_TTL_S = 1;

const has = ({ steps }: ProcessPath, name: ProcessEventName): boolean =>
  steps.some((step) => step.name === name);

/** Where a path is run. */
type Place = { readonly client: TestClient; readonly url: string | undefined; readonly sessionId: string };

const sessionOn = async (url: string): Promise<Place> => {
  const client = await connectWebSocket(url);
  const { sessionId } = await client.initialize({ resumeSessionId: null });
  return { client, url, sessionId: String(sessionId) };
};

const sessionOverStdio = async (): Promise<Place> => {
  const client = await connectStdio(['--log-level', 'error']);
  const { sessionId } = await client.initialize();
  return { client, url: undefined, sessionId: String(sessionId) };
};

/** Over stdio, where all but those whose session ends share a server; over a WebSocket where one has to come back. */
const places = async (): Promise<(path: ProcessPath) => Promise<Place>> => {
  const [shared, forgetful, impatient] = await Promise.all([
    sessionOverStdio(),
    launchListener(['--retention', String(RETENTION_S)]),
    launchListener(['--detached-ttl', String(DETACHED_TTL_S)]),
  ]);
  return async (way) => {
    if (has(way, 'session.detached')) return sessionOn((has(way, 'session.end') ? impatient : forgetful).url);
    if (has(way, 'session.end')) return sessionOverStdio();
    return has(way, 'after retention') ? sessionOn(forgetful.url) : shared;
  };
};

const run = async (world: ProcessWorld, way: ProcessPath): Promise<void> => {
  const { steps, state } = way;
  const start = steps.map(({ name }) => entryOf(name).start?.(world));
  const isCutShort = steps[0]?.name === 'session.end';
  world.queueStart(has(way, 'child.failed') ? 'missing' : 'good', isCutShort, Object.assign({}, ...start));
  for (const step of steps) await entryOf(step.name).cause(world, step);
  const leaf = leafOf(state);
  if (state.status === 'active' && leaf !== 'live.ending' && !state.context.attached) {
    await world.flush();
    if (leaf === 'live.retained.held') await world.outlastRetention();
    expect(await world.resume()).to.equal(undefined);
  }
  await processStates[leaf]?.(world, way);
};

describe('the chart of a process', () => {
  it('has no event and no state of which it is not said here how it is reached and what is true then', () => {
    const caused = names.map((name) => entryOf(name).event.type);
    const known = new Set([...caused, ...askedEverywhere, ...Object.keys(notCaused)]);
    expect([...known].sort()).to.deep.equal(eventsOf(processMachine));
    expect(Object.keys(processStates).sort()).to.deep.equal(leavesOf(processMachine).sort());
  });

  for (const tty of [false, true]) {
    it(`is what the server does with one in ${tty ? 'a PTY' : 'pipes'}, on every path`, async function () {
      this.timeout(60_000);
      const ways = pathsOf(tty);
      expect(new Set(ways.map(({ state }) => leafOf(state))).size).to.equal(leavesOf(processMachine).length);
      const directory = temporaryDirectory();
      const placeOf = await places();
      let worlds = 0;
      const failures = await failuresOf(ways, async (way, slowness) => {
        const processId = `p${++worlds}`;
        const world = new ProcessWorld({
          ...(await placeOf(way)),
          processId,
          tty,
          directory: path.join(directory, processId),
          shortMs: SHORT_MS * slowness,
          retentionMs: RETENTION_S * 1000,
        });
        await run(world, way);
      });
      expect(failures).to.deep.equal([]);
    });
  }
});
