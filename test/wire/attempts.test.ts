import { expect } from 'chai';
import { FailedAttempts, MAX_ADDRESSES, MAX_FAILURES, WINDOW_MS } from '../../src/wire/attempts.js';

const fail = (failed: FailedAttempts, address: string, times: number): void => {
  for (let time = 0; time < times; time++) expect(failed.add(address)).to.equal(undefined);
};

describe('failed attempts', () => {
  let now = 0;
  const attempts = (): FailedAttempts => {
    now = 1_000;
    return new FailedAttempts(() => now);
  };

  it('are too many after ten within a minute, for that address alone', () => {
    const failed = attempts();
    fail(failed, 'a', MAX_FAILURES);
    expect(failed.add('a')).to.deep.equal({ waitMs: WINDOW_MS, isNew: true });
    now += 1_000;
    expect(failed.add('a')).to.deep.equal({ waitMs: WINDOW_MS - 1_000, isNew: false });
    fail(failed, 'b', MAX_FAILURES);
  });

  it('are forgotten a minute after there were too many, though they went on', () => {
    const failed = attempts();
    fail(failed, 'a', MAX_FAILURES);
    for (; now < 1_000 + WINDOW_MS; now += 10_000) expect(failed.add('a')).to.not.equal(undefined);
    fail(failed, 'a', MAX_FAILURES);
    expect(failed.add('a')).to.deep.equal({ waitMs: WINDOW_MS, isNew: true });
  });

  it('are not too many when they come slowly', () => {
    const failed = attempts();
    for (let round = 0; round < 5; round++) {
      fail(failed, 'a', MAX_FAILURES);
      now += WINDOW_MS;
    }
  });

  it('of so many addresses are remembered: then the oldest goes', () => {
    const failed = attempts();
    fail(failed, 'first', MAX_FAILURES);
    fail(failed, 'second', MAX_FAILURES);
    for (let address = 0; address < MAX_ADDRESSES - 1; address++) failed.add(String(address));
    expect(failed.add('second')).to.not.equal(undefined);
    expect(failed.add('first')).to.equal(undefined);
  });
});
