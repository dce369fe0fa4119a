import { expect } from 'chai';
import { Session } from '../support/machines.js';
import { answered, closeStdin, read, refused, write } from '../support/requests.js';

const accepted = (id: string): object => answered(id, { accepted: true, status: 'accepted' });
const closedResult = (id: string): object => answered(id, { accepted: false, status: 'stdinClosed' });
const closedError = (id: string): object => refused(id, 'stdin is closed for process p');

describe('a write', () => {
  it('is answered when the child has room for it, in order', () => {
    const session = new Session();
    const child = session.run('p');
    const requests = [write('a', 'p', '1'), write('b', 'p', '2', 'w'), write('c', 'p', '3')];
    for (const request of requests) session.send(request);
    expect(session.answers()).to.deep.equal([]);
    expect(
      child.commands.map((command) => command.type === 'write' && Buffer.from(command.chunk.data).toString()),
    ).to.deep.equal(['1', '2', '3']);
    child.tells({ type: 'child.wrote' });
    expect(session.answers()).to.deep.equal([accepted('a')]);
    child.tells({ type: 'child.wrote' });
    child.tells({ type: 'child.wrote' });
    expect(session.answers()).to.deep.equal([accepted('b'), accepted('c')]);
  });

  it('that waits holds up nothing but the writes behind it', () => {
    const session = new Session();
    const child = session.run('p');
    const other = session.run('other');
    session.send(write('waits', 'p', 'text'));
    child.prints('text');
    expect(session.ask(read('r', 'p'))).to.have.lengthOf(1);
    session.send(write('w', 'other', 'text'));
    other.tells({ type: 'child.wrote' });
    expect(session.answers()).to.deep.equal([accepted('w')]);
  });

  it('without a writeId is written as often as it comes', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(write('a', 'p', 'text'));
    child.tells({ type: 'child.wrote' });
    session.send(write('b', 'p', 'text'));
    expect(child.commands).to.have.lengthOf(2);
  });

  it('is refused from the start where stdin is no pipe', () => {
    const session = new Session();
    const child = session.run('p', { pipeStdin: false });
    expect(session.ask(write('a', 'p', 'text'))).to.deep.equal([closedError('a')]);
    expect(session.ask(write('b', 'p', 'text', 'w'))).to.deep.equal([closedResult('b')]);
    expect(child.commands).to.deep.equal([]);
  });

  it('is refused after closeStdin; what came before is still written', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(write('before', 'p', 'text'));
    session.send(closeStdin('c', 'p'));
    session.answers();
    expect(session.ask(write('a', 'p', 'text'))).to.deep.equal([closedError('a')]);
    expect(session.ask(write('b', 'p', 'text', 'w'))).to.deep.equal([closedResult('b')]);
    expect(child.commands.map(({ type }) => type)).to.deep.equal(['write', 'endStdin']);
    child.tells({ type: 'child.wrote' });
    expect(session.answers()).to.deep.equal([accepted('before')]);
  });

  it('is refused once stdin is broken, also if it waits already', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(write('a', 'p', 'text'));
    session.send(write('b', 'p', 'text', 'w'));
    child.tells({ type: 'child.refusedWrite' });
    child.tells({ type: 'child.refusedWrite' });
    child.tells({ type: 'child.stdinBroken' });
    expect(session.answers()).to.deep.equal([closedError('a'), closedResult('b')]);
    expect(session.ask(write('c', 'p', 'text'))).to.deep.equal([closedError('c')]);
    expect(session.ask(write('d', 'p', 'text', 'x'))).to.deep.equal([closedResult('d')]);
    expect(child.commands).to.have.lengthOf(2);
    expect(session.stateOf('p')).to.equal('running');
  });

  it('is refused if the child exits before it has taken it', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(write('before', 'p', 'text'));
    session.send(write('after', 'p', 'text', 'w'));
    child.tells({ type: 'child.refusedWrite' });
    child.exits();
    child.tells({ type: 'child.refusedWrite' });
    expect(session.answers()).to.deep.equal([closedError('before'), closedResult('after')]);
  });

  it('that waits when the session ends is refused, for each request that sent it', () => {
    const session = new Session();
    session.run('p');
    session.send(write('a', 'p', 'text', 'w'));
    session.send(write('b', 'p', 'text', 'w'));
    session.send({ type: 'wire.closed' });
    expect(session.answers()).to.deep.equal([closedResult('a'), closedResult('b')]);
  });
});

describe('a writeId seen before', () => {
  it('while its write waits: both are answered together, and it is written once', () => {
    const session = new Session();
    const child = session.run('p');
    for (const id of ['a', 'b', 'c']) session.send(write(id, 'p', 'text', 'w'));
    session.send(write('other', 'p', 'text', 'x'));
    expect(session.answers()).to.deep.equal([]);
    expect(child.commands).to.have.lengthOf(2);
    child.tells({ type: 'child.wrote' });
    expect(session.answers()).to.deep.equal([accepted('a'), accepted('b'), accepted('c')]);
    child.tells({ type: 'child.wrote' });
    expect(session.answers()).to.deep.equal([accepted('other')]);
  });

  it('has the same answer in every later state', () => {
    const session = new Session();
    const child = session.run('p');
    session.send(write('a', 'p', 'text', 'w'));
    child.tells({ type: 'child.wrote' });
    session.send(write('b', 'p', 'text', 'refused'));
    child.tells({ type: 'child.refusedWrite' });
    child.tells({ type: 'child.stdinBroken' });
    session.answers();
    const both = (): object[] => [
      ...session.ask(write('again', 'p', 'text', 'w')),
      ...session.ask(write('again', 'p', 'text', 'refused')),
    ];
    const same = [accepted('again'), closedResult('again')];
    expect(both()).to.deep.equal(same);
    child.exits();
    expect(both()).to.deep.equal(same);
    child.closes();
    expect(both()).to.deep.equal(same);
    expect(child.commands).to.have.lengthOf(2);
  });

  it('is another one in another process', () => {
    const session = new Session();
    const [one, two] = [session.run('one'), session.run('two')];
    session.send(write('a', 'one', 'text', 'w'));
    session.send(write('b', 'two', 'text', 'w'));
    expect([one.commands.length, two.commands.length]).to.deep.equal([1, 1]);
  });

  it('is remembered among the last 4096, and no longer', () => {
    const session = new Session();
    const child = session.run('p');
    const send = (number: number): void => {
      session.send(write('r', 'p', '', `w${number}`));
      if (child.commands.length > written) child.tells({ type: 'child.wrote' });
      written = child.commands.length;
    };
    let written = 0;
    for (let number = 0; number < 4096; number++) send(number);
    expect(written).to.equal(4096);
    send(0);
    expect(written).to.equal(4096);
    send(4096);
    expect(written).to.equal(4097);
    send(1);
    expect(written).to.equal(4097);
    send(0);
    expect(written).to.equal(4098);
    expect(session.answers()).to.deep.equal(Array.from({ length: 4100 }, () => accepted('r')));
  });
});
