import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import {
  connectStdio,
  connectWebSocket,
  launchListener,
  launchServer,
  collectStderr,
  type TestClient,
} from './support/client.js';
import { cleanup, EXEC_SERVER } from './support/environment.js';

const STUBBORN = 'trap "" HUP INT TERM; sleep 300 & echo go; while :; do sleep 300; done';

/** A client with a PTY and a pipe process that ignore what they can. */
const startStubborn = async (): Promise<TestClient> => {
  const client = await connectStdio();
  await client.initialize();
  for (const tty of [false, true]) {
    await client.start(`p${tty}`, ['sh', '-c', STUBBORN], { tty });
    await client.waitOutput(`p${tty}`, 'go');
  }
  return client;
};

// that no process is left is checked after every test
describe('the end of a server over stdio', () => {
  it('comes with the end of its stdin: what is in flight is answered, the exit status is 0', async () => {
    const client = await startStubborn();
    const read = client.call('process/read', { processId: 'ptrue', afterSeq: 100, waitMs: 60_000 });
    const write = client.call('process/write', { processId: 'ptrue', chunk: 'YQ==', writeId: '1' });
    await client.close();
    expect((await read).error).to.deep.equal({
      code: -32600,
      message: 'process ptrue ended with its session',
    });
    expect((await write).result).to.deep.equal({ accepted: true, status: 'accepted' });
    expect(client.server?.exitCode).to.equal(0);
  });

  it('comes with the end of its stdout', async () => {
    const client = await startStubborn();
    client.server?.stdout?.destroy();
    client.raw(JSON.stringify({ id: 100, method: 'process/list' }));
    await client.until(() => client.closed, 'the exit');
    expect(client.server?.exitCode).to.equal(0);
  });

  for (const [signal, status] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const) {
    it(`comes with ${signal}: exit status ${status}`, async () => {
      const client = await startStubborn();
      client.server?.kill(signal);
      await client.until(() => client.closed, 'the exit');
      expect(client.server?.exitCode).to.equal(status);
    });
  }

  it('comes when the client breaks the protocol, after an error that says so', async () => {
    const client = await connectStdio();
    await client.initialize();
    client.notify('process/start', {});
    await client.until(() => client.closed, 'the exit');
    expect(client.messages.at(-1)).to.deep.equal({
      id: -1,
      error: { code: -32600, message: 'a notification other than initialized ends the connection' },
    });
  });
});

describe('the end of a WebSocket', () => {
  it('ends the processes of its session, and no others', async () => {
    const { url } = await launchListener();
    const [one, other] = [await connectWebSocket(url), await connectWebSocket(url)];
    for (const client of [one, other]) {
      await client.initialize();
      await client.start('p', ['sh', '-c', 'echo $$; read line; echo "got $line"'], { tty: true });
      await client.waitOutput('p', '\n');
    }
    const pid = Number(one.output('p').toString());
    await one.close();
    const gone = async (): Promise<void> => {
      // no event tells of the end of somebody else's child
      while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    await gone();
    await other.write('p', 'hello\n');
    await other.waitOutput('p', 'got hello');
  });
});

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // ESRCH
  }
};

describe('a listener', () => {
  it('whose port is taken says so in one line, and exits with 1', async () => {
    const taken = net.createServer();
    taken.listen(0, '127.0.0.1');
    await once(taken, 'listening');
    cleanup(() => void taken.close());
    const address = taken.address();
    const url = `ws://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const server = launchServer(['--listen', url]);
    const stderr = collectStderr(server);
    await once(server, 'close');
    expect(server.exitCode).to.equal(1);
    expect(stderr()).to.equal(
      `exec-server: cannot listen on ${url}: the address is in use; choose another port, or 0 for a free one\n`,
    );
  });

  it('ends with SIGTERM, its clients and their processes too', async () => {
    const { url, server } = await launchListener();
    const client = await connectWebSocket(url);
    await client.initialize();
    await client.start('p', ['sh', '-c', STUBBORN]);
    await client.waitOutput('p', 'go');
    server.kill('SIGTERM');
    await client.until(() => client.closed, 'the end of the socket');
    await once(server, 'exit');
    expect(server.exitCode).to.equal(143);
  });
});

describe('a client that does not read', () => {
  it('makes its children wait, and nobody else; it gets every byte later', async () => {
    const { url, server } = await launchListener();
    const slow = await connectWebSocket(url);
    await slow.initialize();
    slow.pause();
    const bytes = 256 * 1024 * 1024;
    void slow.start('flood', ['sh', '-c', `head -c ${bytes} /dev/zero`]);
    const other = await connectWebSocket(url);
    await other.initialize();
    for (let run = 0; run < 20; run++) {
      await other.start(`p${run}`, ['echo', 'served']);
      await other.processClosed(`p${run}`);
    }
    expect(server.exitCode).to.equal(null);
    slow.resume();
    let got = 0;
    let seq = 0;
    await slow.until(() => {
      for (const { method, params } of slow.messages.splice(0)) {
        if (params !== undefined) expect(params['seq']).to.equal(++seq);
        if (method === 'process/output') got += Buffer.from(String(params?.['chunk']), 'base64').length;
        if (method === 'process/closed') return true;
      }
      slow.texts.length = 0;
      return false;
    }, 'all of the flood');
    expect(got).to.equal(bytes);
  });

  it('over stdio can still have its processes ended by the end of its input', async () => {
    const server = spawn(process.execPath, EXEC_SERVER, { stdio: ['pipe', 'pipe', 'ignore'] });
    const gone = once(server, 'exit');
    cleanup(async () => {
      server.kill('SIGTERM');
      await gone;
      server.stdout.destroy();
    });
    server.stdout.pause();
    const lines = [
      { id: 1, method: 'initialize', params: { clientName: 'test' } },
      { method: 'initialized' },
      {
        id: 2,
        method: 'process/start',
        params: { processId: 'p', argv: ['yes'], cwd: '/', env: { PATH: '/usr/bin:/bin' }, tty: false },
      },
    ];
    for (const line of lines) server.stdin.write(`${JSON.stringify(line)}\n`);
    await once(server.stdout, 'readable');
    server.stdin.end();
    expect(await gone).to.deep.equal([0, null]);
  });
});
