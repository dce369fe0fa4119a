import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../src/codecs.js';
import { redacted } from '../../src/inspect/redact.js';
import { createLog } from '../../src/log.js';
import { type NotificationParams, notifications } from '../../src/protocol.js';
import { ExecServer } from '../../src/server.js';
import { lineFraming } from '../../src/wire/framing.js';
import { streamWire } from '../../src/wire/stdio.js';
import type { Wire, WireEvents } from '../../src/wire/wire.js';
import {
  collectStderr,
  connectStdio,
  connectWebSocket,
  launchListener,
  type TestClient,
} from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { serveHttp, serveText } from '../support/http.js';
import { connectLocal } from '../support/local.js';

const DELTA = 'http/request/bodyDelta';
type Delta = NotificationParams<typeof DELTA>;

const params = (url: string, requestId = 'r', more: object = {}): object => ({
  method: 'GET',
  url,
  requestId,
  streamResponse: true,
  ...more,
});

const decoded = (delta: unknown): Delta => {
  const value = decode(notifications[DELTA], delta);
  if (isLeft(value)) throw new Error(value.left);
  return value.right;
};

const deltasOf = (client: TestClient, requestId = 'r'): Delta[] =>
  client.messages
    .filter(({ method, params: told }) => method === DELTA && told?.['requestId'] === requestId)
    .map(({ params: told }) => decoded(told));

const bodyOf = (deltas: readonly Delta[]): Buffer =>
  Buffer.concat(deltas.map(({ deltaBase64 }) => deltaBase64.data));

/** All that came of a body, when its last part is there. */
const finished = async (client: TestClient, requestId = 'r'): Promise<Delta[]> =>
  client.until(() => {
    const deltas = deltasOf(client, requestId);
    return deltas.at(-1)?.done === true && deltas;
  }, `the end of the body ${requestId}`);

/** Resolves with the response that a server is asked for, which it may write to; and its origin. */
const heldResponse = async (): Promise<{ origin: string; response: Promise<ServerResponse> }> => {
  const requests = new EventEmitter();
  const origin = await serveHttp((_request, response) => requests.emit('response', response));
  const response = once(requests, 'response').then(([held]: ServerResponse[]) => {
    if (held === undefined) throw new Error('no response');
    return held;
  });
  return { origin, response };
};

describe('a streamed body', () => {
  it('comes after the answer, in order, in parts of at most 64 KiB, with an end', async () => {
    const body = Buffer.alloc(1_000_000, 'numbers 0123456789 ');
    const origin = await serveHttp((_request, response) => response.end(body));
    const client = await connectLocal({ allowHttp: true });
    const { id, result } = await client.call('http/request', params(origin));
    expect(result).to.deep.include({ status: 200, bodyBase64: '' });
    expect(result?.['headers']).to.deep.include({ name: 'content-length', value: '1000000' });
    const deltas = await finished(client);
    expect(client.messages.findIndex((message) => message.id === id)).to.be.below(
      client.messages.findIndex(({ method }) => method === DELTA),
    );
    expect(deltas.map(({ seq }) => seq)).to.deep.equal(deltas.map((_, index) => index + 1));
    expect(bodyOf(deltas).equals(body)).to.equal(true);
    expect(Math.max(...deltas.map(({ deltaBase64 }) => deltaBase64.data.length))).to.be.at.most(65_536);
    expect(deltas.slice(0, -1).every(({ done }) => !done)).to.equal(true);
    expect(client.messages.at(-1)?.params).to.deep.equal({
      requestId: 'r',
      seq: deltas.length,
      deltaBase64: '',
      done: true,
    });
  });

  it('that is empty has an end alone', async () => {
    const origin = await serveHttp((_request, response) => response.writeHead(204).end());
    const client = await connectLocal({ allowHttp: true });
    await client.request('http/request', params(origin));
    expect((await finished(client)).map(({ seq, done }) => [seq, done])).to.deep.equal([[1, true]]);
  });

  it('comes as it is written, however slowly', async () => {
    const { origin, response } = await heldResponse();
    const client = await connectLocal({ allowHttp: true });
    const answer = client.request('http/request', params(origin));
    (await response).flushHeaders();
    await answer;
    for (let n = 1; n <= 5; n++) {
      (await response).write(`event ${n}\n`);
      await client.until(() => deltasOf(client).length === n, `part ${n}`);
    }
    (await response).end();
    expect(
      (await finished(client)).map(({ deltaBase64 }) => Buffer.from(deltaBase64.data).toString()),
    ).to.deep.equal(['event 1\n', 'event 2\n', 'event 3\n', 'event 4\n', 'event 5\n', '']);
  });

  it('that breaks off tells why in its last part', async () => {
    const client = await connectLocal({ allowHttp: true });
    const short = await serveText('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc');
    await client.request('http/request', params(short));
    const deltas = await finished(client);
    expect(bodyOf(deltas).toString()).to.equal('abc');
    expect(deltas.at(-1)).to.deep.include({ done: true, error: 'other side closed' });
  });

  it('tells when its time is over', async () => {
    const origin = await serveHttp((_request, response) => response.write('x'));
    const client = await connectLocal({ allowHttp: true });
    await client.request('http/request', params(origin, 'r', { timeoutMs: 200 }));
    expect((await finished(client)).at(-1)).to.deep.include({ error: 'not done within 200 ms' });
  });

  it('has its requestId for itself as long as it lasts', async () => {
    const { origin, response } = await heldResponse();
    const other = await serveHttp((_request, held) => held.end('other'));
    const client = await connectLocal({ allowHttp: true });
    const first = client.request('http/request', params(origin));
    (await response).write('one');
    await first;
    expect(await client.refused('http/request', params(other))).to.deep.equal({
      code: -32602,
      message: 'http/request streamResponse requestId `r` is already active',
    });
    expect(await client.request('http/request', params(other, 'r', { streamResponse: false }))).to.include({
      bodyBase64: 'b3RoZXI=',
    });
    await client.request('http/request', params(other, 'another'));
    expect(bodyOf(await finished(client, 'another')).toString()).to.equal('other');
    (await response).end(' two');
    expect(bodyOf(await finished(client)).toString()).to.equal('one two');
    await client.request('http/request', params(other));
    await client.until(() => bodyOf(deltasOf(client)).toString() === 'one twoother', 'the next body');
  });
});

/** A wire that takes nothing before it is told to. */
class SlowWire implements Wire {
  readonly name = 'slow';
  readonly canResume = false;
  readonly framing = lineFraming;
  events: WireEvents | undefined;
  readonly writes: string[] = [];
  takes = true;

  open(events: WireEvents): void {
    this.events = events;
  }

  write(bytes: Buffer): boolean {
    this.writes.push(bytes.toString());
    return this.takes;
  }

  close(reason: string): void {
    this.events?.closed(reason);
  }

  pause(): void {}
  resume(): void {}
}

describe('a client that does not read', () => {
  it('makes the other side wait, and gets all of it in the end', async () => {
    const LENGTH = 64 * 1024 * 1024;
    let sent = 0;
    const origin = await serveHttp((_request, response) => {
      const more = (): void => {
        while (sent < LENGTH) {
          sent += 65_536;
          if (!response.write(Buffer.alloc(65_536, 'x'))) return;
        }
        response.end();
      };
      response.on('drain', more);
      more();
    });
    const server = new ExecServer(createLog('silent'), { allowHttp: true });
    cleanup(() => server.close('the test is over'));
    const wire = new SlowWire();
    server.accept(wire);
    const last = (): string => wire.writes.at(-1) ?? '';
    const say = (message: object): void => wire.events?.message(JSON.stringify(message));
    say({ id: 1, method: 'initialize', params: { clientName: 'test' } });
    say({ method: 'initialized' });
    say({ id: 2, method: 'http/request', params: params(origin) });
    while (!last().includes(DELTA)) await nextTurn();
    wire.takes = false;
    for (let writes = wire.writes.length; wire.writes.length === writes;) await nextTurn();
    // what is on its way comes to rest: full are the buffers of the kernel and of fetch
    for (let quiet = 0, before = sent; quiet < 2_000; quiet++, before = sent) {
      await nextTurn();
      if (sent !== before) quiet = 0;
    }
    expect(sent).to.be.below(LENGTH / 2);
    expect(last()).to.include(DELTA);
    wire.takes = true;
    wire.events?.drain();
    while (!last().includes('"done":true')) await nextTurn();
    const deltas = wire.writes
      .join('')
      .split('\n')
      .filter((line) => line.includes(DELTA))
      .map((line) => decoded(JSON.parse(line).params));
    expect(deltas.map(({ seq }) => seq)).to.deep.equal(deltas.map((_, index) => index + 1));
    expect(bodyOf(deltas).length).to.equal(LENGTH);
  });
});

describe('what is under way', () => {
  it('is broken off when the wire ends, and the client that comes back begins anew', async () => {
    const streaming = await heldResponse();
    const silent = await heldResponse();
    const other = await serveHttp((_request, response) => response.end('other'));
    const { url } = await launchListener(['--allow-http']);
    const client = await connectWebSocket(url);
    const { sessionId } = await client.initialize({ resumeSessionId: null });
    client.raw(JSON.stringify({ id: 'a', method: 'http/request', params: params(silent.origin, 's') }));
    const answer = client.request('http/request', params(streaming.origin));
    const responses = [await streaming.response, await silent.response];
    responses[0]?.write('x');
    await answer;
    const ends = Promise.all(responses.map(async (response) => once(response, 'close')));
    await client.close();
    await ends;
    const next = await connectWebSocket(url);
    // the server learns of the end a little later
    const resume = { clientName: 'test', resumeSessionId: sessionId };
    while ((await next.call('initialize', resume)).error?.code === -32010);
    next.notify('initialized');
    await next.request('http/request', params(other));
    expect(bodyOf(await finished(next)).toString()).to.equal('other');
    expect(next.messages.some(({ id }) => id === 'a')).to.equal(false);
  });

  it('is told of when the session ends', async () => {
    const streaming = await heldResponse();
    const silent = await heldResponse();
    const input = new PassThrough();
    const output = new PassThrough();
    const server = new ExecServer(createLog('silent'), { allowHttp: true });
    cleanup(() => server.close('the test is over'));
    const connection = server.accept(streamWire('test', input, output, 1_000_000));
    let text = '';
    output.on('data', (data: Buffer) => (text += data.toString()));
    for (const message of [
      { id: 1, method: 'initialize', params: { clientName: 'test' } },
      { method: 'initialized' },
      { id: 2, method: 'http/request', params: params(streaming.origin) },
      { id: 3, method: 'http/request', params: params(silent.origin, 's') },
    ])
      input.write(`${JSON.stringify(message)}\n`);
    (await streaming.response).write('x');
    await silent.response;
    while (!text.includes(DELTA)) await once(output, 'data');
    input.end();
    await connection.closed;
    expect(text.trimEnd().split('\n').slice(2).sort()).to.deep.equal([
      '{"id":3,"error":{"code":-32603,"message":"http/request failed: the session has ended"}}',
      '{"method":"http/request/bodyDelta","params":{"requestId":"r","seq":1,"deltaBase64":"eA==","done":false}}',
      '{"method":"http/request/bodyDelta","params":{"requestId":"r","seq":2,"deltaBase64":"","done":true,"error":"the session has ended"}}',
    ]);
  });

  it('leaves nothing where an inspector looks', async () => {
    const origin = await serveHttp((_request, response) => {
      response.writeHead(200, { 'x-secret': 'secret header back' }).end('secret body back');
    });
    const events: unknown[] = [];
    const client = await connectLocal({
      allowHttp: true,
      inspect: [{ next: (event) => events.push(redacted(event)) }],
    });
    const request = {
      method: 'POST',
      headers: [{ name: 'authorization', value: 'secret header' }],
      bodyBase64: Buffer.from('secret body').toString('base64'),
    };
    await client.request('http/request', params(`${origin}/?secret`, 'r', request));
    await finished(client);
    await client.request(
      'http/request',
      params(`${origin}/?secret`, 'r', { ...request, streamResponse: false }),
    );
    const seen = JSON.stringify(events);
    expect(seen).to.include('http.request').and.include('notification').and.include('reply.encoded');
    expect(seen).not.to.include('secret');
    expect(seen).not.to.include(Buffer.from('secret').toString('base64'));
  });
});

describe('--allow-http', () => {
  it('lets clients of the built server send requests, and its log says nothing of them', async () => {
    const origin = await serveHttp((_request, response) => response.end('hello'));
    const client = await connectStdio(['--allow-http', '--log-level', 'debug', '--trace']);
    if (client.server === undefined) throw new Error('no server');
    const stderr = collectStderr(client.server);
    await client.initialize();
    const headers = [{ name: 'authorization', value: 'the secret' }];
    expect(
      (await client.request('http/request', params(`${origin}/?the-secret`, 'r', { headers })))['status'],
    ).to.equal(200);
    expect(bodyOf(await finished(client)).toString()).to.equal('hello');
    await client.close();
    expect(stderr()).to.include('connection closed').and.not.include('secret');
  });
});
