import { expect } from 'chai';
import { createLog } from '../src/log.js';
import { serve } from '../src/serve.js';
import { connectWebSocket } from './support/client.js';
import { cleanup } from './support/environment.js';

// the server loads it when it is asked for; what translates it opens descriptors then, amid a test
before(async () => {
  await import('../src/wire/listener.js');
});

const listening = async (handshakeTimeoutMs: number): Promise<{ url: string; log: () => string }> => {
  let text = '';
  const log = createLog('info', { write: (line) => void (text += line) });
  const serving = await serve({ listen: 'ws://127.0.0.1:0', handshakeTimeoutMs, log });
  cleanup(() => serving.close());
  return { url: serving.url, log: () => text };
};

describe('a client that connects', () => {
  for (const [what, messages] of [
    ['says nothing', []],
    ['says no initialized', ['{"id":1,"method":"initialize","params":{"clientName":"test"}}']],
    ['says something else', ['{"id":1,"method":"environment/status"}', 'nonsense']],
    [
      'asks for what it can’t have',
      ['{"id":1,"method":"initialize","params":{"clientName":"test","resumeSessionId":"S"}}'],
    ],
  ] as const) {
    it(`and ${what} is cut off in time`, async () => {
      const { url, log } = await listening(40);
      const client = await connectWebSocket(url);
      for (const message of messages) client.raw(message);
      await client.until(() => client.closed, 'the end of the connection');
      expect(log()).to.include('"reason":"the client had not sent initialized after 40 ms"');
    });
  }

  it('and opens its session is left alone', async () => {
    const { url } = await listening(500);
    const client = await connectWebSocket(url);
    await client.initialize();
    // one that came later has been cut off
    const silent = await connectWebSocket(url);
    await silent.until(() => silent.closed, 'the end of the silent one');
    expect(await client.request('environment/status')).to.deep.equal({ status: 'ready' });
  });

  it('has as long as it likes where there is no limit', async () => {
    const { url } = await listening(0);
    const client = await connectWebSocket(url);
    await client.initialize();
    expect(await client.request('environment/status')).to.deep.equal({ status: 'ready' });
  });

  it('and resumes, but says no initialized, loses nothing by it', async () => {
    const { url } = await listening(500);
    const first = await connectWebSocket(url);
    const { sessionId } = await first.initialize({ resumeSessionId: null });
    await first.start('p', ['cat'], { pipeStdin: true });
    await first.close();
    const resume = { clientName: 'test', resumeSessionId: sessionId };
    const second = await connectWebSocket(url);
    while ((await second.call('initialize', resume)).error !== undefined);
    await second.until(() => second.closed, 'the end of the second one');
    const third = await connectWebSocket(url);
    while ((await third.call('initialize', resume)).error !== undefined);
    third.notify('initialized');
    expect((await third.list()).map(({ state }) => state)).to.deep.equal(['running']);
  });
});
