import { expect } from 'chai';
import { connectionMachine } from '../../machines/connection.js';
import { EncodedJson } from '../../src/encoded-json.js';
import type { HttpCommand, HttpEvent } from '../../src/http/actor.js';
import { httpRequest } from '../support/requests.js';
import { connectionWith } from '../support/stub-actor.js';

const connection = (resumable = false) =>
  connectionWith<HttpCommand, HttpEvent>(
    (http) => connectionMachine.provide({ actors: { http } }),
    resumable,
  );

describe('the actor for http', () => {
  it('is made with the first request, gets them all, and what it tells is passed on', () => {
    const { made, emitted, actor } = connection();
    expect(made).to.deep.equal([]);
    const requests = [httpRequest('a'), httpRequest('b')];
    for (const request of requests) actor.send(request);
    expect(made).to.have.lengthOf(1);
    expect(made[0]?.commands).to.deep.equal(requests);
    const told = [
      { type: 'reply.encoded', id: 'a', result: new EncodedJson('{}') },
      { type: 'notification', message: new EncodedJson('{"method":"m"}') },
    ] as const;
    for (const event of told) made[0]?.tell(event);
    expect(emitted).to.deep.equal(told);
  });

  it('is waited for when the session is closed', () => {
    const { made, emitted, actor } = connection();
    actor.send(httpRequest('a'));
    actor.send({ type: 'session.close' });
    expect(made[0]?.commands.at(-1)).to.deep.equal({ type: 'session.end' });
    expect(actor.getSnapshot().value).to.equal('closing');
    const reply = { type: 'reply', id: 'a', error: { code: -32603, message: 'over' } } as const;
    made[0]?.tell(reply);
    expect(emitted).to.deep.equal([reply]);
    made[0]?.tell({ type: 'http.closed' });
    expect(actor.getSnapshot().value).to.equal('closed');
    expect(made[0]?.stopped).to.equal(true);
  });

  it('is stopped with the wire; who comes back gets another', () => {
    const { made, actor } = connection(true);
    actor.send(httpRequest('a'));
    actor.send({ type: 'wire.closed' });
    expect(made[0]?.stopped).to.equal(true);
    expect(actor.getSnapshot().children).to.deep.equal({});
    actor.send({ type: 'attach', id: 'again' });
    actor.send({ type: 'initialized' });
    actor.send(httpRequest('b'));
    expect(made).to.have.lengthOf(2);
    actor.stop();
  });

  it('does not keep a session whose wire has ended', () => {
    const { made, actor } = connection();
    actor.send(httpRequest('a'));
    actor.send({ type: 'wire.closed' });
    expect(made[0]?.stopped).to.equal(true);
    expect(actor.getSnapshot().value).to.equal('closed');
  });
});
