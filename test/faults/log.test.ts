import { expect } from 'chai';
import { once } from 'node:events';
import fs from 'node:fs';
import { createInterface } from 'node:readline';
import { connectWebSocket, launchListener, launchServer } from '../support/client.js';

/** Several connections, one after the other: each is logged. */
const expectToServe = async (url: string): Promise<void> => {
  for (let run = 0; run < 3; run++) {
    const client = await connectWebSocket(url);
    await client.initialize();
    await client.start('p', ['echo', 'served']);
    await client.waitOutput('p', 'served\n');
    await client.close();
  }
};

/** All that the server ever writes to stderr. */
const TALKATIVE = ['--log-level', 'debug', '--trace'];

describe('a server whose log cannot be written', () => {
  it('since its reader is gone serves on', async () => {
    const { url, server } = await launchListener(TALKATIVE);
    server.stderr?.destroy();
    await expectToServe(url);
    server.kill('SIGTERM');
    expect(await once(server, 'exit')).to.deep.equal([143, null]);
  });

  it('since the disk is full serves on', async function () {
    if (!fs.existsSync('/dev/full')) this.skip(); // Linux has it
    const { url, server } = await launchListener(TALKATIVE, {}, ['sh', '-c', 'exec "$@" 2>/dev/full', 'sh']);
    await expectToServe(url);
    server.kill('SIGTERM');
    expect(await once(server, 'exit')).to.deep.equal([143, null]);
  });
});

describe('a listener whose stdout cannot be written', () => {
  it('serves all the same, and logs that nobody was told its URL', async () => {
    const server = launchServer(['--listen', 'ws://127.0.0.1:0'], {}, [
      'sh',
      '-c',
      'exec "$@" >/dev/full',
      'sh',
    ]);
    if (server.stderr === null) throw new Error('no pipes');
    const lines: string[] = [];
    for await (const line of createInterface({ input: server.stderr })) {
      lines.push(line);
      if (line.includes('cannot write the URL to stdout')) break;
    }
    await expectToServe(String(/ws:\S+/.exec(lines.join('\n'))?.[0]));
  });
});
