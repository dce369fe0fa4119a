import { expect } from 'chai';
import fs from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { bytesOf, connectWebSocket, type TestClient } from './support/client.js';
import { temporaryDirectory } from './support/files.js';
import { listenLocal } from './support/local.js';
import { isAlive } from './support/processes.js';

const open = async (url: string, resumeSessionId: string | null): Promise<[TestClient, string]> => {
  const client = await connectWebSocket(url);
  const { sessionId } = await client.initialize({ resumeSessionId });
  return [client, String(sessionId)];
};

/** The server learns of a lost connection a little later: the client tries until it does. */
const resume = async (url: string, sessionId: string): Promise<TestClient> => {
  const client = await connectWebSocket(url);
  for (;;) {
    const { error, result } = await client.call('initialize', {
      clientName: 'test',
      resumeSessionId: sessionId,
    });
    if (error === undefined) {
      expect(result?.['sessionId']).to.equal(sessionId);
      client.notify('initialized');
      return client;
    }
    expect(error).to.deep.equal({
      code: -32010,
      message: `session ${sessionId} is already attached to another connection`,
    });
  }
};

describe('a session', () => {
  it('can be resumed on another connection; its processes have gone on', async () => {
    const { url } = await listenLocal();
    const [first, sessionId] = await open(url, null);
    await first.start('p', ['sh', '-c', 'echo one; read line; echo "got $line"; exit 5'], {
      pipeStdin: true,
    });
    await first.waitOutput('p', 'one');
    await first.close();
    const second = await resume(url, sessionId);
    await second.write('p', 'hello\n', { writeId: '1' });
    await second.processClosed('p');
    // nothing is replayed: only what is new comes by itself
    expect(second.output('p').toString()).to.equal('got hello\n');
    const answer = await second.read('p', { afterSeq: 0 });
    expect(bytesOf(answer).toString()).to.equal('one\ngot hello\n');
    expect(answer.chunks.map(({ seq }) => seq)).to.deep.equal([1, 2]);
    expect(answer).to.include({ exited: true, exitCode: 5, closed: true, nextSeq: 5 });
  });

  it('that is attached can not be taken by another connection', async () => {
    const { url } = await listenLocal();
    const [first, sessionId] = await open(url, null);
    const second = await connectWebSocket(url);
    expect(
      await second.refused('initialize', { clientName: 'test', resumeSessionId: sessionId }),
    ).to.deep.equal({
      code: -32010,
      message: `session ${sessionId} is already attached to another connection`,
    });
    // the one that was refused may still have one of its own, and the first is as it was
    await second.initialize();
    expect(await first.request('environment/status')).to.deep.equal({ status: 'ready' });
  });

  it('that is unknown is refused', async () => {
    const { url } = await listenLocal();
    const client = await connectWebSocket(url);
    expect(await client.refused('initialize', { clientName: 'test', resumeSessionId: 'S' })).to.deep.equal({
      code: -32600,
      message: 'unknown session id S',
    });
  });

  it('of a client that does not know how to resume ends with its connection', async () => {
    const { url } = await listenLocal();
    const client = await connectWebSocket(url);
    const { sessionId } = await client.initialize();
    await client.close();
    const next = await connectWebSocket(url);
    for (;;) {
      const { code } = await next.refused('initialize', { clientName: 'test', resumeSessionId: sessionId });
      if (code === -32600) return;
      expect(code).to.equal(-32010);
    }
  });

  it('that nobody comes back for ends, with its processes', async () => {
    const { url } = await listenLocal({ detachedTtlMs: 50 });
    const [client, sessionId] = await open(url, null);
    await client.start('p', ['sleep', '300']);
    await client.close();
    for (;;) {
      const next = await connectWebSocket(url);
      const { error } = await next.call('initialize', { clientName: 'test', resumeSessionId: sessionId });
      await next.close();
      if (error?.message === `unknown session id ${sessionId}`) return;
      // it was still there: now it has to wait from the beginning
      await sleep(100);
    }
  });

  it('without a client makes no process wait: the oldest output is dropped', async () => {
    const { url } = await listenLocal();
    const [client, sessionId] = await open(url, null);
    const done = path.join(temporaryDirectory(), 'done');
    const script = `read line; head -c 3000000 /dev/zero; echo END; touch ${done}; sleep 300`;
    await client.start('p', ['sh', '-c', script], { pipeStdin: true });
    await client.write('p', 'go\n');
    await client.close();
    // nobody is told, so there is no event to wait for
    while (!fs.existsSync(done)) await sleep(10);
    const next = await resume(url, sessionId);
    const answer = await next.read('p');
    expect(bytesOf(answer).subarray(-4).toString()).to.equal('END\n');
    expect(answer.droppedBytes).to.be.greaterThan(1_900_000);
  });

  it('lets a process with a window wait: nothing of it is lost', async () => {
    const { url } = await listenLocal();
    const [client, sessionId] = await open(url, null);
    await client.start('p', ['sh', '-c', 'head -c 3000000 /dev/zero; echo END'], { outputWindow: 65_536 });
    await client.until(() => client.output('p').length >= 65_536, 'a full window');
    await client.close();
    const next = await resume(url, sessionId);
    let bytes = 0;
    for (let afterSeq = 0, all = false; !all;) {
      const answer = await next.read('p', { afterSeq, maxBytes: 100_000, waitMs: 10_000 });
      bytes += bytesOf(answer).length;
      all = answer.closed && answer.chunks.length === 0;
      afterSeq = answer.nextSeq - 1;
      expect(answer.droppedBytes).to.be.at.most(bytes);
      await next.request('process/ack', { processId: 'p', bytes });
    }
    expect(bytes).to.equal(3_000_004);
  });

  it('does not answer the requests of a connection that is gone to the next one', async () => {
    const { url } = await listenLocal();
    const [client, sessionId] = await open(url, null);
    const script = 'stty raw -echo; printf ready; sleep 0.2; exec cat > /dev/null';
    await client.start('p', ['sh', '-c', script], { tty: true });
    await client.waitOutput('p', 'ready');
    // it is accepted when the child has read some of it: after the connection is gone
    const chunk = Buffer.alloc(2 * 1024 * 1024).toString('base64');
    client.raw(
      JSON.stringify({
        id: 'late',
        method: 'process/write',
        params: { processId: 'p', chunk: 'AAAA', writeId: '0' },
      }),
    );
    client.raw(
      JSON.stringify({
        id: 'late',
        method: 'process/write',
        params: { processId: 'p', chunk: chunk.slice(0, 900_000), writeId: '1' },
      }),
    );
    await client.close();
    const next = await resume(url, sessionId);
    await next.write('p', 'x', { writeId: '1' });
    await next.request('process/terminate', { processId: 'p' });
    await next.processClosed('p');
    expect(next.messages.filter(({ id }) => id === 'late')).to.deep.equal([]);
  });
});

describe('a session whose time is over', () => {
  it('is unknown from that moment on, also while its processes still end', async () => {
    const { url } = await listenLocal({ detachedTtlMs: 1 });
    const [first, second] = [await connectWebSocket(url), await connectWebSocket(url)];
    const { sessionId } = await first.initialize({ resumeSessionId: null });
    for (let run = 0; run < 60; run++) await first.start(`p${run}`, ['sleep', '60']);
    const [one] = await first.list();
    await first.close();
    // it ends as soon as one of its processes is gone; most are still there
    while (isAlive(Number(one?.pid))) await nextTurn();
    const params = { clientName: 'test', resumeSessionId: sessionId };
    expect(await second.refused('initialize', params)).to.deep.equal({
      code: -32600,
      message: `unknown session id ${String(sessionId)}`,
    });
    await second.initialize();
  });
});
