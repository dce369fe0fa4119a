import { expect } from 'chai';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { connectWebSocket, launchListener, startParams, type TestClient } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { temporaryDirectory } from '../support/files.js';

const LIMIT = 64;
const NO_DESCRIPTORS = 'Too many open files in the server (EMFILE; raise ulimit -n)';

const launchLimited = async (): Promise<{ url: string; pid: number }> => {
  const { url, server } = await launchListener([], {}, ['sh', '-c', `ulimit -n ${LIMIT}; exec "$@"`, 'sh']);
  if (server.pid === undefined) throw new Error('no server');
  return { url, pid: server.pid };
};

/** Starts processes of a kind until one is refused; their ids, and the refusal. */
const startAll = async (
  client: TestClient,
  name: string,
  more: object,
): Promise<{ ids: string[]; refusal: unknown }> => {
  const ids: string[] = [];
  for (;;) {
    const processId = `${name}${ids.length}`;
    const { error } = await client.call('process/start', startParams(processId, ['cat'], more));
    if (error !== undefined) return { ids, refusal: error };
    ids.push(processId);
  }
};

const noDescriptors = { code: -32603, data: { kind: 'spawnFailed' } };

/** A TCP connection, and whether the server has closed it. */
const knock = (url: string): { socket: net.Socket; closed: Promise<unknown> } => {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  cleanup(() => void socket.destroy());
  socket.on('error', () => undefined); // it may be reset
  return { socket, closed: new Promise((resolve) => socket.once('close', resolve)) };
};

const openDescriptors = (pid: number): number => fs.readdirSync(`/proc/${pid}/fd`).length;

describe('a server without descriptors', () => {
  it('refuses starts with the reason, serves what runs, and all again when some are free', async () => {
    const { url } = await launchLimited();
    const client = await connectWebSocket(url);
    await client.initialize();
    const pipes = await startAll(client, 'pipe', { pipeStdin: true });
    const terminals = await startAll(client, 'pty', { tty: true });
    expect(pipes.ids).to.not.deep.equal([]);
    for (const { refusal } of [pipes, terminals]) {
      expect(refusal).to.deep.include(noDescriptors);
      expect(refusal)
        .to.have.property('message')
        .that.satisfies((text: string) => text.endsWith(NO_DESCRIPTORS));
    }
    for (const id of pipes.ids) {
      await client.write(id, `hello ${id}\n`);
      await client.waitOutput(id, '\n');
      expect(client.output(id).toString()).to.equal(`hello ${id}\n`);
      await client.request('process/closeStdin', { processId: id });
      expect(await client.exited(id)).to.include({ exitCode: 0 });
      await client.processClosed(id);
    }
    for (const id of terminals.ids) await client.request('process/terminate', { processId: id });
    for (const tty of [false, true]) {
      await client.start(`again ${tty}`, ['echo', 'works'], { tty });
      expect((await client.waitOutput(`again ${tty}`, '\n')).trim()).to.equal('works');
      await client.processClosed(`again ${tty}`);
    }
  });

  it('refuses files with the reason, and opens them again when some are free', async () => {
    const directory = temporaryDirectory();
    const file = path.join(directory, 'file');
    fs.writeFileSync(file, 'content');
    const { url } = await launchLimited();
    const client = await connectWebSocket(url);
    await client.initialize();
    let open = 0;
    const opened = async (): Promise<unknown> =>
      (await client.call('fs/open', { handleId: String(open++), path: file })).error;
    let refusal: unknown;
    while (refusal === undefined) refusal = await opened();
    const refused = { code: -32603, message: `${file}: too many open files` };
    expect(refusal).to.deep.equal(refused);
    expect(await client.refused('fs/readFile', { path: file })).to.deep.equal(refused);
    expect(await client.refused('fs/writeFile', { path: file, dataBase64: '' })).to.deep.equal(refused);
    expect(await client.refused('fs/readDirectory', { path: directory })).to.deep.equal({
      ...refused,
      message: `${directory}: too many open files`,
    });
    // what is open already can be read
    const block = await client.request('fs/readBlock', { handleId: '0', offset: 0, len: 100 });
    expect(block).to.deep.equal({ chunk: Buffer.from('content').toString('base64'), eof: true });
    for (let handle = 0; handle < open - 1; handle++) {
      await client.request('fs/close', { handleId: String(handle) });
    }
    // the file is as it was: it was not opened, so it was not truncated
    expect(await client.request('fs/readFile', { path: file })).to.deep.equal({
      dataBase64: Buffer.from('content').toString('base64'),
    });
  });

  it('closes new connections at once, and takes them again when some are free', async () => {
    const { url, pid } = await launchLimited();
    const client = await connectWebSocket(url);
    await client.initialize();
    const before = openDescriptors(pid);
    const idle: net.Socket[] = [];
    for (let turned = false; !turned;) {
      const { socket, closed } = knock(url);
      await once(socket, 'connect');
      // connections are accepted in order, so an answer to one after it shows what became of this one
      turned = await Promise.race([
        closed.then(() => true),
        client.request('process/list').then(() => false),
      ]);
      if (turned) break;
      idle.push(socket);
    }
    expect(idle.length).to.be.greaterThan(0);
    for (let count = 0; count < 20; count++) await knock(url).closed;
    // it goes on with its work
    expect(await client.request('environment/status')).to.deep.equal({ status: 'ready' });
    for (const socket of idle) socket.destroy();
    // each request is a turn of the server's loop
    while (openDescriptors(pid) > before) await client.request('environment/status');
    const next = await connectWebSocket(url);
    await next.initialize();
    await next.start('p', ['echo', 'works']);
    await next.waitOutput('p', 'works\n');
  });
});
