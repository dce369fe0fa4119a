import { expect } from 'chai';
import { once } from 'node:events';
import {
  collectStderr,
  connectStdio,
  connectWebSocket,
  launchListener,
  launchServer,
} from '../support/client.js';

describe('exec-server over stdio', () => {
  it('initializes, runs a program and tells its output and exit in order', async () => {
    const client = await connectStdio();
    const { sessionId, protocolVersion } = await client.initialize();
    expect(protocolVersion).to.equal('exec-server.v0');
    expect(sessionId).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    await client.start('p', ['sh', '-c', 'printf hello; exit 3']);
    await client.processClosed('p');
    expect(client.about('p').map(({ method, params }) => [method, params?.['seq']])).to.deep.equal([
      ['process/output', 1],
      ['process/exited', 2],
      ['process/closed', 3],
    ]);
    expect(client.output('p', 'stdout').toString()).to.equal('hello');
    expect(await client.exited('p')).to.include({ exitCode: 3, signal: null, sandboxDenied: false });
    await client.close();
    expect(client.server?.exitCode).to.equal(0);
  });
});

describe('exec-server --listen', () => {
  it('given twice counts the last time, and works with the name of the command', async () => {
    const server = launchServer([
      'serve',
      '--listen',
      'ws://127.0.0.1:0',
      '--listen',
      'x',
      '--retention',
      '1',
    ]);
    const stderr = collectStderr(server);
    await once(server, 'close');
    expect(server.exitCode).to.equal(2);
    expect(stderr()).to.equal('unsupported --listen URL `x`; expected `stdio://` or `ws://IP:PORT`\n');
  });

  it('prints its URL on stdout and a banner on stderr, and serves', async () => {
    const { url, stderr } = await launchListener();
    expect(url).to.match(/^ws:\/\/127\.0\.0\.1:\d+$/);
    const client = await connectWebSocket(url);
    await client.initialize();
    await client.start('p', ['echo', 'over ws']);
    await client.processClosed('p');
    expect(client.output('p').toString()).to.equal('over ws\n');
    expect(stderr()).to.include(`exec-server listening on ${url}\n`);
  });

  for (const url of [
    'ws://localhost:0',
    'ws://127.0.0.1',
    'ws://127.0.0.1:99999',
    'ws://127.0.0.1:0/x',
    'ws://[::1:0',
  ]) {
    it(`refuses ${url} with exit status 2`, async () => {
      const server = launchServer(['--listen', url]);
      const stderr = collectStderr(server);
      await once(server, 'close');
      expect(server.exitCode).to.equal(2);
      expect(stderr()).to.equal(`invalid websocket --listen URL \`${url}\`; expected \`ws://IP:PORT\`\n`);
    });
  }
});
