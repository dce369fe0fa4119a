import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { expect } from 'chai';
import { createLog } from '../../src/log.js';
import { ExecServer } from '../../src/server.js';
import { memoryClient } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { connectLocal } from '../support/local.js';

describe('input', () => {
  const data = randomBytes(2 * 1024 * 1024);
  const digest = createHash('sha256').update(data).digest('hex');

  for (const tty of [false, true]) {
    for (const parts of [1, 64]) {
      it(`of 2 MiB in ${parts} writes reaches a ${tty ? 'raw PTY' : 'pipe'} whole and in order`, async () => {
        const client = await connectLocal();
        const script = `${tty ? 'stty raw -echo; ' : ''}printf ready; head -c ${data.length} | sha256sum`;
        await client.start('p', ['sh', '-c', script], { tty, pipeStdin: true });
        await client.waitOutput('p', 'ready');
        const size = data.length / parts;
        const writes = Array.from({ length: parts }, (_, part) =>
          client.write('p', data.subarray(part * size, (part + 1) * size), { writeId: String(part) }),
        );
        for (const answer of await Promise.all(writes)) {
          expect(answer).to.deep.equal({ accepted: true, status: 'accepted' });
        }
        expect(await client.waitOutput('p', digest)).to.include(digest);
        await client.processClosed('p');
      });
    }

    it(`for a child that does not read a ${tty ? 'PTY' : 'pipe'} delays its own writes only, and is refused when it ends`, async () => {
      const client = await connectLocal();
      const script = `${tty ? 'stty raw -echo; ' : ''}printf ready; exec sleep 60`;
      await client.start('stuck', ['sh', '-c', script], { tty, pipeStdin: true });
      await client.waitOutput('stuck', 'ready');
      const writes = [1, 2, 3].map((writeId) =>
        client.write('stuck', Buffer.alloc(1024 * 1024), { writeId: String(writeId) }),
      );
      await client.start('live', ['sh', '-c', 'read line; echo "got $line"'], { tty, pipeStdin: true });
      await client.write('live', 'hello\n');
      await client.waitOutput('live', 'got hello');
      await client.request('process/terminate', { processId: 'stuck' });
      const answers = await Promise.all(writes);
      expect(answers.at(-1)).to.deep.equal({ accepted: false, status: 'stdinClosed' });
      await client.processClosed('stuck');
    });
  }

  it('with a writeId seen before is not written again', async () => {
    const client = await connectLocal();
    await client.start('cat', ['cat'], { pipeStdin: true });
    for (const [text, writeId] of [
      ['one,', 'a'],
      ['two,', 'b'],
      ['one,', 'a'],
      ['three', 'c'],
    ] as const) {
      expect(await client.write('cat', text, { writeId })).to.include({ status: 'accepted' });
    }
    await client.request('process/closeStdin', { processId: 'cat' });
    await client.processClosed('cat');
    expect(client.output('cat').toString()).to.equal('one,two,three');
  });

  it('that is closed reaches the child before the end of file', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', 'sleep 0.2; exec sha256sum'], { pipeStdin: true });
    const write = client.write('p', data);
    await client.request('process/closeStdin', { processId: 'p' });
    expect(await write).to.include({ accepted: true });
    await client.processClosed('p');
    expect(client.output('p').toString()).to.equal(`${digest}  -\n`);
  });

  it('is closed once: descriptors that others have opened since stay open', async () => {
    const server = new ExecServer(createLog('silent'));
    const { client, wire } = memoryClient();
    server.accept(wire);
    await client.initialize();
    await client.start('cat', ['cat'], { pipeStdin: true });
    await client.request('process/closeStdin', { processId: 'cat' });
    await client.processClosed('cat');
    // these get the numbers that are free again
    const others = Array.from({ length: 50 }, () => fs.openSync('/dev/null', 'r'));
    cleanup(() => others.forEach((descriptor) => fs.closeSync(descriptor)));
    await server.close('the test is over');
    const open = others.filter((descriptor) => fs.existsSync(`/proc/self/fd/${descriptor}`));
    expect(open).to.deep.equal(others);
  });
});
