import { expect } from 'chai';
import { connectionMachine } from '../../machines/connection.js';
import { connectStdio, connectWebSocket, launchListener } from '../support/client.js';
import { nobody } from '../support/http.js';
import { connectionInput } from '../support/machines.js';
import {
  askedEverywhere,
  type ConnectionEventEntry,
  type ConnectionEventName,
  connectionEvents,
  type ConnectionState,
  notCaused,
} from './connection-events.js';
import { connectionStates } from './connection-states.js';
import { ConnectionWorld } from './connection-world.js';
import { eventsOf, failuresOf, leafOf, leavesOf, type Path, pathsOver } from './paths.js';

type ConnectionPath = Path<ConnectionState, ConnectionEventName>;

const entryOf = (name: ConnectionEventName): ConnectionEventEntry => connectionEvents[name];
const names = Object.keys(connectionEvents).filter((name): name is ConnectionEventName =>
  Object.hasOwn(connectionEvents, name),
);

const ways = (): ConnectionPath[] =>
  pathsOver(
    connectionMachine,
    connectionInput(),
    names.map((name) => ({ name, event: entryOf(name).event })),
    (name, state) => entryOf(name).comes(state),
    ({ value, status, context: { resumable, processes, files, http } }) =>
      JSON.stringify(
        status === 'active'
          ? [value, resumable, processes.size, files !== undefined, http !== undefined]
          : value,
      ),
  );

/** Ended soon: paths wait for it. In seconds. */
const DETACHED_TTL_S = 1;
const RETENTION_S = 0.2;

/** Over a WebSocket at one server, but for those that end the server; over stdio where the end of the input does. */
const places = async (): Promise<(way: ConnectionPath) => Promise<ConnectionWorld>> => {
  const url = await nobody();
  const more = ['--allow-http', '--retention', String(RETENTION_S)];
  const [patient, impatient] = await Promise.all([
    launchListener(more),
    launchListener([...more, '--detached-ttl', String(DETACHED_TTL_S)]),
  ]);
  return async ({ steps }) => {
    const end = steps.find(({ name }) => name === 'session.close');
    if (end !== undefined && end.before.value !== 'detached') {
      const client = await connectStdio(['--log-level', 'error', ...more]);
      return new ConnectionWorld(client, undefined, client.server, url);
    }
    const own = end === undefined ? undefined : await launchListener(more);
    const isGivenUp = steps.some(({ name }) => name === 'after detachedTtl');
    const listener = own ?? (isGivenUp ? impatient : patient);
    return new ConnectionWorld(await connectWebSocket(listener.url), listener.url, own?.server, url);
  };
};

describe('the chart of a connection', () => {
  it('has no event and no state of which it is not said here how it is reached and what is true then', () => {
    const caused = names.map((name) => entryOf(name).event.type);
    const said = [...caused, ...names, ...askedEverywhere, ...Object.keys(notCaused)];
    expect(eventsOf(connectionMachine).filter((type) => !said.includes(type))).to.deep.equal([]);
    expect(Object.keys(connectionStates).sort()).to.deep.equal(leavesOf(connectionMachine).sort());
  });

  it('is what the server does, on every path', async function () {
    this.timeout(60_000);
    const all = ways();
    expect(new Set(all.map(({ state }) => leafOf(state))).size).to.equal(leavesOf(connectionMachine).length);
    const placeOf = await places();
    const failures = await failuresOf(all, async (way) => {
      const world = await placeOf(way);
      for (const step of way.steps) await entryOf(step.name).cause(world, step);
      await connectionStates[leafOf(way.state)]?.(world, way);
    });
    expect(failures).to.deep.equal([]);
  });
});
