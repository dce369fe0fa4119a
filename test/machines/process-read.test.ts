import { expect } from 'chai';
import { Session } from '../support/machines.js';
import { outputLog, read } from '../support/requests.js';

const WAIT_MS = 5_000;

/** The answer to a read of a process that has not exited. */
const page = (
  id: string,
  output: readonly (readonly [seq: number, text: string])[],
  nextSeq: number,
): object => ({
  id,
  output,
  nextSeq,
  exitCode: null,
  closed: false,
});

describe('a read that waits', () => {
  it('is answered at once where there is output', () => {
    const session = new Session();
    session.run('p').prints('text');
    expect(session.ask(read('r', 'p', { waitMs: WAIT_MS }))).to.deep.equal([page('r', [[1, 'text']], 2)]);
  });

  it('is woken by output, once', () => {
    const session = new Session();
    const child = session.run('p');
    expect(session.ask(read('r', 'p', { waitMs: WAIT_MS }))).to.deep.equal([]);
    child.prints('text');
    expect(session.answers()).to.deep.equal([page('r', [[1, 'text']], 2)]);
    expect(session.clock.waiting).to.equal(0);
    child.prints('more');
    expect(session.answers()).to.deep.equal([]);
  });

  it('is woken by the exit', () => {
    const session = new Session();
    const child = session.run('p');
    child.prints('text');
    session.send(read('r', 'p', { afterSeq: 1, waitMs: WAIT_MS }));
    child.exits(3);
    expect(session.answers()).to.deep.equal([
      { id: 'r', output: [], nextSeq: 3, exitCode: 3, closed: false },
    ]);
  });

  it('is woken by the close', () => {
    const session = new Session();
    const child = session.run('p');
    child.exits(3);
    session.send(read('r', 'p', { afterSeq: 1, waitMs: WAIT_MS }));
    expect(session.answers()).to.deep.equal([]);
    child.closes();
    expect(session.answers()).to.deep.equal([{ id: 'r', output: [], nextSeq: 3, exitCode: 3, closed: true }]);
    // of the retention, not of the read
    expect(session.clock.waiting).to.equal(1);
  });

  it('is woken by the close, even if it asks beyond the end', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(read('r', 'p', { afterSeq: 1_000, waitMs: WAIT_MS }));
    child.prints('text');
    child.exits();
    expect(session.answers()).to.deep.equal([]);
    child.closes();
    expect(session.answers()).to.deep.equal([{ id: 'r', output: [], nextSeq: 4, exitCode: 0, closed: true }]);
  });

  it('is woken by output that comes after the exit', () => {
    const session = new Session();
    const child = session.run('p');
    child.exits();
    session.send(read('r', 'p', { afterSeq: 1, waitMs: WAIT_MS }));
    child.prints('late');
    expect(session.answers()).to.deep.equal([
      { id: 'r', output: [[2, 'late']], nextSeq: 3, exitCode: 0, closed: false },
    ]);
  });

  it('is answered at its deadline with nothing', () => {
    const session = new Session();
    session.run('p');
    session.send(read('r', 'p', { waitMs: WAIT_MS }));
    session.clock.increment(WAIT_MS - 1);
    expect(session.answers()).to.deep.equal([]);
    session.clock.increment(1);
    expect(session.answers()).to.deep.equal([page('r', [], 1)]);
  });

  it('has its deadline after the exit, too', () => {
    const session = new Session();
    session.run('p').exits(3);
    session.send(read('r', 'p', { afterSeq: 1, waitMs: WAIT_MS }));
    session.clock.increment(WAIT_MS);
    expect(session.answers()).to.deep.equal([
      { id: 'r', output: [], nextSeq: 2, exitCode: 3, closed: false },
    ]);
  });

  it('may be one of many: each is woken by what it waits for, each has its own deadline', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(read('a', 'p', { waitMs: WAIT_MS }));
    session.send(read('b', 'p', { waitMs: 2 * WAIT_MS }));
    session.send(read('short', 'p', { waitMs: 1_000 }));
    session.send(read('late', 'p', { afterSeq: 1, waitMs: WAIT_MS }));
    session.send(read('later', 'p', { afterSeq: 2, waitMs: 3 * WAIT_MS }));
    session.clock.increment(1_000);
    expect(session.answers()).to.deep.equal([page('short', [], 1)]);
    child.prints('1');
    expect(session.answers()).to.deep.equal([page('a', [[1, '1']], 2), page('b', [[1, '1']], 2)]);
    child.prints('2', 'stderr');
    expect(session.answers()).to.deep.equal([page('late', [[2, '2']], 3)]);
    session.clock.increment(2 * WAIT_MS);
    expect(session.answers()).to.deep.equal([]);
    session.clock.increment(WAIT_MS);
    expect(session.answers()).to.deep.equal([page('later', [], 3)]);
    expect(session.clock.waiting).to.equal(0);
  });

  it('may use the id of another that waits', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(read('r', 'p', { waitMs: WAIT_MS }));
    session.send(read('r', 'p', { waitMs: WAIT_MS }));
    child.prints('text');
    expect(session.answers()).to.deep.equal([page('r', [[1, 'text']], 2), page('r', [[1, 'text']], 2)]);
  });

  for (const waitMs of [2 ** 31, Number.MAX_SAFE_INTEGER]) {
    it(`waits for ${waitMs} ms as long as a timer can, and does not fire at once`, () => {
      const session = new Session();
      const child = session.run('p');
      session.send(read('r', 'p', { waitMs }));
      expect(session.clock.delays).to.deep.equal([2 ** 31 - 1]);
      session.clock.increment(24 * 60 * 60 * 1_000);
      expect(session.answers()).to.deep.equal([]);
      child.prints('text');
      expect(session.answers()).to.deep.equal([page('r', [[1, 'text']], 2)]);
    });
  }

  it('holds up nothing else', () => {
    const session = new Session();
    session.run('p');
    session.run('other').prints('text');
    session.send(read('waits', 'p', { waitMs: WAIT_MS }));
    expect(session.ask(read('r', 'p'))).to.deep.equal([page('r', [], 1)]);
    expect(session.ask(read('r', 'other', { waitMs: WAIT_MS }))).to.deep.equal([page('r', [[1, 'text']], 2)]);
  });

  it('waits on when output comes of which nothing is retained, and ends with the exit', () => {
    const session = new Session();
    const child = session.run('p', { log: outputLog('p', 0) });
    session.send(read('r', 'p', { waitMs: WAIT_MS }));
    child.prints('dropped');
    expect(session.answers()).to.deep.equal([]);
    child.exits();
    expect(session.answers()).to.deep.equal([
      { id: 'r', output: [], nextSeq: 3, exitCode: 0, closed: false },
    ]);
  });

  it('is answered at once after an exit that it has not seen, whatever was dropped since', () => {
    const session = new Session();
    const child = session.run('p', { log: outputLog('p', 0) });
    child.exits();
    child.prints('dropped');
    expect(session.ask(read('r', 'p', { waitMs: WAIT_MS }))).to.deep.equal([
      { id: 'r', output: [], nextSeq: 3, exitCode: 0, closed: false },
    ]);
  });
});

describe('a read', () => {
  it('gives whole chunks within maxBytes, the first one always, and where to go on', () => {
    const session = new Session();
    const child = session.run('p');
    child.prints('1234');
    child.prints('56', 'stderr');
    child.prints('7');
    const all = [
      [1, '1234'],
      [2, '56'],
      [3, '7'],
    ] as const;
    expect(session.ask(read('r', 'p'))).to.deep.equal([page('r', all, 4)]);
    expect(session.ask(read('r', 'p', { maxBytes: 1 }))).to.deep.equal([page('r', all.slice(0, 1), 2)]);
    expect(session.ask(read('r', 'p', { maxBytes: 6 }))).to.deep.equal([page('r', all.slice(0, 2), 3)]);
    expect(session.ask(read('r', 'p', { afterSeq: 2, maxBytes: 0 }))).to.deep.equal([
      page('r', all.slice(2), 4),
    ]);
    expect(session.ask(read('r', 'p', { afterSeq: 99 }))).to.deep.equal([page('r', [], 4)]);
  });
});
