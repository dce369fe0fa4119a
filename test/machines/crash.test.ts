import { expect } from 'chai';
import { NotificationEncoder, processNames } from '../../src/output/encode.js';
import { OutputLog } from '../../src/output/log.js';
import type { EndReason } from '../../src/protocol.js';
import { RETENTION_MS, Session, type StubChild } from '../support/machines.js';
import { answered, read, started, write } from '../support/requests.js';

const fault = new Error('a fault of the test');

/** Fails when the process machine uses it, at the exit or at the end. */
class BrokenLog extends OutputLog {
  constructor(private readonly broken: 'exited' | 'release') {
    super(1024, new NotificationEncoder('p', processNames));
  }

  override exited(exitCode: number, signal: string | null, reason: EndReason): void {
    if (this.broken === 'exited') throw fault;
    super.exited(exitCode, signal, reason);
  }

  override release(): void {
    if (this.broken === 'release') throw fault;
    super.release();
  }
}

const crash = { type: 'crash', processId: 'p', error: fault };

const reply = (id: string, text: string): object => ({
  id,
  output: [[1, text]],
  nextSeq: 2,
  exitCode: null,
  closed: false,
});

/** The connection is as it was: another process goes on, and the id is free. */
const expectLife = (session: Session, other: StubChild): void => {
  expect(session.state).to.deep.equal({ open: 'ready' });
  expect(session.kept).to.deep.equal({ processes: 1, actors: 1 });
  other.prints('text');
  expect(session.answers()).to.deep.equal([reply('waits', 'text')]);
  const child = session.begin('p', { id: 'again' });
  child.tells({ type: 'child.spawned', pid: 7 });
  expect(session.answers()).to.deep.equal([answered('again', started('p'))]);
  child.prints('new');
  expect(session.ask(read('r', 'p'))).to.deep.equal([reply('r', 'new')]);
};

describe('a process actor that crashes', () => {
  it('is told and forgotten; the connection and its other processes go on', () => {
    const session = new Session();
    const other = session.run('other');
    session.send(read('waits', 'other', { waitMs: 60_000 }));
    const child = session.run('p', { log: new BrokenLog('exited') });
    session.send(read('lost', 'p', { waitMs: 60_000 }));
    session.send(write('lost too', 'p', 'text'));
    expect(session.answers()).to.deep.equal([]);
    child.exits();
    expect(session.answers()).to.deep.equal([crash]);
    // the deadline that is left is that of the other one's read
    expect(session.clock.waiting).to.equal(1);
    expectLife(session, other);
  });

  it('before it has a child is told, too', () => {
    let broken = false;
    const session = new Session({
      onChild: () => {
        if (broken) throw fault;
      },
    });
    const other = session.run('other');
    session.send(read('waits', 'other', { waitMs: 60_000 }));
    broken = true;
    session.begin('p');
    expect(session.answers()).to.deep.equal([crash]);
    broken = false;
    expectLife(session, other);
  });

  it('because its child did is told all the same', () => {
    const session = new Session();
    const other = session.run('other');
    session.send(read('waits', 'other', { waitMs: 60_000 }));
    const child = session.run('p');
    child.fault = fault;
    session.send(write('lost', 'p', 'text'));
    expect(session.answers()).to.deep.equal([crash]);
    expectLife(session, other);
  });

  it('at its eviction leaves nothing behind', () => {
    const session = new Session();
    const child = session.run('p', { log: new BrokenLog('release') });
    child.exits();
    child.closes();
    session.clock.increment(RETENTION_MS);
    expect(session.answers()).to.deep.equal([crash]);
    expect(session.kept).to.deep.equal({ processes: 0, actors: 0 });
  });

  it('while the session ends does not keep it from ending', () => {
    const session = new Session();
    const child = session.run('p', { log: new BrokenLog('release') });
    const other = session.run('other');
    session.send({ type: 'wire.closed' });
    child.exits(137, 'SIGKILL');
    other.exits(137, 'SIGKILL');
    expect(session.answers()).to.deep.equal([crash]);
    expect(session.state).to.equal('closed');
    expect(other.stopped).to.equal(true);
    expect(session.input.groups.ends).to.equal(1);
  });

  it('leaves no child that goes on', () => {
    const session = new Session();
    const child = session.run('p', { log: new BrokenLog('exited') });
    child.exits();
    expect(child.commands).to.deep.equal([{ type: 'abandon' }]);
  });
});
