import { expect } from 'chai';
import { hasMoreValues } from '../src/json-values.js';

/** How many values JSON.parse makes of it. */
const valuesOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, member) => sum + valuesOf(member), 1)
    : 1;

describe('the count of JSON values', () => {
  const texts: readonly string[] = [
    '1',
    '"a,b,[c]"',
    '[]',
    '[ ]',
    '{}',
    '{ \n}',
    '[[],[],{}]',
    '[1,2,3]',
    '[ [ 1 , 2 ] , { "a" : [ ] } ]',
    '{"a":1,"b":{"c":[true,false,null]},"d":"}"}',
    '{"quo\\"te,":"back\\\\","x":["\\\\\\"",","]}',
    '[[[[[[[[1]]]]]]]]',
  ];
  for (const text of texts) {
    it(`is that of the parser: ${JSON.stringify(text)}`, () => {
      const values = valuesOf(JSON.parse(text));
      // white space around it keeps it from being too short to be counted
      const long = `${text}${' '.repeat(100)}`;
      expect([hasMoreValues(long, values), hasMoreValues(long, values - 1)]).to.deep.equal([false, true]);
    });
  }

  it('is left out where a text is too short to hold more', () => {
    expect(hasMoreValues('[1,1,1]', 4)).to.equal(false);
    expect(hasMoreValues('[1,1,1]', 3)).to.equal(true);
    expect(hasMoreValues('[1,1]', 3)).to.equal(false);
  });

  for (const text of ['"', '"\\', '["a', '[[[[', ',,,,', '\\"\\"']) {
    it(`ends with a text that is no JSON: ${text}`, () => {
      expect(hasMoreValues(text.padEnd(500), 100)).to.equal(false);
    });
  }
});
