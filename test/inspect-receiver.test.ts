import { createWebSocketReceiver, type StatelyInspectionEvent } from '@statelyai/inspect';
import { expect } from 'chai';
import { type InspectionEvent, isMachineSnapshot, type Observer, type Snapshot } from 'xstate';
import { startInspector } from '../src/inspect.js';
import { createLog } from '../src/log.js';
import { actorNames } from '../src/inspect/names.js';
import { canary, foundIn } from './support/canaries.js';
import { connectWebSocket, type TestClient } from './support/client.js';
import { cleanup } from './support/environment.js';
import { listenLocal } from './support/local.js';
import { eventually } from './support/processes.js';

const valueOf = (snapshot: unknown): unknown =>
  typeof snapshot === 'object' && snapshot !== null ? Reflect.get(snapshot, 'value') : undefined;

const stateOf = (snapshot: Snapshot<unknown>): unknown => [
  snapshot.status,
  isMachineSnapshot(snapshot) ? snapshot.value : undefined,
];

type Told = { readonly rootId: string; readonly name?: string; readonly [member: string]: unknown };

/** Is this the name of one of the first connections? */
const isAmong = (first: number, name = ''): boolean =>
  Number(/^connection (\d+)$/.exec(name)?.[1] ?? Infinity) <= first;

/** What XState tells in this process, and what it has to look like elsewhere. */
const recorder = (): { told: Told[]; observer: Observer<InspectionEvent> } => {
  const told: Told[] = [];
  const nameOf = actorNames(' ');
  return {
    told,
    observer: {
      next: (event) => {
        const { type, rootId } = event;
        const { sessionId } = event.actorRef;
        if (type === '@xstate.actor') told.push({ type, rootId, sessionId, name: nameOf(event.actorRef) });
        if (type === '@xstate.event') {
          told.push({ type, rootId, sessionId, event: event.event.type, from: event.sourceRef?.sessionId });
        }
        if (type === '@xstate.snapshot') {
          told.push({ type, rootId, sessionId, event: event.event.type, state: stateOf(event.snapshot) });
        }
      },
    },
  };
};

/** The same of what has arrived. */
const heard = (event: StatelyInspectionEvent): unknown => {
  const { type, rootId, sessionId } = event;
  if (type === '@xstate.actor') return { type, rootId, sessionId, name: event.name };
  if (type === '@xstate.event')
    return { type, rootId, sessionId, event: event.event.type, from: event.sourceId };
  const state = [event.snapshot.status, valueOf(event.snapshot)];
  return { type, rootId, sessionId, event: event.event.type, state };
};

const secrets = {
  environment: canary(),
  argument: canary(),
  arg0: canary(),
  input: canary(),
  terminalInput: canary(),
  output: canary(),
};

/** A process in pipes or in a PTY that prints a canary, is given another, and is left running. */
const use = async (client: TestClient, processId: string, tty: boolean): Promise<void> => {
  const [half, otherHalf] = [secrets.output.slice(0, 20), secrets.output.slice(20)];
  const input = tty ? secrets.terminalInput : secrets.input;
  await client.start(processId, ['sh', '-c', `printf %s%s ${half} ${otherHalf}; cat`, secrets.argument], {
    tty,
    pipeStdin: !tty,
    arg0: secrets.arg0,
    env: { PATH: process.env['PATH'], CANARY: secrets.environment },
  });
  await client.waitOutput(processId, secrets.output);
  await client.write(processId, `${input}\n`, { writeId: 'w' });
  await client.waitOutput(processId, input);
  await client.read(processId);
};

describe('the receiver of @statelyai/inspect', () => {
  it('gets every actor, event and snapshot of a session, and none holds what it carries', async () => {
    const inspector = await startInspector(0, createLog('silent'));
    cleanup(() => inspector.close());
    const received: StatelyInspectionEvent[] = [];
    createWebSocketReceiver({ server: inspector.stately?.url ?? '' }).subscribe((event) =>
      received.push(event),
    );
    const { told, observer } = recorder();
    const { url, stop } = await listenLocal({ inspect: [observer], onSession: inspector.onSession });
    // actors are observed once it is connected: from the first session on of which it hears
    let before = 0;
    do {
      before++;
      const client = await connectWebSocket(url);
      await client.close();
    } while (received.length === 0);

    const first = await connectWebSocket(url);
    const { sessionId } = await first.initialize({ resumeSessionId: null });
    await use(first, 'build-1', false);
    const other = await connectWebSocket(url);
    await other.initialize();
    await use(other, 'shell', true);
    await other.request('fs/getMetadata', { path: '/' });
    await first.close();

    const second = await connectWebSocket(url);
    while ((await second.call('initialize', { clientName: 'c', resumeSessionId: sessionId })).error);
    second.notify('initialized');
    await second.request('process/closeStdin', { processId: 'build-1' });
    await second.processClosed('build-1');
    await other.request('process/terminate', { processId: 'shell', signal: 'hangup' });
    await other.processClosed('shell');
    await other.close();
    await stop();

    const rootsBefore = new Set(told.flatMap(({ name, rootId }) => (isAmong(before, name) ? [rootId] : [])));
    const toldAfter = told.filter(({ rootId }) => rootId === undefined || !rootsBefore.has(rootId));
    const receivedAfter = (): StatelyInspectionEvent[] =>
      received.filter(({ rootId }) => rootId === undefined || !rootsBefore.has(rootId));
    await eventually(() => receivedAfter().length === toldAfter.length, 'all that was told');
    expect(receivedAfter().map(heard)).to.deep.equal(toldAfter);
    const actors = received.filter(({ type }) => type === '@xstate.actor').map(heard);
    for (const name of [
      `connection ${before + 1}`,
      'process build-1',
      'child of process build-1',
      `connection ${before + 2}`,
      'process shell',
      'child of process shell',
      `files of connection ${before + 2}`,
      // of the wire that came back, until it took up the first
      `connection ${before + 3}`,
    ]) {
      expect(actors.filter((actor) => Reflect.get(Object(actor), 'name') === name)).to.have.lengthOf(1);
    }
    const text = JSON.stringify(received);
    expect(text).to.include('"program":"sh"').and.to.include('CANARY').and.to.include('"resumable":true');
    expect(foundIn(text, { ...secrets, sessionId: String(sessionId) })).to.deep.equal([]);
  });
});
