import fs from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { EncodedJson } from '../../src/encoded-json.js';
import { Budget } from '../../src/files/budget.js';
import { redacted } from '../../src/inspect/redact.js';
import { createLog } from '../../src/log.js';
import { ExecServer } from '../../src/server.js';
import { streamWire } from '../../src/wire/stdio.js';
import { connectWebSocket, memoryClient } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { makeTree, openBelow, temporaryDirectory } from '../support/files.js';
import { connectLocal, listenLocal } from '../support/local.js';

describe('requests about files', () => {
  it('are refused before the handshake is over', async () => {
    const server = new ExecServer(createLog('silent'));
    const { client, wire } = memoryClient();
    cleanup(() => server.close('the test is over'));
    server.accept(wire);
    const ask = async (): Promise<unknown> => client.refused('fs/getMetadata', { path: '/' });
    expect(await ask()).to.deep.equal({
      code: -32600,
      message: 'client must call initialize before using filesystem methods',
    });
    await client.request('initialize', { clientName: 'test' });
    expect(await ask()).to.deep.equal({
      code: -32600,
      message: 'client must send initialized before using filesystem methods',
    });
  });

  it('with paths of a wrong form, or a sandbox, are refused', async () => {
    const client = await connectLocal();
    expect(await client.refused('fs/readFile', { path: 'relative' })).to.deep.equal({
      code: -32602,
      message: 'path: expected an absolute path, or a file: URI without query and fragment',
    });
    const params = { path: '/', sandbox: { permissions: { type: 'managed' } } };
    expect(await client.refused('fs/getMetadata', params)).to.deep.equal({
      code: -32602,
      message: 'sandbox intent cannot be enforced on this executor',
    });
    expect(await client.refused('fs/readFile', { path: '/a\0b' })).to.deep.equal({
      code: -32602,
      message: 'path: expected a string without NUL',
    });
  });

  it('run where the operator says that the machine is the sandbox', async () => {
    const client = await connectLocal({ externalSandbox: true });
    const params = { path: '/', sandbox: { permissions: { type: 'managed' } } };
    expect(await client.request('fs/getMetadata', params)).to.include({ isDirectory: true });
  });

  it('that are under way when the client has said its last are answered first', async () => {
    const root = temporaryDirectory();
    makeTree(root, { f: 'text' });
    const input = new PassThrough();
    const output = new PassThrough();
    const server = new ExecServer(createLog('silent'));
    cleanup(() => server.close('the test is over'));
    const connection = server.accept(streamWire('test', input, output, 1_000_000));
    let text = '';
    output.on('data', (data: Buffer) => (text += data.toString()));
    const file = path.join(root, 'f');
    for (const message of [
      { id: 1, method: 'initialize', params: { clientName: 'test' } },
      { method: 'initialized' },
      { id: 2, method: 'fs/open', params: { handleId: 'h', path: file } },
      { id: 3, method: 'fs/readFile', params: { path: file } },
      { id: 4, method: 'fs/readBlock', params: { handleId: 'h', offset: 0, len: 4 } },
    ])
      input.write(`${JSON.stringify(message)}\n`);
    input.end();
    await connection.closed;
    const answers = text.trimEnd().split('\n').slice(1).sort();
    expect(answers).to.deep.equal([
      '{"id":2,"result":{"handleId":"h"}}',
      '{"id":3,"result":{"dataBase64":"dGV4dA=="}}',
      '{"id":4,"result":{"chunk":"dGV4dA==","eof":false}}',
    ]);
    expect(openBelow(root)).to.equal(0);
  });

  it('leave no content where an inspector looks', async () => {
    const root = temporaryDirectory();
    makeTree(root, { f: 'the secret in the file' });
    const events: unknown[] = [];
    const client = await connectLocal({ inspect: [{ next: (event) => events.push(redacted(event)) }] });
    const file = path.join(root, 'f');
    await client.request('fs/readFile', { path: file });
    await client.request('fs/open', { handleId: 'h', path: file });
    await client.request('fs/readBlock', { handleId: 'h', offset: 0, len: 100 });
    const dataBase64 = Buffer.from('the secret to write').toString('base64');
    await client.request('fs/writeFile', { path: file, dataBase64 });
    const seen = JSON.stringify(events);
    expect(seen).to.include('fs.writeFile').and.include('reply.encoded');
    for (const secret of ['the secret in the file', 'the secret to write']) {
      expect(seen).not.to.include(secret);
      expect(seen).not.to.include(Buffer.from(secret).toString('base64').slice(0, 16));
    }
  });
});

describe('the files of a client that can resume', () => {
  it('are closed with its wire: the next one opens its own', async () => {
    const root = temporaryDirectory();
    makeTree(root, { f: 'text' });
    const file = path.join(root, 'f');
    const { url } = await listenLocal();
    const first = await connectWebSocket(url);
    const { sessionId } = await first.initialize({ resumeSessionId: null });
    await first.request('fs/open', { handleId: 'h', path: file });
    expect(openBelow(root)).to.equal(1);
    await first.close();
    const second = await connectWebSocket(url);
    // the server learns of the end a little later
    const resume = { clientName: 'test', resumeSessionId: sessionId };
    while ((await second.call('initialize', resume)).error?.code === -32010);
    second.notify('initialized');
    const block = { handleId: 'h', offset: 0, len: 1 };
    expect(await second.refused('fs/readBlock', block)).to.deep.equal({
      code: -32004,
      message: 'unknown file handle `h`',
    });
    await second.request('fs/open', { handleId: 'h', path: file });
    expect(await second.request('fs/readBlock', block)).to.deep.equal({ chunk: 'dA==', eof: false });
    expect(openBelow(root)).to.equal(1);
  });

  it('end what is under way when the wire ends', async () => {
    const root = temporaryDirectory();
    for (let i = 0; i < 500; i++) fs.symlinkSync('x', path.join(root, String(i)));
    const client = await connectLocal();
    client.raw(JSON.stringify({ id: 'w', method: 'fs/remove', params: { path: root } }));
    await client.request('environment/status');
    await client.close();
    expect(client.messages.some(({ id }) => id === 'w')).to.equal(false);
  });
});

describe('a budget', () => {
  it('gives what there is, then in the order in which it was asked for', async () => {
    const budget = new Budget(10);
    const order: string[] = [];
    const take = async (name: string, amount: number): Promise<() => void> => {
      const giveBack = await budget.take(amount);
      order.push(name);
      return giveBack;
    };
    const first = await take('first', 6);
    const second = take('second', 1_000);
    const third = take('third', 1);
    await Promise.resolve();
    expect(order).to.deep.equal(['first']);
    first();
    const endSecond = await second;
    expect(order).to.deep.equal(['first', 'second']);
    endSecond();
    await third;
    expect(order).to.deep.equal(['first', 'second', 'third']);
  });

  it('gives back what a failure had taken', async () => {
    const budget = new Budget(1);
    const failed = await budget.use(1, async () => Promise.reject(new Error('no'))).catch(String);
    expect(failed).to.equal('Error: no');
    expect(await budget.use(1, async () => Promise.resolve('yes'))).to.equal('yes');
  });

  it('lets all go when it is lifted', async () => {
    const budget = new Budget(1);
    await budget.take(1);
    const waiting = [budget.take(1), budget.take(1)];
    budget.lift();
    await Promise.all(waiting);
    await budget.take(1);
  });
});

describe('an encoded result', () => {
  it('shows its length alone', () => {
    expect(JSON.stringify({ result: new EncodedJson('{"secret":1}') })).to.equal('{"result":{"length":12}}');
  });
});
