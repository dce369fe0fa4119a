import { expect } from 'chai';
import type { OutputLog } from '../../src/output/log.js';
import { reader, RETENTION_MS, Session, type StubChild } from '../support/machines.js';
import { outputLog, read, refused, terminate } from '../support/requests.js';

/** docs/protocol.md, process/terminate: `closed` follows within this. */
const CLOSED_WITHIN_MS = 2_000;

const attachedLog = (): OutputLog => {
  const log = outputLog('p');
  log.attach(reader);
  return log;
};

/** What the client is told, in order. Takes it all. */
const told = (log: OutputLog): unknown[] => {
  const records: unknown[] = [];
  for (let record = log.peekUnsent(); record !== undefined; record = log.peekUnsent()) {
    if (record.kind === 'exited') records.push([record.seq, record.kind, record.exitCode, record.signal]);
    else records.push([record.seq, record.kind]);
    log.takeUnsent();
  }
  return records;
};

describe('the end of a process', () => {
  it('is told after its output: exited, then closed', () => {
    const session = new Session();
    const log = attachedLog();
    const child = session.run('p', { log });
    child.prints('1');
    child.prints('2', 'stderr');
    child.exits(3);
    child.closes();
    expect(told(log)).to.deep.equal([
      [1, 'chunk'],
      [2, 'chunk'],
      [3, 'exited', 3, null],
      [4, 'closed'],
    ]);
  });

  it('is told when it has exited, though its output comes on', () => {
    const session = new Session();
    const log = attachedLog();
    const child = session.run('p', { log });
    child.prints('1');
    child.exits(137, 'SIGKILL');
    expect(told(log)).to.deep.equal([
      [1, 'chunk'],
      [2, 'exited', 137, 'SIGKILL'],
    ]);
    child.prints('late');
    child.closes();
    expect(told(log)).to.deep.equal([
      [3, 'chunk'],
      [4, 'closed'],
    ]);
  });
});

const closeOutputs = ({ commands }: StubChild): number =>
  commands.filter(({ type }) => type === 'closeOutput').length;

describe('the output of a process', () => {
  it('is left open after its exit', () => {
    const session = new Session();
    const child = session.run('p');
    child.exits();
    session.clock.increment(24 * 60 * 60 * 1_000);
    expect(child.commands).to.deep.equal([]);
    expect(session.stateOf('p')).to.equal('exited');
  });

  it('is closed a second after its exit if it was terminated', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(terminate('t', 'p'));
    session.clock.increment(60_000);
    expect(child.commands).to.deep.equal([{ type: 'kill' }]);
    child.exits(137, 'SIGKILL');
    session.clock.increment(999);
    expect(closeOutputs(child)).to.equal(0);
    session.clock.increment(1);
    expect(closeOutputs(child)).to.equal(1);
    child.closes();
    expect(session.stateOf('p')).to.equal('retained');
  });

  it('is closed a second after a terminate that comes after its exit', () => {
    const session = new Session();
    const child = session.run('p');
    child.exits();
    session.clock.increment(60_000);
    session.send(terminate('t', 'p'));
    expect(child.commands).to.deep.equal([{ type: 'kill' }]);
    session.clock.increment(999);
    expect(closeOutputs(child)).to.equal(0);
    session.clock.increment(1);
    expect(closeOutputs(child)).to.equal(1);
  });

  it('is not closed if it ended by itself', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(terminate('t', 'p'));
    child.exits(137, 'SIGKILL');
    session.clock.increment(500);
    child.closes();
    session.clock.increment(5_000);
    expect(closeOutputs(child)).to.equal(0);
  });

  it('is closed in time however often it is terminated', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(terminate('t', 'p'));
    child.exits(137, 'SIGKILL');
    for (let passed = 0; passed < CLOSED_WITHIN_MS; passed += 500) {
      session.send(terminate('t', 'p'));
      session.clock.increment(500);
    }
    expect(closeOutputs(child)).to.be.at.least(1);
  });
});

describe('a process that is over', () => {
  it('is unknown after its retention, and its id is free', () => {
    const session = new Session();
    const child = session.run('p');
    child.prints('kept');
    child.exits();
    child.closes();
    session.clock.increment(RETENTION_MS - 1);
    expect(session.ask(read('r', 'p'))).to.deep.equal([
      { id: 'r', output: [[1, 'kept']], nextSeq: 4, exitCode: 0, closed: true },
    ]);
    session.clock.increment(1);
    expect(session.ask(read('r', 'p'))).to.deep.equal([refused('r', 'unknown process id p')]);
    expect(child.stopped).to.equal(true);
    const second = session.run('p');
    second.prints('new');
    expect(session.ask(read('r', 'p'))).to.deep.equal([
      { id: 'r', output: [[1, 'new']], nextSeq: 2, exitCode: null, closed: false },
    ]);
  });

  it('is not evicted while somebody holds its output open', () => {
    const session = new Session();
    const child = session.run('p');
    child.exits();
    session.clock.increment(10 * RETENTION_MS);
    expect(session.stateOf('p')).to.equal('exited');
    child.closes();
    session.clock.increment(RETENTION_MS);
    expect(session.stateOf('p')).to.equal(undefined);
  });

  it('is kept for as long again while its client has not taken all of it', () => {
    const session = new Session();
    const log = attachedLog();
    const child = session.run('p', { log });
    child.prints('text');
    child.exits();
    child.closes();
    session.clock.increment(RETENTION_MS);
    expect(session.stateOf('p')).to.equal('retained');
    expect(told(log)).to.have.lengthOf(3);
    session.clock.increment(RETENTION_MS - 1);
    expect(session.ask(read('r', 'p'))).to.deep.equal([
      { id: 'r', output: [[1, 'text']], nextSeq: 4, exitCode: 0, closed: true },
    ]);
    session.clock.increment(1);
    expect(session.stateOf('p')).to.equal(undefined);
  });

  it('is kept as long as a timer can wait where the retention is longer than that', () => {
    const session = new Session({ retentionMs: 2 ** 40 });
    const child = session.run('p');
    child.exits();
    child.closes();
    expect(session.clock.delays).to.deep.equal([2 ** 31 - 1]);
  });

  it('gives up its output when it is evicted', () => {
    const session = new Session();
    const log = outputLog('p');
    const child = session.run('p', { log });
    child.prints('text');
    child.exits();
    child.closes();
    session.clock.increment(RETENTION_MS);
    expect(log.toJSON()).to.deep.include({ retainedBytes: 0 });
  });
});
