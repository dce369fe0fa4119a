import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { createLog } from '../../src/log.js';
import { ExecServer } from '../../src/server.js';
import { memoryClient, type TestClient } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { makeTree, openBelow, temporaryDirectory } from '../support/files.js';

let client: TestClient;
let server: ExecServer;
let root: string;
let file: string;

const connect = async (): Promise<TestClient> => {
  const { client: connected, wire } = memoryClient();
  server.accept(wire);
  await connected.initialize();
  return connected;
};

/** In each group, not for the whole file: that would be for all files of a run. */
const setUp = (): void => {
  beforeEach(async () => {
    root = temporaryDirectory();
    makeTree(root, { f: 'abcdefgh' });
    file = path.join(root, 'f');
    server = new ExecServer(createLog('silent'));
    cleanup(() => server.close('the test is over'));
    client = await connect();
  });
};

const open = async (handleId: string, name = file): Promise<unknown> =>
  client.request('fs/open', { handleId, path: name });

const block = async (handleId: string, offset: number, len: number): Promise<[string, unknown]> => {
  const { chunk, eof } = await client.request('fs/readBlock', { handleId, offset, len });
  return [Buffer.from(String(chunk), 'base64').toString(), eof];
};

describe('fs/open, fs/readBlock and fs/close', () => {
  setUp();

  it('read a file in blocks; the end is told by a short one', async () => {
    expect(await open('h')).to.deep.equal({ handleId: 'h' });
    expect(await block('h', 0, 3)).to.deep.equal(['abc', false]);
    expect(await block('h', 0, 8)).to.deep.equal(['abcdefgh', false]);
    expect(await block('h', 8, 8)).to.deep.equal(['', true]);
    expect(await block('h', 5, 4)).to.deep.equal(['fgh', true]);
    expect(await block('h', Number.MAX_SAFE_INTEGER, 1)).to.deep.equal(['', true]);
    expect(await block('h', 0, 1_048_576)).to.deep.equal(['abcdefgh', true]);
    expect(await client.request('fs/close', { handleId: 'h' })).to.deep.equal({});
    expect(openBelow(root)).to.equal(0);
  });

  it('read what was opened, though it has another name or none since', async () => {
    await open('h');
    fs.rmSync(file);
    fs.writeFileSync(file, 'another');
    expect(await block('h', 0, 100)).to.deep.equal(['abcdefgh', true]);
  });

  it('need not wait for each other', async () => {
    const [opened, first, second, closed] = await Promise.all([
      open('h'),
      block('h', 0, 2),
      block('h', 6, 2),
      client.request('fs/close', { handleId: 'h' }),
    ]);
    expect([opened, first, second, closed]).to.deep.equal([
      { handleId: 'h' },
      ['ab', false],
      ['gh', false],
      {},
    ]);
    expect(openBelow(root)).to.equal(0);
  });

  it('take any id of at most 32 bytes', async () => {
    for (const handleId of ['', '__proto__', 'x'.repeat(32), 'ü'.repeat(16)]) {
      expect(await open(handleId)).to.deep.equal({ handleId });
      expect(await block(handleId, 0, 1)).to.deep.equal(['a', false]);
    }
    for (const handleId of ['x'.repeat(33), `${'ü'.repeat(16)}x`]) {
      expect(await client.refused('fs/open', { handleId, path: file })).to.deep.equal({
        code: -32602,
        message: 'handleId: expected a string of at most 32 bytes',
      });
    }
  });

  it('refuse an id that is taken, until it is closed', async () => {
    await open('h');
    expect(await client.refused('fs/open', { handleId: 'h', path: file })).to.deep.equal({
      code: -32600,
      message: 'file handle `h` already exists',
    });
    await client.request('fs/close', { handleId: 'h' });
    await open('h');
  });

  it('know an id of this connection only; to close an unknown one is fine', async () => {
    await open('h');
    const other = await connect();
    for (const [who, handleId] of [
      [client, 'no'],
      [other, 'h'],
    ] as const) {
      expect(await who.refused('fs/readBlock', { handleId, offset: 0, len: 1 })).to.deep.equal({
        code: -32004,
        message: `unknown file handle \`${handleId}\``,
      });
    }
    expect(await client.request('fs/close', { handleId: 'no' })).to.deep.equal({});
  });

  it('refuse what is no regular file, and the id is free', async () => {
    execFileSync('mkfifo', [path.join(root, 'fifo')]);
    for (const name of [root, path.join(root, 'fifo'), '/dev/zero']) {
      expect(await client.refused('fs/open', { handleId: 'h', path: name })).to.deep.equal({
        code: -32600,
        message: `${name}: not a regular file`,
      });
    }
    expect(await client.refused('fs/open', { handleId: 'h', path: `${root}/no` })).to.deep.equal({
      code: -32004,
      message: `${root}/no: no such file or directory`,
    });
    await open('h');
  });

  it('are at most 128 for a connection', async () => {
    await Promise.all(Array.from({ length: 128 }, async (_, index) => open(String(index))));
    expect(openBelow(root)).to.equal(128);
    const refusal = { code: -32600, message: 'at most 128 files may be open per connection' };
    expect(await client.refused('fs/open', { handleId: 'more', path: file })).to.deep.equal(refusal);
    const other = await connect();
    await other.request('fs/open', { handleId: 'more', path: file });
    await client.request('fs/close', { handleId: '7' });
    await open('more');
    expect(openBelow(root)).to.equal(129);
  });

  it('close a handle that cannot be read', async () => {
    await open('h', '/proc/self/mem');
    const params = { handleId: 'h', offset: 0, len: 1 };
    expect(await client.refused('fs/readBlock', params)).to.deep.equal({
      code: -32603,
      message: '/proc/self/mem: i/o error',
    });
    expect(await client.refused('fs/readBlock', params)).to.include({ code: -32004 });
  });

  it('refuse lengths and offsets out of their range', async () => {
    for (const len of [0, 1_048_577, -1, 1.5, '1', null]) {
      expect(await client.refused('fs/readBlock', { handleId: 'h', offset: 0, len })).to.deep.equal({
        code: -32602,
        message: 'len: expected a whole number from 1 to 1048576',
      });
    }
    expect(await client.refused('fs/readBlock', { handleId: 'h', offset: -1, len: 1 })).to.deep.equal({
      code: -32602,
      message: 'offset: expected a whole number from 0 to 2^53-1',
    });
  });

  it('are closed with their server', async () => {
    await open('h');
    await server.close('the test ends it');
    expect(openBelow(root)).to.equal(0);
  });

  it('that are being opened when the server closes are closed too', async () => {
    client.raw(JSON.stringify({ id: 'o', method: 'fs/open', params: { handleId: 'h', path: file } }));
    await client.request('environment/status');
    await server.close('the test ends it');
    expect(openBelow(root)).to.equal(0);
  });
});
