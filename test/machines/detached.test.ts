import { expect } from 'chai';
import { DETACHED_TTL_MS, environmentInfo, RETENTION_MS, Session } from '../support/machines.js';
import { answered, read, refused, write } from '../support/requests.js';

const wireClosed = { type: 'wire.closed' } as const;
const initialized = { type: 'initialized' } as const;

/** A session whose client is gone. */
const detached = (): Session => {
  const session = new Session({ resumable: true });
  session.send(wireClosed);
  return session;
};

describe('a session whose client can resume', () => {
  it('waits for it, while its processes go on', () => {
    const session = new Session({ resumable: true });
    const child = session.run('p');
    session.send(wireClosed);
    expect(session.state).to.equal('detached');
    expect(child.stopped).to.equal(false);
    session.send({ type: 'attach', id: 'again' });
    expect(session.answers()).to.deep.equal([
      answered('again', { protocolVersion: 'exec-server.v0', sessionId: 'session 1', environmentInfo }),
    ]);
    expect(session.state).to.deep.equal({ open: 'awaitingInitialized' });
    expect(session.ask(read('r', 'p'))).to.deep.equal([
      refused('r', 'client must send initialized before using exec methods'),
    ]);
    session.send(initialized);
    child.prints('after');
    expect(session.ask(read('r', 'p'))).to.deep.equal([
      { id: 'r', output: [[1, 'after']], nextSeq: 2, exitCode: null, closed: false },
    ]);
  });

  it('ends when the client has not come back in time, with its processes', () => {
    const session = new Session({ resumable: true });
    const child = session.run('p');
    session.send(wireClosed);
    session.clock.increment(DETACHED_TTL_MS - 1);
    expect(session.state).to.equal('detached');
    session.clock.increment(1);
    expect(session.state).to.equal('closing');
    child.exits(137, 'SIGKILL');
    expect(session.state).to.equal('closed');
    expect(child.stopped).to.equal(true);
    expect(session.input.groups.ends).to.equal(1);
  });

  it('waits the whole time again after each resume', () => {
    const session = detached();
    session.clock.increment(DETACHED_TTL_MS - 1);
    session.send({ type: 'attach', id: 'again' });
    session.send(wireClosed);
    session.clock.increment(DETACHED_TTL_MS - 1);
    expect(session.state).to.equal('detached');
  });

  it('keeps finished processes while it is detached, and for their whole retention afterwards', () => {
    const session = new Session({ resumable: true });
    const before = session.run('ended before');
    before.exits();
    before.closes();
    session.clock.increment(RETENTION_MS - 1);
    const while_ = session.run('ends meanwhile');
    session.send(wireClosed);
    while_.exits(3);
    while_.closes();
    session.clock.increment(DETACHED_TTL_MS - 1);
    session.send({ type: 'attach', id: 'again' });
    session.send(initialized);
    session.clock.increment(RETENTION_MS - 1);
    expect(session.stateOf('ended before')).to.equal('retained');
    expect(session.stateOf('ends meanwhile')).to.equal('retained');
    session.clock.increment(1);
    expect(session.kept).to.deep.equal({ processes: 0, actors: 0 });
  });

  it('lets no read of the old wire wait on', () => {
    const session = new Session({ resumable: true });
    const child = session.run('p');
    session.send(read('old', 'p', { waitMs: 60_000 }));
    session.send(wireClosed);
    child.prints('x');
    session.clock.increment(60_000);
    expect(session.answers()).to.deep.equal([]);
  });

  it('remembers write ids across it', () => {
    const session = new Session({ resumable: true });
    const child = session.run('p');
    session.send(write('w', 'p', 'text', 'id 1'));
    child.tells({ type: 'child.wrote' });
    session.send(wireClosed);
    session.send({ type: 'attach', id: 'again' });
    session.send(initialized);
    expect(session.ask(write('w', 'p', 'text', 'id 1'))).to.deep.equal([
      answered('w', { accepted: true, status: 'accepted' }),
    ]);
    expect(child.commands.filter(({ type }) => type === 'write')).to.have.length(1);
  });

  it('ends at once with its server', () => {
    const session = detached();
    session.send({ type: 'session.close' });
    expect(session.state).to.equal('closed');
  });
});

describe('a session whose client cannot resume', () => {
  it('ends with its wire', () => {
    const session = new Session();
    session.send(wireClosed);
    expect(session.state).to.equal('closed');
  });
});
