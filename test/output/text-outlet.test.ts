import { expect } from 'chai';
import { TextOutlet } from '../../src/output/text-outlet.js';

describe('TextOutlet', () => {
  it('tells who sent a message when it is handed over, and nobody after the end', () => {
    const events: string[] = [];
    const outlet = new TextOutlet((text) => events.push(text));
    outlet.send('one', () => events.push('one is taken'));
    outlet.send('two');
    expect(events).to.deep.equal([]);
    outlet.flush();
    expect(events).to.deep.equal(['one', 'one is taken', 'two']);
    outlet.send('three', () => events.push('three is taken'));
    outlet.close();
    outlet.flush();
    expect(events).to.have.lengthOf(3);
  });
});
