import fs from 'node:fs';
import { mock } from 'node:test';
import { expect } from 'chai';
import { connectLocal } from '../support/local.js';

describe('a source whose descriptor the system has closed', () => {
  it('is not read by its number, which may be that of another file by then', async () => {
    const client = await connectLocal();
    const { readSync } = fs;
    const closed: number[] = [];
    const spy = mock.method(fs, 'readSync', (...args: Parameters<typeof readSync>) => {
      const [descriptor] = args;
      if (!fs.existsSync(`/proc/self/fd/${descriptor}`)) closed.push(descriptor);
      return readSync(...args);
    });
    try {
      // its child is gone before the last holder of its terminal is
      await client.start('p', ['sh', '-c', 'trap "" HUP; sleep 0.2 & exec true'], { tty: true });
      await client.processClosed('p');
      expect(spy.mock.callCount()).to.be.greaterThan(0);
    } finally {
      spy.mock.restore();
    }
    expect(closed).to.deep.equal([]);
  });
});
