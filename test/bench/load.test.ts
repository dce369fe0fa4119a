import { expect } from 'chai';
import { yes, zeros } from '../../bench/load/pattern.js';
import { Remote } from '../../bench/load/remote.js';
import { scanOutput, scanRead } from '../../bench/load/scan.js';

const base64 = (text: string): Buffer => Buffer.from(Buffer.from(text).toString('base64'));

const isYes = (offset: number, text: string): boolean => {
  const encoded = base64(text);
  return yes.isAt(offset, encoded, 0, encoded.length);
};

/** A process of which these chunks were told, with their numbers, and then its end. */
const told = (chunks: readonly (readonly [seq: number, text: string])[], exitCode = 0): Remote => {
  const remote = new Remote('p', yes);
  for (const [seq, text] of chunks) {
    const encoded = base64(text);
    remote.output(seq, Buffer.byteLength(text), encoded, 0, encoded.length);
  }
  const next = Math.max(0, ...chunks.map(([seq]) => seq)) + 1;
  remote.exited(next, exitCode);
  remote.close(next + 1);
  return remote;
};

describe('the load generator', () => {
  it('compares output with what it must be, from wherever it goes on', () => {
    expect(isYes(0, 'y\ny\ny\ny')).to.equal(true);
    expect(isYes(4, 'y\ny')).to.equal(true);
    expect(isYes(7, '\ny\ny\n')).to.equal(true);
    expect(isYes(7, 'y\ny\n')).to.equal(false);
    const whole = 'y\ny\ny\ny';
    for (const at of [0, 1, 5, 6]) {
      const wrong = `${whole.slice(0, at)}n${whole.slice(at + 1)}`;
      expect(isYes(0, wrong), `wrong at ${at}`).to.equal(false);
    }
    const long = base64('\0'.repeat(65_536));
    expect(zeros.isAt(1, long, 0, long.length)).to.equal(true);
  });

  it('finds out that something is lost, or wrong', () => {
    const whole = told([
      [1, 'y\n'],
      [2, 'y'],
    ]);
    expect(() => whole.check(3)).not.to.throw();
    expect(() => whole.check(4)).to.throw('p: 3 bytes of output, not 4');
    expect(() => told([[2, 'y\n']]).check(2)).to.throw('p: 1 numbers did not come');
    expect(() => told([[1, 'y ']]).check(2)).to.throw('p: wrong content in the 2 bytes after 0');
    expect(() => told([[1, 'y\n']], 1).check(2)).to.throw('p: exit code 1');
  });

  it('counts what comes out of order, and takes it', () => {
    const remote = told([
      [2, '\n'],
      [1, 'y'],
    ]);
    expect(remote.disorder).to.equal(1);
  });

  it('reads of an output notification what is around the base64', () => {
    const chunk = base64('hello');
    const head = '{"method":"process/output","params":{"processId":"a","seq":12,"stream":"stdout","chunk":"';
    const message = Buffer.from(`..${head}${chunk.toString()}"}}`);
    expect(scanOutput(message, 2, message.length)).to.deep.equal({
      processId: 'a',
      seq: 12,
      start: 2 + head.length,
      end: 2 + head.length + chunk.length,
      bytes: 5,
    });
    const answer = Buffer.from('{"id":1,"result":{}}');
    expect(scanOutput(answer, 0, answer.length)).to.equal(undefined);
  });

  it('adds up what process/read has answered', () => {
    const chunks = ['hello', 'there, ', 'you'].map(
      (text, at) => `{"seq":${at + 1},"stream":"stdout","chunk":"${base64(text).toString()}"}`,
    );
    const message = Buffer.from(
      `{"id":7,"result":{"chunks":[${chunks.join(',')}],"nextSeq":4,"exited":false}}`,
    );
    expect(scanRead(message, 0, message.length)).to.deep.equal({ id: 7, bytes: 15, nextSeq: 4 });
    const none = Buffer.from('{"id":7,"result":{"chunks":[],"nextSeq":4}}');
    expect(scanRead(none, 0, none.length)).to.equal(undefined);
  });
});
