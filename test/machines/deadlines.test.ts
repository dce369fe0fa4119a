import { expect } from 'chai';
import { NotificationEncoder, processNames } from '../../src/output/encode.js';
import { OutputLog } from '../../src/output/log.js';
import { Session, type StubChild } from '../support/machines.js';
import { answered, read, terminate, write } from '../support/requests.js';

/** As quiet as the test says. */
class TimedLog extends OutputLog {
  quiet = 0;

  constructor() {
    super(1024, new NotificationEncoder('p', processNames));
  }

  override get quietMs(): number {
    return this.quiet;
  }
}

const kills = ({ commands }: StubChild): number => commands.filter(({ type }) => type === 'kill').length;

/** What a read tells of how it ended. */
const ending = (session: Session): unknown => {
  const { context } = session.snapshotOf('p');
  return [context.exitCode, context.signal, context.endedBy];
};

describe('process/terminate with a signal', () => {
  it('sends it, and kills the group when the grace is over', () => {
    const session = new Session();
    const child = session.run('p');
    expect(session.ask(terminate('t', 'p', { signal: 'interrupt', graceMs: 300 }))).to.deep.equal([
      answered('t', { running: true }),
    ]);
    expect(child.commands).to.deep.equal([{ type: 'signal', signal: 'interrupt' }]);
    session.clock.increment(299);
    expect(kills(child)).to.equal(0);
    session.clock.increment(1);
    expect(kills(child)).to.equal(1);
  });

  it('waits 5 s where nothing is said, and sends SIGTERM where only the time is said', () => {
    const session = new Session();
    const [one, other] = [session.run('one'), session.run('other')];
    session.send(terminate('t', 'one', { signal: 'hangup' }));
    session.send(terminate('t', 'other', { graceMs: 7_000 }));
    expect(one.commands).to.deep.equal([{ type: 'signal', signal: 'hangup' }]);
    expect(other.commands).to.deep.equal([{ type: 'signal', signal: 'terminate' }]);
    session.clock.increment(5_000);
    expect([kills(one), kills(other)]).to.deep.equal([1, 0]);
    session.clock.increment(2_000);
    expect([kills(one), kills(other)]).to.deep.equal([1, 1]);
  });

  for (const ladder of [{ signal: 'kill' }, { graceMs: 0 }, { signal: 'terminate', graceMs: 0 }] as const) {
    it(`kills at once with ${JSON.stringify(ladder)}`, () => {
      const session = new Session();
      const child = session.run('p');
      session.send(terminate('t', 'p', ladder));
      expect(child.commands).to.deep.equal([{ type: 'kill' }]);
    });
  }

  it('can be followed by one that does not wait, and a later one puts nothing off', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(terminate('t', 'p', { graceMs: 1_000 }));
    session.clock.increment(900);
    session.send(terminate('t', 'p', { graceMs: 60_000 }));
    session.clock.increment(100);
    expect(kills(child)).to.equal(1);
    session.send(terminate('t', 'p'));
    expect(kills(child)).to.equal(2);
  });

  it('lets what is left of the group have its grace, too', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(terminate('t', 'p', { graceMs: 1_000 }));
    child.exits(143, 'SIGTERM');
    session.clock.increment(999);
    expect(kills(child)).to.equal(0);
    session.clock.increment(1);
    expect(kills(child)).to.equal(1);
    expect(ending(session)).to.deep.equal([143, 'SIGTERM', 'terminated']);
  });

  it('kills who holds no output open as soon as that is at its end', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(terminate('t', 'p', { graceMs: 60_000 }));
    child.exits();
    child.closes();
    expect(kills(child)).to.equal(1);
    expect(session.stateOf('p')).to.equal('retained');
  });
});

describe('process/terminate of a server that sweeps', () => {
  it('is answered when the sweep is done, with who is left', () => {
    const session = new Session({ sweeps: true });
    const child = session.run('p');
    expect(session.ask(terminate('1', 'p'))).to.deep.equal([]);
    child.exits(137, 'SIGKILL');
    expect(session.ask(terminate('2', 'p'))).to.deep.equal([]);
    child.tells({ type: 'child.swept', survivors: 2 });
    expect(session.answers()).to.deep.equal([
      answered('1', { running: true, survivors: 2 }),
      answered('2', { running: false, survivors: 2 }),
    ]);
  });

  it('is answered without a number when the process is over before that', () => {
    const session = new Session({ sweeps: true });
    const child = session.run('p');
    session.send(terminate('t', 'p'));
    session.send({ type: 'wire.closed' });
    child.exits(137, 'SIGKILL');
    expect(session.answers()).to.deep.equal([answered('t', { running: true })]);
  });
});

describe('timeoutMs', () => {
  it('kills the group at its time, whatever it prints', () => {
    const session = new Session();
    const child = session.run('p', { timeoutMs: 500 });
    session.clock.increment(499);
    child.prints('busy');
    expect(kills(child)).to.equal(0);
    session.clock.increment(1);
    expect(kills(child)).to.equal(1);
    child.exits(137, 'SIGKILL');
    expect(ending(session)).to.deep.equal([137, 'SIGKILL', 'timeout']);
  });

  it('holds for what outlives the child', () => {
    const session = new Session();
    const child = session.run('p', { timeoutMs: 500 });
    child.exits();
    session.clock.increment(500);
    expect(kills(child)).to.equal(1);
    expect(ending(session)).to.deep.equal([0, null, null]);
  });

  it('is over with the process', () => {
    const session = new Session();
    const child = session.run('p', { timeoutMs: 500, idleTimeoutMs: 500 });
    child.exits();
    child.closes();
    session.clock.increment(500);
    expect(kills(child)).to.equal(0);
  });
});

describe('idleTimeoutMs', () => {
  it('kills the group when there was neither output nor input for so long', () => {
    const session = new Session();
    const log = new TimedLog();
    const child = session.run('p', { log, idleTimeoutMs: 1_000 });
    log.quiet = 400;
    session.clock.increment(1_000);
    expect(kills(child)).to.equal(0);
    log.quiet = 999;
    session.clock.increment(600);
    expect(kills(child)).to.equal(0);
    log.quiet = 1_000;
    session.clock.increment(1);
    expect(kills(child)).to.equal(1);
    child.exits(137, 'SIGKILL');
    expect(ending(session)).to.deep.equal([137, 'SIGKILL', 'idle']);
  });

  it('takes input for activity', () => {
    const log = new OutputLog(1024, new NotificationEncoder('p', processNames));
    let noted = 0;
    log.noteInput = () => void noted++;
    const session = new Session();
    session.run('p', { log, idleTimeoutMs: 1_000 });
    session.send(write('w', 'p', 'x'));
    expect(noted).to.equal(1);
  });
});

describe('why a process ended', () => {
  it('is told by the first who made it', () => {
    const session = new Session();
    const child = session.run('p', { timeoutMs: 500 });
    session.send(terminate('t', 'p', { graceMs: 1_000 }));
    session.clock.increment(500);
    child.exits(137, 'SIGKILL');
    expect(ending(session)).to.deep.equal([137, 'SIGKILL', 'terminated']);
  });

  it('is told by a read, too', () => {
    const session = new Session();
    session.run('p').exits(143, 'SIGTERM');
    expect(session.ask(read('r', 'p', { afterSeq: 0 }))).to.deep.include.members([
      {
        id: 'r',
        output: [],
        nextSeq: 2,
        exitCode: 143,
        signal: 'SIGTERM',
        reason: 'signalled',
        closed: false,
      },
    ]);
  });
});
