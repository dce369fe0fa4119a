import { expect } from 'chai';
import { startParams, type TestClient } from '../support/client.js';
import { connectLocal } from '../support/local.js';

const WINDOW = 64 * 1024;
const CHUNK = 64 * 1024;
const outputWindow = WINDOW;

const sent = (client: TestClient, processId: string): number => client.output(processId).length;

/** Acknowledges all that has come, as it comes, until the process is closed. */
const takeAll = async (client: TestClient, processId: string, taken: number): Promise<void> => {
  let acknowledged = taken;
  const isClosed = (): boolean => client.about(processId).some(({ method }) => method === 'process/closed');
  while (!isClosed()) {
    await client.until(
      () => isClosed() || sent(client, processId) > acknowledged,
      `more of ${processId} than ${acknowledged} bytes`,
    );
    acknowledged = sent(client, processId);
    await client.request('process/ack', { processId, bytes: acknowledged });
  }
};

/** The server has nothing more to send: it has done a round trip with a new process meanwhile. */
const settled = async (client: TestClient, id: string): Promise<void> => {
  await client.start(id, ['true']);
  await client.processClosed(id);
};

describe('outputWindow and process/ack', () => {
  it('the window is told in the answer to process/start, and only where it was asked for', async () => {
    const client = await connectLocal();
    expect(await client.start('with', ['true'], { outputWindow })).to.deep.equal({
      processId: 'with',
      sandboxType: 'none',
      outputWindow,
    });
    expect(await client.start('without', ['true'])).to.deep.equal({
      processId: 'without',
      sandboxType: 'none',
    });
  });

  it('a flood stops when the window is full, goes on as it is acknowledged, and loses nothing', async () => {
    const client = await connectLocal();
    const length = 500_000;
    await client.start('p', ['sh', '-c', `yes | head -c ${length}`], { outputWindow });
    await client.until(() => sent(client, 'p') >= WINDOW, 'a full window');
    await settled(client, 'one');
    const first = sent(client, 'p');
    expect(first).to.be.within(WINDOW, WINDOW + CHUNK);

    // one byte below the window: one more chunk
    await client.request('process/ack', { processId: 'p', bytes: first - WINDOW + 1 });
    await client.until(() => sent(client, 'p') > first, 'one more chunk');
    await settled(client, 'two');
    const second = sent(client, 'p');
    expect(second - first).to.be.within(1, CHUNK);

    // exactly the window is unacknowledged: nothing
    await client.request('process/ack', { processId: 'p', bytes: second - WINDOW });
    await settled(client, 'three');
    expect(sent(client, 'p')).to.equal(second);

    await takeAll(client, 'p', second - WINDOW);
    expect(client.output('p').equals(Buffer.alloc(length, 'y\n'))).to.equal(true);
    expect((await client.exited('p'))['exitCode']).to.equal(0);
  });

  it('the exit and the close come when the window has room', async () => {
    const client = await connectLocal();
    await client.start('p', ['head', '-c', String(WINDOW), '/dev/zero'], { outputWindow });
    await client.until(() => sent(client, 'p') === WINDOW, 'a full window');
    const { nextSeq } = await client.read('p', { maxBytes: WINDOW });
    const { exitCode } = await client.read('p', { afterSeq: nextSeq - 1, waitMs: 10_000 });
    expect(exitCode).to.equal(0);
    await settled(client, 'other');
    expect(client.about('p').filter(({ method }) => method !== 'process/output')).to.deep.equal([]);
    await client.request('process/ack', { processId: 'p', bytes: 1 });
    await client.processClosed('p');
    const methods = client.about('p').map(({ method }) => method);
    expect(methods.slice(-2)).to.deep.equal(['process/exited', 'process/closed']);
  });

  it('an acknowledgement of more than was sent opens the window, no further', async () => {
    const client = await connectLocal();
    await client.start('p', ['sh', '-c', 'read line; yes'], { outputWindow, pipeStdin: true });
    await client.request('process/ack', { processId: 'p', bytes: Number.MAX_SAFE_INTEGER });
    await client.write('p', '\n');
    await client.until(() => sent(client, 'p') >= WINDOW, 'a full window');
    await settled(client, 'other');
    expect(sent(client, 'p')).to.be.within(WINDOW, WINDOW + CHUNK);
  });

  it('without a window nothing waits, and an acknowledgement changes nothing', async () => {
    const client = await connectLocal();
    await client.start('p', ['head', '-c', '1000000', '/dev/zero']);
    expect(await client.request('process/ack', { processId: 'p', bytes: 5 })).to.deep.equal({});
    await client.processClosed('p');
    expect(sent(client, 'p')).to.equal(1_000_000);
  });

  it('the older names have the window too', async () => {
    const client = await connectLocal();
    await client.request('command/exec', startParams('p', ['yes'], { outputWindow }));
    await client.until(() => sent(client, 'p') >= WINDOW, 'a full window');
    await settled(client, 'other');
    expect(sent(client, 'p')).to.be.within(WINDOW, WINDOW + CHUNK);
  });

  it('process/ack of a process that is unknown, starting or retained', async () => {
    const client = await connectLocal();
    const params = { processId: 'p', bytes: 1 };
    expect(await client.refused('process/ack', params)).to.deep.equal({
      code: -32600,
      message: 'unknown process id p',
    });
    const started = client.start('p', ['true']);
    expect(await client.refused('process/ack', params)).to.deep.equal({
      code: -32600,
      message: 'process id p is starting',
    });
    await started;
    await client.processClosed('p');
    expect(await client.request('process/ack', params)).to.deep.equal({});
  });

  for (const [value, told] of [
    [0, 'outputWindow: expected a whole number from 1 to 67108864'],
    [1.5, 'outputWindow: expected a whole number from 1 to 67108864'],
    ['1', 'outputWindow: expected a whole number from 1 to 67108864'],
  ] as const) {
    it(`refuses the window ${JSON.stringify(value)}`, async () => {
      const client = await connectLocal();
      const error = await client.refused(
        'process/start',
        startParams('p', ['true'], { outputWindow: value }),
      );
      expect(error).to.deep.equal({ code: -32602, message: told });
    });
  }

  for (const bytes of [-1, 0.5, '1', null]) {
    it(`refuses to acknowledge ${JSON.stringify(bytes)} bytes`, async () => {
      const client = await connectLocal();
      expect(await client.refused('process/ack', { processId: 'p', bytes })).to.deep.equal({
        code: -32602,
        message: 'bytes: expected a whole number from 0 to 2^53-1',
      });
    });
  }
});
