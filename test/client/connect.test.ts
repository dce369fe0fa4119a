import http from 'node:http';
import net from 'node:net';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { WebSocketServer } from 'ws';
import {
  ClosedError,
  ConnectRefusedError,
  ConnectTimeoutError,
  ExecServerClient,
  InitializeTimeoutError,
  ProtocolError,
  ServerError,
} from '../../src/client/index.js';
import { env, rejection } from '../support/clients.js';
import { launchListener, launchServer } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { connectFake, FakeServer } from '../support/fake-server.js';

/** Listens on a free port until the test is over; answers where. */
const listen = async (server: net.Server): Promise<string> => {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => sockets.add(socket));
  cleanup(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `ws://127.0.0.1:${address.port}`;
};

describe('ExecServerClient.connectWebSocket', () => {
  it('initializes before it resolves, and runs programs', async () => {
    const { url } = await launchListener();
    const client = await ExecServerClient.connectWebSocket({ url, clientName: 'test' });
    expect(client.sessionId).to.match(/^[0-9a-f-]{36}$/);
    expect(client.environmentInfo.platformOs).to.equal('linux');
    expect(await client.run(['echo', 'hi'], { env })).to.deep.equal({
      exitCode: 0,
      signal: null,
      reason: 'exited',
      stdout: 'hi\n',
      stderr: '',
    });
    await client.close();
  });

  it('rejects with ConnectTimeoutError where somebody listens and says nothing', async () => {
    const url = await listen(net.createServer());
    const error = await rejection(
      ExecServerClient.connectWebSocket({ url, connectTimeout: 30 }),
      ConnectTimeoutError,
    );
    expect(error).to.include({ code: 'CONNECT_TIMEOUT', message: `no connection to ${url} within 30 ms` });
  });

  it('rejects with ConnectRefusedError where nobody listens', async () => {
    const server = net.createServer();
    const url = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    const error = await rejection(ExecServerClient.connectWebSocket({ url }), ConnectRefusedError);
    expect(error.code).to.equal('CONNECT_REFUSED');
    expect(error.message).to.equal(`cannot connect to ${url}: connect ECONNREFUSED ${url.slice(5)}`);
  });

  it('rejects with ConnectRefusedError when the server refuses: 403, 404', async () => {
    const { url } = await launchListener();
    const elsewhere = await rejection(
      ExecServerClient.connectWebSocket({ url: `${url}/elsewhere` }),
      ConnectRefusedError,
    );
    expect(elsewhere.message).to.equal(`cannot connect to ${url}/elsewhere: Unexpected server response: 404`);

    const tokens: (string | undefined)[] = [];
    const server = http.createServer();
    server.on('upgrade', ({ headers }: http.IncomingMessage, socket: net.Socket) => {
      tokens.push(headers.authorization);
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
    });
    const forbidding = await listen(server);
    const forbidden = await rejection(
      ExecServerClient.connectWebSocket({ url: forbidding, token: 'secret' }),
      ConnectRefusedError,
    );
    expect(forbidden.message).to.equal(`cannot connect to ${forbidding}: Unexpected server response: 403`);
    expect(tokens).to.deep.equal(['Bearer secret']);
  });

  it('rejects with ConnectRefusedError what is no WebSocket URL, and a token that no header can hold', async () => {
    const bad = await rejection(ExecServerClient.connectWebSocket({ url: 'nonsense' }), ConnectRefusedError);
    expect(bad.message).to.equal('cannot connect to nonsense: Invalid URL: nonsense');
    const url = 'ws://127.0.0.1:1';
    const unfit = await rejection(
      ExecServerClient.connectWebSocket({ url, token: 'a\nb' }),
      ConnectRefusedError,
    );
    expect(unfit.message).to.equal(
      `cannot connect to ${url}: Invalid character in header content ["Authorization"]`,
    );
  });

  it('rejects with InitializeTimeoutError when a server does not answer', async () => {
    const server = http.createServer();
    const silent = new WebSocketServer({ server });
    const url = await listen(server);
    const closed = new Promise((resolve) => silent.on('connection', (socket) => socket.on('close', resolve)));
    const error = await rejection(
      ExecServerClient.connectWebSocket({ url, initializeTimeout: 30 }),
      InitializeTimeoutError,
    );
    expect(error).to.include({
      code: 'INITIALIZE_TIMEOUT',
      message: 'the server did not answer initialize within 30 ms',
    });
    expect(await closed).to.equal(1000);
  });

  it('tells where the connection was, and how it ended', async () => {
    const { server, url } = await launchListener();
    const client = await ExecServerClient.connectWebSocket({ url });
    const process = await client.start({ argv: ['sleep', '60'], env });
    server.kill('SIGTERM');
    expect(await process.exit).to.include({ signal: 'SIGKILL', reason: 'disconnected' });
    const error = await rejection(client.rpc.call('environment/status', {}), ClosedError);
    expect(error.message).to.equal(`the connection to the server is closed: ${url}: closed with code 1000`);
    await client.close();
  });
});

describe('ExecServerClient.connectStdio', () => {
  it('initializes before it resolves; the server ends with the client', async () => {
    const { stdin, stdout, stderr, ...server } = launchServer();
    if (stdin === null || stdout === null) throw new Error('no pipes');
    stderr?.resume();
    const client = await ExecServerClient.connectStdio(stdout, stdin);
    expect((await client.run(['cat'], { env, input: 'ä€😀' })).stdout).to.equal('ä€😀');
    await client.close();
    expect(stdout.destroyed && stdin.destroyed).to.equal(true);
    expect(server).to.be.an('object');
  });

  it('rejects with InitializeTimeoutError when nobody answers, and ends both streams', async () => {
    const [readable, writable] = [new PassThrough(), new PassThrough()];
    const connecting = ExecServerClient.connectStdio(readable, writable, { initializeTimeout: 10 });
    await rejection(connecting, InitializeTimeoutError);
    expect(readable.destroyed && writable.destroyed).to.equal(true);
  });

  it('rejects with ClosedError when the other side ends, or cannot be written to', async () => {
    const [readable, writable] = [new PassThrough(), new PassThrough()];
    readable.end();
    expect(
      (await rejection(ExecServerClient.connectStdio(readable, writable), ClosedError)).message,
    ).to.equal('the connection to the server is closed: the server closed its output');
    const broken = new PassThrough();
    const connecting = ExecServerClient.connectStdio(new PassThrough(), broken);
    broken.destroy(new Error('EPIPE'));
    expect((await rejection(connecting, ClosedError)).message).to.equal(
      'the connection to the server is closed: writing failed: EPIPE',
    );
  });

  it('rejects with ProtocolError when what answers is no exec-server', async () => {
    const [readable, writable] = [new PassThrough(), new PassThrough()];
    readable.end('Welcome to login.example!\n');
    const error = await rejection(ExecServerClient.connectStdio(readable, writable), ProtocolError);
    expect(error.message).to.equal('the server broke the protocol: a message is not a JSON object');
  });
});

describe('the handshake', () => {
  it('sends the client’s name, and asks for no session that can be resumed', async () => {
    const { client, server } = await connectFake({ clientName: 'me' });
    expect(server.requests).to.deep.equal([{ id: 1, method: 'initialize', params: { clientName: 'me' } }]);
    expect(client.sessionId).to.equal('session 1');
  });

  it('rejects with ServerError when it is refused, and ends the transport', async () => {
    const server = new FakeServer();
    const connecting = ExecServerClient.over(server.transport);
    server.refuse(await server.requested('initialize'), { code: -32600, message: 'go away' });
    expect((await rejection(connecting, ServerError)).message).to.equal('initialize: go away');
    expect(server.closed).to.equal(true);
  });

  it('waits without end if it is told so', async () => {
    const server = new FakeServer();
    const connecting = ExecServerClient.over(server.transport, { initializeTimeout: Infinity });
    await new Promise((resolve) => setTimeout(resolve, 5));
    server.hangUp('enough');
    await rejection(connecting, ClosedError);
  });
});
