import { expect } from 'chai';
import { bytesOf } from '../support/client.js';
import { connectLocal } from '../support/local.js';

const numbered = (lines: number): string =>
  Array.from({ length: lines }, (_, line) => `${String(line + 1).padStart(7)}\n`).join('');

describe('output', () => {
  for (const tty of [false, true]) {
    const kind = tty ? 'PTY' : 'pipe';

    it(`of a ${kind} child that prints 1 MB and exits at once comes whole, before its exit, 20 times`, async () => {
      const client = await connectLocal();
      const lines = numbered(131_072);
      const want = tty ? lines.replaceAll('\n', '\r\n') : lines;
      for (let run = 0; run < 20; run++) {
        const processId = `p${run}`;
        await client.start(processId, ['awk', 'BEGIN { for (i = 1; i <= 131072; i++) printf "%7d\\n", i }'], {
          tty,
        });
        await client.processClosed(processId);
        const told = client.about(processId);
        expect(told.map(({ params }) => params?.['seq'])).to.deep.equal(told.map((_, index) => index + 1));
        expect(told.slice(-2).map(({ method }) => method)).to.deep.equal([
          'process/exited',
          'process/closed',
        ]);
        expect(client.output(processId).toString() === want).to.equal(true);
        client.messages.length = 0;
      }
    });

    it(`of every byte value comes exactly, by ${kind}, in notifications and in process/read`, async () => {
      const client = await connectLocal();
      const script = `${tty ? 'stty raw; ' : ''}i=0; while [ $i -lt 256 ]; do printf "\\\\$(printf %03o $i)"; i=$((i+1)); done`;
      await client.start('p', ['sh', '-c', script], { tty });
      await client.processClosed('p');
      const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      expect(client.output('p')).to.deep.equal(every);
      expect(bytesOf(await client.read('p'))).to.deep.equal(every);
    });
  }

  it('that a grandchild writes after the exit still comes, with higher numbers', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', '(sleep 0.3; echo late) & echo early; exit 7']);
    const exited = await client.exited('p');
    expect(exited).to.include({ exitCode: 7, seq: 2 });
    expect(client.output('p').toString()).to.equal('early\n');
    const closed = await client.processClosed('p');
    expect(client.output('p').toString()).to.equal('early\nlate\n');
    expect(closed).to.include({ seq: 4 });
  });

  it('of a PTY child that closes its terminal and opens it again is not lost', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', 'echo one; exec <&- >&- 2>&-; sleep 0.2; echo two > /dev/tty'], {
      tty: true,
    });
    await client.processClosed('p');
    expect(client.output('p').toString()).to.equal('one\r\ntwo\r\n');
  });

  it('is retained up to its cap: the newest whole chunks', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', 'head -c 1000000 /dev/zero; printf END'], {
      outputBytesCap: 100_000,
    });
    await client.processClosed('p');
    expect(client.output('p').length).to.equal(1_000_003);
    const answer = await client.read('p');
    const read = bytesOf(answer);
    expect(read.length).to.be.within(100_000 - 65_536, 100_000);
    expect(read.subarray(-3).toString()).to.equal('END');
    expect(answer.droppedBytes).to.equal(1_000_003 - read.length);
  });
});

describe('process/read', () => {
  it('waits for output without holding up anything, and wakes every reader', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', 'read line; echo "got $line"; read line'], { tty: true });
    const reads = [1, 2, 3].map(() =>
      client.request('process/read', { processId: 'p', afterSeq: 0, waitMs: 2 ** 40 }),
    );
    await client.start('quick', ['true']);
    await client.processClosed('quick');
    await client.write('p', 'x\n');
    for (const { chunks, exited } of await Promise.all(reads)) {
      expect(chunks).to.have.length(1);
      expect(exited).to.equal(false);
    }
    await client.request('process/terminate', { processId: 'p' });
    await client.processClosed('p');
  });

  it('answers at its deadline with nothing', async () => {
    const client = await connectLocal();
    await client.start('p', ['sleep', '60']);
    expect(await client.request('process/read', { processId: 'p', waitMs: 20 })).to.deep.equal({
      chunks: [],
      nextSeq: 1,
      exited: false,
      exitCode: null,
      signal: null,
      reason: null,
      closed: false,
      failure: null,
      sandboxDenied: false,
      droppedBytes: 0,
    });
  });

  it('tells exit and close by its own numbers', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', 'echo x; exit 5']);
    await client.processClosed('p');
    const answer = await client.request('process/read', { processId: 'p', afterSeq: 3, waitMs: 60_000 });
    expect(answer).to.deep.include({ chunks: [], nextSeq: 4, exited: true, exitCode: 5, closed: true });
  });
});
