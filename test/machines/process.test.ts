import { expect } from 'chai';
import type { ProcessRequest } from '../../machines/process.js';
import { Session, type StubChild } from '../support/machines.js';
import {
  answered,
  ack,
  closeStdin,
  read,
  refused,
  resize,
  signal,
  started,
  terminate,
  write,
} from '../support/requests.js';

describe('a process that starts', () => {
  it('answers its start when the child runs, not before', () => {
    const session = new Session();
    const child = session.begin('p');
    expect(session.answers()).to.deep.equal([]);
    child.tells({ type: 'child.spawned', pid: 7 });
    expect(session.answers()).to.deep.equal([answered('start p', started('p'))]);
    expect(session.stateOf('p')).to.equal('running');
  });

  for (const kind of ['spawnNotFound', 'spawnPermissionDenied', 'spawnFailed'] as const) {
    it(`answers -32603 with ${kind}, and its id is free`, () => {
      const session = new Session();
      const child = session.begin('p');
      child.tells({ type: 'child.failed', failure: { kind, message: 'cannot do it: a reason' } });
      expect(session.answers()).to.deep.equal([
        { id: 'start p', error: { code: -32603, message: 'cannot do it: a reason', data: { kind } } },
      ]);
      expect(child.stopped).to.equal(true);
      expect(session.kept).to.deep.equal({ processes: 0, actors: 0 });
      session.run('p');
      expect(session.stateOf('p')).to.equal('running');
    });
  }

  it('is cancelled by terminate, and its id is free', () => {
    const session = new Session();
    const child = session.begin('p');
    expect(session.ask(terminate('t', 'p'))).to.deep.equal([
      answered('t', { running: true }),
      refused('start p', 'process p start was cancelled'),
    ]);
    expect(child.stopped).to.equal(true);
    expect(session.kept).to.deep.equal({ processes: 0, actors: 0 });
    session.run('p');
    child.tells({ type: 'child.failed', failure: { kind: 'spawnFailed', message: 'too late' } });
    expect(session.answers()).to.deep.equal([]);
    expect(session.stateOf('p')).to.equal('running');
  });

  it('may be written to with the same writeId once it runs', () => {
    const session = new Session();
    const child = session.begin('p');
    session.send(write('early', 'p', 'text', 'w'));
    child.tells({ type: 'child.spawned', pid: 7 });
    session.send(write('late', 'p', 'text', 'w'));
    expect(child.commands.map(({ type }) => type)).to.deep.equal(['write']);
  });
});

/** One request about the process p, what it is answered, and what its child is asked to do. */
type Case = readonly [what: string, request: ProcessRequest, answer: object | null, asked: readonly object[]];

const starting = refused('r', 'process id p is starting');
const stdinClosed = refused('r', 'stdin is closed for process p');
const stdinClosedResult = answered('r', { accepted: false, status: 'stdinClosed' });
const noTerminal = refused('r', 'process p has no terminal to resize');
const empty = (exitCode: number | null, closed: boolean, nextSeq: number): object => ({
  id: 'r',
  output: [],
  nextSeq,
  exitCode,
  closed,
});
const kill = [{ type: 'kill' }];
const interrupt = [{ type: 'signal', signal: 'interrupt' }];

const cases: Readonly<Record<string, { reach: (child: StubChild) => void; cases: readonly Case[] }>> = {
  starting: {
    reach: () => undefined,
    cases: [
      ['read', read('r', 'p'), starting, []],
      ['read that waits', read('r', 'p', { waitMs: 1_000 }), starting, []],
      ['write', write('r', 'p', 'x'), starting, []],
      [
        'write with a writeId',
        write('r', 'p', 'x', 'w'),
        answered('r', { accepted: false, status: 'starting' }),
        [],
      ],
      ['signal', signal('r', 'p'), answered('r', {}), []],
      ['resize', resize('r', 'p'), starting, []],
      ['closeStdin', closeStdin('r', 'p'), starting, []],
      ['ack', ack('r', 'p', 1), starting, []],
    ],
  },
  running: {
    reach: (child) => child.tells({ type: 'child.spawned', pid: 7 }),
    cases: [
      ['read', read('r', 'p'), empty(null, false, 1), []],
      ['read that waits', read('r', 'p', { waitMs: 1_000 }), null, []],
      ['terminate', terminate('r', 'p'), answered('r', { running: true }), kill],
      ['signal', signal('r', 'p'), answered('r', {}), interrupt],
      ['resize', resize('r', 'p'), noTerminal, []],
      ['closeStdin', closeStdin('r', 'p'), answered('r', {}), [{ type: 'endStdin' }]],
      ['ack', ack('r', 'p', 1), answered('r', {}), []],
    ],
  },
  exited: {
    reach: (child) => {
      child.tells({ type: 'child.spawned', pid: 7 });
      child.exits(3);
    },
    cases: [
      ['read', read('r', 'p', { afterSeq: 1 }), empty(3, false, 2), []],
      ['read that waits, before the exit', read('r', 'p', { waitMs: 1_000 }), empty(3, false, 2), []],
      ['read that waits, after the exit', read('r', 'p', { afterSeq: 1, waitMs: 1_000 }), null, []],
      ['write', write('r', 'p', 'x'), stdinClosed, []],
      ['write with a writeId', write('r', 'p', 'x', 'w'), stdinClosedResult, []],
      ['terminate', terminate('r', 'p'), answered('r', { running: false }), kill],
      // somebody of its group may be left
      ['signal', signal('r', 'p'), answered('r', {}), interrupt],
      ['resize', resize('r', 'p'), noTerminal, []],
      ['closeStdin', closeStdin('r', 'p'), answered('r', {}), []],
      ['ack', ack('r', 'p', 1), answered('r', {}), []],
    ],
  },
  retained: {
    reach: (child) => {
      child.tells({ type: 'child.spawned', pid: 7 });
      child.exits(3);
      child.closes();
    },
    cases: [
      ['read', read('r', 'p'), empty(3, true, 3), []],
      ['read that waits', read('r', 'p', { afterSeq: 9, waitMs: 1_000 }), empty(3, true, 3), []],
      ['write', write('r', 'p', 'x'), stdinClosed, []],
      ['write with a writeId', write('r', 'p', 'x', 'w'), stdinClosedResult, []],
      ['terminate', terminate('r', 'p'), answered('r', { running: false }), kill],
      ['signal', signal('r', 'p'), answered('r', {}), []],
      ['resize', resize('r', 'p'), noTerminal, []],
      ['closeStdin', closeStdin('r', 'p'), answered('r', {}), []],
      ['ack', ack('r', 'p', 1), answered('r', {}), []],
    ],
  },
};

for (const [state, { reach, cases: inState }] of Object.entries(cases)) {
  describe(`a process that is ${state}`, () => {
    for (const [what, request, answer, asked] of inState) {
      it(`${answer === null ? 'lets wait' : 'answers'} ${what}, and stays ${state}`, () => {
        const session = new Session();
        const child = session.begin('p');
        reach(child);
        expect(session.ask(request)).to.deep.equal(answer === null ? [] : [answer]);
        expect(child.commands).to.deep.equal(asked);
        expect(session.stateOf('p')).to.equal(state);
      });
    }
  });
}

describe('a process in a terminal', () => {
  it('is resized while it runs; after that there is nothing to do', () => {
    const session = new Session();
    const child = session.run('p', { tty: true, pipeStdin: false });
    const size = { type: 'resize', rows: 50, cols: 100 };
    expect(session.ask(resize('r', 'p'))).to.deep.equal([answered('r', {})]);
    expect(child.commands).to.deep.equal([size]);
    child.exits();
    expect(session.ask(resize('r', 'p'))).to.deep.equal([answered('r', {})]);
    child.closes();
    expect(session.ask(resize('r', 'p'))).to.deep.equal([answered('r', {})]);
    expect(child.commands).to.deep.equal([size]);
  });

  it('takes input after closeStdin, which is a key there', () => {
    const session = new Session();
    const child = session.run('p', { tty: true, pipeStdin: false });
    session.send(closeStdin('c', 'p'));
    session.send(write('w', 'p', 'text'));
    expect(child.commands.map(({ type }) => type)).to.deep.equal(['endStdin', 'write']);
  });
});
