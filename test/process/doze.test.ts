import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { afterDoze, skipDoze } from '../../src/process/doze.js';
import { connectLocal } from '../support/local.js';

/** How often this process has slept while something was done. */
const dozesDuring = async (work: () => Promise<void>): Promise<number> => {
  const wait = mock.method(Atomics, 'wait');
  try {
    await work();
    return wait.mock.callCount();
  } finally {
    wait.mock.restore();
  }
};

const turn = async (): Promise<void> => {
  let isCalled = false;
  afterDoze(() => {
    isCalled = true;
  });
  await nextTurn();
  expect(isCalled).to.equal(true);
};

describe('a doze', () => {
  it('is one for all who asked, before any of them is called', async () => {
    const calls: string[] = [];
    // what was read before this was work
    await turn();
    const dozes = await dozesDuring(async () => {
      afterDoze(() => calls.push('first'));
      afterDoze(() => calls.push('second'));
      expect(calls).to.deep.equal([]);
      await nextTurn();
    });
    expect(calls).to.deep.equal(['first', 'second']);
    expect(dozes).to.equal(1);
  });

  it('does not come about where others are to be read, that turn of the loop', async () => {
    await turn();
    skipDoze();
    expect(await dozesDuring(turn)).to.equal(0);
    expect(await dozesDuring(turn)).to.equal(1);
  });

  it('is not for a writer of large pieces', async () => {
    const dozes = await dozesDuring(async () => {
      const client = await connectLocal();
      await client.start('p', ['head', '-c', '16000000', '/dev/zero']);
      await client.processClosed('p', 20_000);
      expect(client.output('p')).to.have.length(16_000_000);
    });
    expect(dozes).to.equal(0);
  });
});
