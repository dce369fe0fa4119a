import { expect } from 'chai';
import { initialTransition, transition } from 'xstate';
import { type ConnectionEvent, connectionMachine } from '../../machines/connection.js';
import { connectionInput, environmentInfo } from '../support/machines.js';
import {
  closeStdin,
  fileRequest,
  httpRequest,
  initialize,
  read,
  refused,
  resize,
  signal,
  startEvent,
  terminate,
  write,
} from '../support/requests.js';

/** What xstate calls the action; its types don't tell. */
const EMIT: string = 'xstate.emit';

/** Where these events lead from the beginning, and what the last of them emits. Nothing is run. */
const after = (...events: readonly ConnectionEvent[]): { value: unknown; emitted: unknown[] } => {
  let [snapshot, actions] = initialTransition(connectionMachine, connectionInput());
  for (const event of events) [snapshot, actions] = transition(connectionMachine, snapshot, event);
  const emitted = actions
    .filter(({ type }) => type === EMIT)
    .map(({ params }) =>
      typeof params === 'object' && params !== null && 'event' in params ? params.event : undefined,
    );
  return { value: snapshot.value, emitted };
};

const reply = (answer: object): object => ({ type: 'reply', ...answer });

const initialized: ConnectionEvent = { type: 'initialized' };
const opening = [initialize('i')];
const handshake = [initialize('i'), initialized];

const AWAITING_INITIALIZE = { open: 'awaitingInitialize' };
const AWAITING_INITIALIZED = { open: 'awaitingInitialized' };
const READY = { open: 'ready' };

const earlyRequests: readonly (readonly [family: string, request: ConnectionEvent])[] = [
  ['exec', startEvent('p', { id: 'r' })],
  ['exec', read('r', 'p', { waitMs: 1_000 })],
  ['exec', write('r', 'p', 'text')],
  ['exec', terminate('r', 'p')],
  ['exec', signal('r', 'p')],
  ['exec', resize('r', 'p')],
  ['exec', closeStdin('r', 'p')],
  ['exec', { type: 'process.list', id: 'r' }],
  ['filesystem', { type: 'fs.readFile', id: 'r', refusal: { code: -32602, message: 'no' } }],
  ['filesystem', fileRequest('r')],
  ['http', httpRequest('r')],
  ['environment info', { type: 'environment.info', id: 'r' }],
  ['environment status', { type: 'environment.status', id: 'r' }],
  ['server state', { type: 'server.state', id: 'r' }],
];

const refusal = { code: -32600, message: 'unknown session id S-1' };

describe('the handshake', () => {
  it('starts with nothing but a wire', () => {
    expect(after()).to.deep.equal({ value: AWAITING_INITIALIZE, emitted: [] });
  });

  for (const [family, request] of earlyRequests) {
    it(`refuses ${request.type} before initialize, and stays open`, () => {
      const message = `client must call initialize before using ${family} methods`;
      expect(after(request)).to.deep.equal({
        value: AWAITING_INITIALIZE,
        emitted: [reply(refused('r', message))],
      });
    });

    it(`refuses ${request.type} before initialized, and stays open`, () => {
      const message = `client must send initialized before using ${family} methods`;
      expect(after(...opening, request)).to.deep.equal({
        value: AWAITING_INITIALIZED,
        emitted: [reply(refused('r', message))],
      });
    });
  }

  it('answers initialize with the version, the session and the environment', () => {
    expect(after(initialize('i'))).to.deep.equal({
      value: AWAITING_INITIALIZED,
      emitted: [
        reply({
          id: 'i',
          result: { protocolVersion: 'exec-server.v0', sessionId: 'session 1', environmentInfo },
        }),
      ],
    });
  });

  it('refuses a second initialize in both states, and goes on', () => {
    const answer = reply(refused('again', 'initialize may only be sent once per connection'));
    expect(after(...opening, initialize('again'))).to.deep.equal({
      value: AWAITING_INITIALIZED,
      emitted: [answer],
    });
    expect(after(...handshake, initialize('again'))).to.deep.equal({ value: READY, emitted: [answer] });
    expect(after(...handshake, initialize('again', { refusal }))).to.deep.equal({
      value: READY,
      emitted: [answer],
    });
  });

  it('tells why a session cannot be resumed', () => {
    expect(after(initialize('i', { refusal }))).to.deep.equal({
      value: AWAITING_INITIALIZE,
      emitted: [reply({ id: 'i', error: refusal })],
    });
  });

  it('lets an initialize that failed be tried again', () => {
    const { value, emitted } = after(initialize('i', { refusal }), initialize('again'));
    expect(value).to.deep.equal(AWAITING_INITIALIZED);
    expect(emitted).to.have.lengthOf(1);
    expect(emitted[0]).to.have.property('result');
  });

  it('ends with initialized before initialize, which breaks the protocol', () => {
    const violation = { type: 'violation', reason: 'initialized was sent before initialize' };
    expect(after(initialized)).to.deep.equal({ value: 'closed', emitted: [violation] });
    expect(after(initialize('i', { refusal }), initialized)).to.deep.equal({
      value: 'closed',
      emitted: [violation],
    });
  });

  it('is over with initialized, and does not mind another one', () => {
    expect(after(...handshake)).to.deep.equal({ value: READY, emitted: [] });
    expect(after(...handshake, initialized)).to.deep.equal({ value: READY, emitted: [] });
  });

  for (const [name, events] of [
    ['initialize', []],
    ['initialized', opening],
    ['a process is started', handshake],
  ] as const) {
    it(`closes at once if the wire ends before ${name}`, () => {
      expect(after(...events, { type: 'wire.closed' })).to.deep.equal({ value: 'closed', emitted: [] });
    });
  }

  it('serves nothing once it is closed', () => {
    for (const event of [initialize('i'), initialized, ...earlyRequests.map(([, request]) => request)]) {
      expect(after(...handshake, { type: 'wire.closed' }, event)).to.deep.equal({
        value: 'closed',
        emitted: [],
      });
    }
  });
});
