import { expect } from 'chai';
import { once } from 'node:events';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { mock } from 'node:test';
import { WebSocket } from 'ws';
import { connectWebSocket, startParams } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { listenLocal } from '../support/local.js';

const PING_INTERVAL_MS = 30_000;

/**
 * A client that has started a process, and from whom nothing comes any more, not even an answer to a ping.
 *
 * @param initialize what it says besides its name
 */
const silent = async (
  url: string,
  initialize: object,
): Promise<{ socket: WebSocket; sessionId: string; pid: number }> => {
  const socket = new WebSocket(url, { autoPong: false });
  cleanup(async () => {
    if (socket.readyState === WebSocket.CLOSED) return;
    const closed = once(socket, 'close');
    socket.terminate();
    await closed;
  });
  await once(socket, 'open');
  const answers = new Map<unknown, Record<string, unknown>>();
  let output = '';
  const told = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer) => {
      const { id, result, params } = JSON.parse(data.toString());
      if (id !== undefined) answers.set(id, result);
      if (params?.chunk !== undefined) output += Buffer.from(String(params.chunk), 'base64').toString();
      if (output.endsWith('\n')) resolve();
    });
  });
  const sh = ['sh', '-c', 'echo $$; read line; echo "got $line"'];
  for (const message of [
    { id: 1, method: 'initialize', params: { clientName: 'test', ...initialize } },
    { method: 'initialized' },
    { id: 2, method: 'process/start', params: startParams('p', sh, { pipeStdin: true }) },
  ]) {
    socket.send(JSON.stringify(message));
  }
  await told;
  return { socket, sessionId: String(answers.get(1)?.['sessionId']), pid: Number(output) };
};

/** As long as it takes the server to notice. */
const missPings = async (socket: WebSocket): Promise<void> => {
  const closed = once(socket, 'close');
  // the first one still sees the bytes of the requests
  for (let pings = 0; pings < 3; pings++) {
    const ping = once(socket, 'ping');
    mock.timers.tick(PING_INTERVAL_MS);
    if (pings < 2) await ping;
    else ping.catch(() => undefined);
  }
  await closed;
};

describe('a client from whom nothing comes any more', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(() => mock.timers.reset());

  it('that can resume finds its session again, on another connection', async () => {
    const { url } = await listenLocal();
    const { socket, sessionId } = await silent(url, { resumeSessionId: null });
    const early = await connectWebSocket(url);
    const resume = { clientName: 'test', resumeSessionId: sessionId };
    expect(await early.refused('initialize', resume)).to.include({ code: -32010 });
    await early.close();
    await missPings(socket);
    const client = await connectWebSocket(url);
    await client.initialize({ resumeSessionId: sessionId });
    await client.write('p', 'hello\n');
    await client.processClosed('p');
    expect(client.output('p').toString()).to.equal('got hello\n');
  });

  it('that cannot is dropped with its processes', async () => {
    const { url } = await listenLocal();
    const { socket, pid } = await silent(url, {});
    expect(fs.existsSync(`/proc/${pid}`)).to.equal(true);
    await missPings(socket);
    // nobody else is told of the end of a child
    while (fs.existsSync(`/proc/${pid}`)) await sleep(10);
  });
});
