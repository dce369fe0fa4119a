import { expect } from 'chai';
import type { ConnectionEvent } from '../../machines/connection.js';
import { Places } from '../../src/process/places.js';
import { environmentInfo, RETENTION_MS, Session } from '../support/machines.js';
import {
  answered,
  ack,
  closeStdin,
  initialize,
  read,
  refused,
  resize,
  signal,
  started,
  startEvent,
  terminate,
  write,
} from '../support/requests.js';

const list: ConnectionEvent = { type: 'process.list', id: 'list' };

describe('a connection that is ready', () => {
  it('tells its environment and that it is ready', () => {
    const session = new Session();
    expect(session.ask({ type: 'environment.info', id: 'e' })).to.deep.equal([
      answered('e', environmentInfo),
    ]);
    expect(session.ask({ type: 'environment.status', id: 'e' })).to.deep.equal([
      answered('e', { status: 'ready' }),
    ]);
  });

  const toUnknown: readonly (readonly [what: string, request: ConnectionEvent, answer: object])[] = [
    ['process/read', read('r', 'p'), refused('r', 'unknown process id p')],
    ['process/read that waits', read('r', 'p', { waitMs: 1_000 }), refused('r', 'unknown process id p')],
    ['process/write', write('r', 'p', 'text'), refused('r', 'unknown process id p')],
    [
      'process/write with a writeId',
      write('r', 'p', 'text', 'w'),
      answered('r', { accepted: false, status: 'unknownProcess' }),
    ],
    ['process/terminate', terminate('r', 'p'), answered('r', { running: false })],
    ['process/signal', signal('r', 'p'), answered('r', {})],
    ['process/resize', resize('r', 'p'), refused('r', 'unknown process id p')],
    ['process/closeStdin', closeStdin('r', 'p'), refused('r', 'unknown process id p')],
    ['process/ack', ack('r', 'p', 1), refused('r', 'unknown process id p')],
  ];
  for (const [what, request, answer] of toUnknown) {
    it(`answers ${what} to an unknown process`, () => {
      expect(new Session().ask(request)).to.deep.equal([answer]);
    });
  }

  it('answers a start that is refused beforehand, and the id stays free', () => {
    const session = new Session();
    const refusal = { code: -32602, message: 'argv must not be empty' };
    const start: ConnectionEvent = {
      type: 'process.start',
      id: 's',
      processId: 'p',
      result: started('p'),
      start: { refusal },
    };
    expect(session.ask(start)).to.deep.equal([{ id: 's', error: refusal }]);
    expect(session.children).to.have.lengthOf(0);
    session.run('p');
    expect(session.stateOf('p')).to.equal('running');
    // what is wrong with the parameters comes before the id that is taken
    expect(session.ask(start)).to.deep.equal([{ id: 's', error: refusal }]);
  });

  it('refuses an id that is taken: starting, running, exited and retained', () => {
    const session = new Session();
    const again = startEvent('p', { id: 'again' });
    const taken = [refused('again', 'process p already exists')];
    const child = session.begin('p');
    expect(session.ask(again)).to.deep.equal(taken);
    child.tells({ type: 'child.spawned', pid: 7 });
    expect(session.ask(again)).to.deep.equal(taken);
    child.exits();
    expect(session.stateOf('p')).to.equal('exited');
    expect(session.ask(again)).to.deep.equal(taken);
    child.closes();
    expect(session.stateOf('p')).to.equal('retained');
    expect(session.ask(again)).to.deep.equal(taken);
    session.clock.increment(RETENTION_MS);
    expect(session.children).to.have.lengthOf(1);
    session.begin('p', { id: 'again' }).tells({ type: 'child.spawned', pid: 8 });
    expect(session.answers()).to.deep.equal([answered('again', started('p'))]);
  });

  it('refuses a start when no place is left, after an id that is taken', () => {
    const places = new Places(1, 'limit reached: 1 process');
    const session = new Session({ places });
    session.run('p');
    const leave = places.take();
    expect(session.ask(startEvent('p', { id: 's' }))).to.deep.equal([
      refused('s', 'process p already exists'),
    ]);
    expect(session.ask(startEvent('q', { id: 's' }))).to.deep.equal([
      { id: 's', error: { code: -32001, message: 'limit reached: 1 process' } },
    ]);
    expect([session.stateOf('q'), session.children.length]).to.deep.equal([undefined, 1]);
    leave();
    session.run('q');
    expect(session.stateOf('q')).to.equal('running');
  });

  it('lists its processes in each state', () => {
    const session = new Session();
    expect(session.ask(list)).to.deep.equal([answered('list', { processes: [] })]);
    session.begin('starting', { tty: true });
    session.run('running');
    session.run('exited', { tty: true }).exits(7);
    const retained = session.run('retained');
    retained.exits(137, 'SIGKILL');
    retained.closes();
    expect(session.ask(list)).to.deep.equal([
      answered('list', {
        processes: [
          { processId: 'starting', state: 'starting', tty: true, pid: null, exitCode: null },
          { processId: 'running', state: 'running', tty: false, pid: 4242, exitCode: null },
          { processId: 'exited', state: 'exited', tty: true, pid: 4242, exitCode: 7 },
          { processId: 'retained', state: 'retained', tty: false, pid: 4242, exitCode: 137 },
        ],
      }),
    ]);
  });

  it('keeps processes apart whatever their ids are, and forgets each', () => {
    const session = new Session();
    const ids = ['', '.', '*', 'a.b', 'a', '__proto__', 'constructor', 'process:a', 'x y', '\u{1F600}', '\0'];
    const children = ids.map((id) => session.run(id));
    expect(session.kept).to.deep.equal({ processes: ids.length, actors: ids.length });
    for (const [index, id] of ids.entries()) {
      children[index]?.exits(index);
      children[index]?.closes();
      expect(session.ask(read('r', id))).to.deep.equal([
        { id: 'r', output: [], nextSeq: 3, exitCode: index, closed: true },
      ]);
    }
    session.clock.increment(RETENTION_MS);
    expect(session.kept).to.deep.equal({ processes: 0, actors: 0 });
    for (const id of ids) {
      expect(session.ask(read('r', id))).to.deep.equal([refused('r', `unknown process id ${id}`)]);
    }
  });

  it('keeps no actor of the processes that were', () => {
    const session = new Session();
    for (let count = 0; count < 2_000; count++) {
      const child = session.run('p');
      child.exits();
      child.closes();
      session.clock.increment(RETENTION_MS);
    }
    expect(session.children).to.have.lengthOf(2_000);
    expect(session.children.filter(({ stopped }) => !stopped)).to.have.lengthOf(0);
    expect(session.kept).to.deep.equal({ processes: 0, actors: 0 });
    expect(session.clock.waiting).to.equal(0);
  });
});

describe('the end of the wire', () => {
  it('ends the processes in every state, answers all that waits, and closes', () => {
    const session = new Session();
    session.begin('starting');
    const running = session.run('running');
    session.run('draining').exits();
    const closing = session.run('closing');
    closing.exits();
    session.send(terminate('t', 'closing'));
    const retained = session.run('retained');
    retained.exits();
    retained.closes();
    for (const id of ['running', 'draining', 'closing']) {
      session.send(read(`read ${id}`, id, { afterSeq: 9, waitMs: 60_000 }));
    }
    session.send(write('write', 'running', 'text'));
    session.send(write('write with an id', 'running', 'text', 'w'));
    session.answers();
    session.send({ type: 'wire.closed' });
    expect(session.answers()).to.have.deep.members([
      refused('start starting', 'process starting start was cancelled'),
      refused('read running', 'process running ended with its session'),
      refused('write', 'stdin is closed for process running'),
      answered('write with an id', { accepted: false, status: 'stdinClosed' }),
      refused('read draining', 'process draining ended with its session'),
      refused('read closing', 'process closing ended with its session'),
    ]);
    expect(session.state).to.equal('closing');
    expect(running.commands.at(-1)).to.deep.equal({ type: 'kill' });
    running.exits(137, 'SIGKILL');
    expect(session.state).to.equal('closed');
    expect(session.children.map(({ stopped }) => stopped)).to.deep.equal([true, true, true, true, true]);
    expect(session.kept).to.deep.equal({ processes: 0, actors: 0 });
    expect(session.input.groups.ends).to.equal(1);
    expect(session.clock.waiting).to.equal(0);
  });

  it('closes a session without processes', () => {
    const session = new Session();
    session.send({ type: 'wire.closed' });
    expect(session.state).to.equal('closed');
    expect(session.input.groups.ends).to.equal(1);
    expect(session.answers()).to.deep.equal([]);
  });

  it('ends the groups once, and answers nothing after that', () => {
    const session = new Session();
    const child = session.run('p');
    session.send({ type: 'wire.closed' });
    child.exits(137, 'SIGKILL');
    session.send({ type: 'wire.closed' });
    expect(session.input.groups.ends).to.equal(1);
    for (const request of [initialize('i'), read('r', 'p'), list]) {
      expect(session.ask(request)).to.deep.equal([]);
    }
  });
});
