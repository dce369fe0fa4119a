import { expect } from 'chai';
import { createLog } from '../src/log.js';
import { serve } from '../src/serve.js';
import { Tokens } from '../src/token.js';
import { connectWebSocket, type TestClient } from './support/client.js';
import { cleanup } from './support/environment.js';

// the server loads it when it is asked for; what translates it opens descriptors then, amid a test
before(async () => {
  await import('../src/wire/listener.js');
});

/** The URL of a server with two tokens, `ours` and `theirs`. */
const listening = async (): Promise<string> => {
  const tokens = Tokens.of(['ours', 'theirs']);
  const serving = await serve({ listen: 'ws://127.0.0.1:0', tokens, log: createLog('silent') });
  cleanup(() => serving.close());
  return serving.url;
};

const open = async (url: string): Promise<{ client: TestClient; sessionId: string }> => {
  const client = await connectWebSocket(url, 'ours');
  const { sessionId } = await client.initialize({ resumeSessionId: null });
  return { client, sessionId: String(sessionId) };
};

describe('a session of one token', () => {
  it('is unknown to another, attached or not, as one that never was', async () => {
    const url = await listening();
    const { client, sessionId } = await open(url);
    const stranger = await connectWebSocket(url, 'theirs');
    const resume = { clientName: 'test', resumeSessionId: sessionId };
    const unknown = { code: -32600, message: `unknown session id ${sessionId}` };
    expect(await stranger.refused('initialize', resume)).to.deep.equal(unknown);
    await client.close();
    // the server knows that it is detached as soon as its own token can take it up
    const owner = await connectWebSocket(url, 'ours');
    while ((await owner.call('initialize', resume)).error !== undefined);
    await owner.close();
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await stranger.refused('initialize', resume)).to.deep.equal(unknown);
    }
  });

  it('can be resumed by the same token, with what runs there', async () => {
    const url = await listening();
    const { client, sessionId } = await open(url);
    await client.start('p', ['cat'], { pipeStdin: true });
    await client.close();
    const again = await connectWebSocket(url, 'ours');
    const resume = { clientName: 'test', resumeSessionId: sessionId };
    while ((await again.call('initialize', resume)).error !== undefined);
    again.notify('initialized');
    expect((await again.list()).map(({ processId }) => processId)).to.deep.equal(['p']);
  });

  it('lets the stranger have one of its own', async () => {
    const url = await listening();
    const { sessionId } = await open(url);
    const stranger = await connectWebSocket(url, 'theirs');
    await stranger.refused('initialize', { clientName: 'test', resumeSessionId: sessionId });
    expect((await stranger.initialize())['sessionId']).to.not.equal(sessionId);
    expect(await stranger.list()).to.deep.equal([]);
  });
});
