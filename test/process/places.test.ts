import { expect } from 'chai';
import { Places } from '../../src/process/places.js';

describe('places for processes', () => {
  it('are taken and left, each once', () => {
    const places = new Places(2, 'all taken');
    const leave = places.take();
    expect(places.refusal).to.equal(undefined);
    places.take();
    expect(places.refusal).to.equal('all taken');
    leave();
    leave();
    expect(places.refusal).to.equal(undefined);
    places.take();
    expect(places.refusal).to.equal('all taken');
  });

  it('of a session are the server’s too, and the session’s are told first', () => {
    const server = new Places(2, 'the server is full');
    const one = new Places(1, 'the first is full', server);
    const other = new Places(2, 'the second is full', server);
    const leave = one.take();
    expect([one.refusal, other.refusal]).to.deep.equal(['the first is full', undefined]);
    other.take();
    expect([one.refusal, other.refusal]).to.deep.equal(['the first is full', 'the server is full']);
    leave();
    expect([one.refusal, other.refusal]).to.deep.equal([undefined, undefined]);
  });
});
