import { expect } from 'chai';
import { ClosedError, ProtocolError, ServerError } from '../../src/client/index.js';
import { rejection } from '../support/clients.js';
import { connectFake, type FakeServer, page } from '../support/fake-server.js';

describe('RpcClient', () => {
  it('matches answers by their ids, in whatever order they come', async () => {
    const { client, server } = await connectFake();
    const status = client.rpc.call('environment/status', {});
    const list = client.rpc.call('process/list', {});
    const read = client.rpc.call('process/read', { processId: 'p' });
    server.answer(await server.requested('process/read'), page([[1, 'x']], { nextSeq: 2 }));
    server.answer(await server.requested('process/list'), { processes: [] });
    server.answer(await server.requested('environment/status'), { status: 'ready' });
    expect(await status).to.deep.equal({ status: 'ready' });
    expect(await list).to.deep.equal({ processes: [] });
    expect(Buffer.from((await read).chunks[0]?.chunk.data ?? []).toString()).to.equal('x');
  });

  it('sends params as the protocol has them, without members that are not given', async () => {
    const { client, server } = await connectFake();
    const read = client.rpc.call('process/read', { processId: 'p', waitMs: 5 });
    const request = await server.requested('process/read');
    expect(request.params).to.deep.equal({ processId: 'p', waitMs: 5 });
    server.answer(request, page([], { nextSeq: 1 }));
    await read;
  });

  it('rejects with the code and the data of an error answer', async () => {
    const { client, server } = await connectFake();
    const resized = client.rpc.call('process/resize', { processId: 'p', rows: 1, cols: 1 });
    server.refuse(await server.requested('process/resize'), { code: -32600, message: 'no', data: { a: 1 } });
    const error = await rejection(resized, ServerError);
    expect(error).to.include({ code: 'SERVER_ERROR', rpcCode: -32600, message: 'process/resize: no' });
    expect(error.data).to.deep.equal({ a: 1 });
    expect(client.rpc.ended).to.equal(undefined);
  });

  it('rejects everything that waits when the transport closes, and everything after that', async () => {
    const { client, server } = await connectFake();
    const pending = [client.rpc.call('process/list', {}), client.rpc.call('environment/status', {})];
    server.hangUp('the wire was cut');
    for (const call of [...pending, client.rpc.call('process/list', {})]) {
      expect(await rejection(call, ClosedError)).to.include({
        code: 'CLOSED',
        message: 'the connection to the server is closed: the wire was cut',
      });
    }
    const { length } = server.requests;
    await rejection(client.start({ argv: ['true'] }), ClosedError);
    expect(server.requests).to.have.lengthOf(length);
  });

  it('rejects everything that waits when it is closed, and ends the transport', async () => {
    const { client, server } = await connectFake();
    const pending = client.rpc.call('process/list', {});
    await client.close();
    expect(server.closed).to.equal(true);
    for (const call of [pending, client.rpc.call('process/list', {}), client.run(['true'])]) {
      expect((await rejection(call, ClosedError)).message).to.equal('the client was closed');
    }
    await client.close();
  });

  it('tells the end once, and each notification to whoever listens still', async () => {
    const { client, server } = await connectFake();
    const told: unknown[] = [];
    const off = client.rpc.on('output', ({ seq }) => told.push(['output', seq]));
    client.rpc.on('exited', ({ exitCode, signal }) => told.push(['exited', exitCode, signal]));
    client.rpc.on('closed', ({ seq }) => told.push(['closed', seq]));
    client.rpc.on('disconnected', ({ message }) => told.push(['disconnected', message]));
    server.output('p', 1, 'x');
    off();
    server.output('p', 2, 'x');
    server.exited('p', 3, 137, 'SIGKILL');
    server.closes('p', 4);
    server.hangUp('over');
    server.hangUp('over again');
    server.output('p', 5, 'x');
    expect(told).to.deep.equal([
      ['output', 1],
      ['exited', 137, 'SIGKILL'],
      ['closed', 4],
      ['disconnected', 'the connection to the server is closed: over'],
    ]);
  });

  it('ignores notifications that it does not know', async () => {
    const { client, server } = await connectFake();
    server.say({ method: 'process/dreamt', params: { of: 'sheep' } });
    server.say({ method: 'constructor' });
    const status = client.rpc.call('environment/status', {});
    server.answer(await server.requested('environment/status'), { status: 'ready' });
    expect(await status).to.deep.equal({ status: 'ready' });
  });

  const breaches: readonly (readonly [title: string, says: (server: FakeServer) => void, told: string])[] = [
    [
      'a known notification that does not decode',
      (server) => server.say({ method: 'process/closed', params: { processId: 'p', seq: -1 } }),
      'the notification process/closed does not decode: seq: expected a whole number from 0 to 2^53-1',
    ],
    [
      'output that is not base64',
      (server) =>
        server.say({
          method: 'process/output',
          params: { processId: 'p', seq: 1, stream: 'stdout', chunk: '!' },
        }),
      'the notification process/output does not decode: chunk: expected standard base64 with padding',
    ],
    [
      'an answer to nothing',
      (server) => server.say({ id: 99, result: {} }),
      'an answer to nothing that was asked (id 99)',
    ],
    [
      'an error about a message of ours',
      (server) => server.say({ id: -1, error: { code: -32600, message: 'the message is not JSON' } }),
      'an answer to nothing that was asked (id -1): the message is not JSON',
    ],
    ['text that is not JSON', (server) => server.sayText('{"id":'), 'a message is not a JSON object'],
    ['JSON that is no object', (server) => server.sayText('[1]'), 'a message is not a JSON object'],
    [
      'an object that is no message',
      (server) => server.say({ hello: 'world' }),
      'a message is neither an answer nor a notification',
    ],
    [
      'a result that does not decode',
      (server) => server.say({ id: 2, result: { processes: {} } }),
      'the answer to process/list does not decode: processes: expected a list of processes',
    ],
    [
      'an error that is none',
      (server) => server.say({ id: 2, error: 'no' }),
      'the error in the answer to process/list is not well formed',
    ],
  ];
  for (const [title, says, told] of breaches) {
    it(`is closed by ${title}`, async () => {
      const { client, server } = await connectFake();
      const pending = client.rpc.call('process/list', {});
      const ended: Error[] = [];
      client.rpc.on('disconnected', (error) => ended.push(error));
      says(server);
      const error = await rejection(pending, ProtocolError);
      expect(error).to.include({ code: 'PROTOCOL_ERROR', message: `the server broke the protocol: ${told}` });
      expect(ended).to.deep.equal([error]);
      expect(server.closed).to.equal(true);
      expect(await rejection(client.rpc.call('process/list', {}), ProtocolError)).to.equal(error);
    });
  }
});
