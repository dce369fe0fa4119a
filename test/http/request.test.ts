import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../src/codecs.js';
import { methods, type Result } from '../../src/protocol.js';
import type { TestClient } from '../support/client.js';
import { bodyOf, nobody, serveHttp, serveText } from '../support/http.js';
import { connectLocal } from '../support/local.js';

const params = (url: string, more: object = {}): object => ({ method: 'GET', url, requestId: 'r', ...more });

/** Sends http/request, and resolves with its result, decoded. */
const ask = async (client: TestClient, url: string, more: object = {}): Promise<Result<'http/request'>> => {
  const result = decode(
    methods['http/request'].result,
    await client.request('http/request', params(url, more)),
  );
  if (isLeft(result)) throw new Error(result.left);
  return result.right;
};

const textOf = ({ bodyBase64 }: Result<'http/request'>): string => Buffer.from(bodyBase64.data).toString();

const header = ({ headers }: Result<'http/request'>, name: string): string | undefined =>
  headers.find((one) => one.name === name)?.value;

/** The error that a request is answered with. */
const failure = async (url: string, more: object = {}): Promise<unknown> => {
  const client = await connectLocal({ allowHttp: true });
  return client.refused('http/request', params(url, more));
};

describe('http/request', () => {
  it('is not served unless the operator allows it', async () => {
    const client = await connectLocal();
    expect(await client.refused('http/request', params('http://127.0.0.1/'))).to.deep.equal({
      code: -32601,
      message: 'method `http/request` is not served by this executor',
    });
  });

  it('sends what it is told, and answers what came', async () => {
    let seen: unknown;
    const origin = await serveHttp(async (request, response) => {
      const body = [...(await bodyOf(request))];
      seen = { method: request.method, url: request.url, headers: request.rawHeaders, body };
      response.writeHead(201, 'Made', [
        ['X-One', 'ä'],
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
        ['Date', 'never'],
      ]);
      response.end(Buffer.from([0, 255, 10]));
    });
    const client = await connectLocal({ allowHttp: true });
    const result = await client.request(
      'http/request',
      params(`${origin}/p/%20?q=1#f`, {
        method: 'PUT',
        bodyBase64: Buffer.from([1, 0, 254]).toString('base64'),
        headers: [
          { name: 'X-Two', value: '1' },
          { name: 'x-two', value: ' 2 ' },
          { name: 'Content-Type', value: 'text/plain' },
          { name: 'Content-Length', value: '99' },
          { name: 'User-Agent', value: 'mine' },
          { name: 'Accept', value: 'a/b' },
        ],
        timeoutMs: null,
        redirectPolicy: null,
        streamResponse: null,
      }),
    );
    expect(seen).to.deep.equal({
      method: 'PUT',
      url: '/p/%20?q=1',
      headers: [
        ['host', new URL(origin).host],
        ['connection', 'close'],
        ['X-Two', '1, 2'],
        ['Content-Type', 'text/plain'],
        ['User-Agent', 'mine'],
        ['Accept', 'a/b'],
        ['accept-encoding', 'identity'],
        ['accept-language', '*'],
        ['sec-fetch-mode', 'cors'],
        ['content-length', '3'],
      ].flat(),
      body: [1, 0, 254],
    });
    expect(result).to.deep.equal({
      status: 201,
      headers: [
        { name: 'connection', value: 'close' },
        { name: 'date', value: 'never' },
        { name: 'set-cookie', value: 'a=1' },
        { name: 'set-cookie', value: 'b=2' },
        { name: 'transfer-encoding', value: 'chunked' },
        { name: 'x-one', value: 'ä' },
      ],
      bodyBase64: 'AP8K',
    });
  });

  for (const [method, status] of [
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ] as const) {
    it(`has no body for ${method} and status ${status}`, async () => {
      const origin = await serveHttp((_request, response) => response.writeHead(status).end());
      const client = await connectLocal({ allowHttp: true });
      const result = await ask(client, origin, { method, bodyBase64: '' });
      expect([result.status, textOf(result)]).to.deep.equal([status, '']);
    });
  }

  it('answers a refusal of the other side like any response', async () => {
    const origin = await serveHttp((_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('who are you?');
    });
    const client = await connectLocal({ allowHttp: true });
    const result = await ask(client, origin, { method: 'POST', bodyBase64: 'AAAA' });
    expect([result.status, header(result, 'www-authenticate'), textOf(result)]).to.deep.equal([
      401,
      'Bearer',
      'who are you?',
    ]);
  });

  it('undoes the coding of a body, and then says nothing of it', async () => {
    const origin = await serveHttp((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('plain'));
    });
    const client = await connectLocal({ allowHttp: true });
    const result = await ask(client, origin, { headers: [{ name: 'Accept-Encoding', value: 'gzip' }] });
    expect([textOf(result), header(result, 'content-encoding')]).to.deep.equal(['plain', undefined]);
  });

  it('leaves a coding as it is that it does not know', async () => {
    const origin = await serveHttp((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'rot13', 'content-length': '5' }).end('cynva');
    });
    const client = await connectLocal({ allowHttp: true });
    const result = await ask(client, origin);
    expect([
      textOf(result),
      header(result, 'content-encoding'),
      header(result, 'content-length'),
    ]).to.deep.equal(['cynva', 'rot13', '5']);
  });

  it('serves requests side by side: one that waits delays no other', async () => {
    let release: (() => void) | undefined;
    const origin = await serveHttp((request, response) => {
      if (request.url === '/slow') release = () => response.end('slow');
      else response.end(request.url);
    });
    const client = await connectLocal({ allowHttp: true });
    const slow = ask(client, `${origin}/slow`);
    const quick = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => textOf(await ask(client, `${origin}/${n}`))),
    );
    expect(quick).to.deep.equal(Array.from({ length: 20 }, (_, n) => `/${n}`));
    await client.until(() => release, 'the slow request');
    release?.();
    expect(textOf(await slow)).to.equal('slow');
  });
});

/** A server whose root leads elsewhere, and that tells of every other request what it was. */
const redirecting = async (to: string, status = 302): Promise<string> =>
  serveHttp(async (request, response) => {
    const { method, url, headers } = request;
    const body = await bodyOf(request);
    if (url === '/') response.writeHead(status, { location: to }).end('elsewhere');
    else response.end(`${method} ${body.toString()} ${headers.authorization ?? 'none'}`);
  });

describe('a redirection', () => {
  const secret = { headers: [{ name: 'Authorization', value: 'secret' }] };

  it('is followed, if nothing else is said', async () => {
    const client = await connectLocal({ allowHttp: true });
    const origin = await redirecting('/next');
    expect(textOf(await ask(client, origin, secret))).to.equal('GET  secret');
    const post = { method: 'POST', bodyBase64: 'YQ==', redirectPolicy: 'follow' };
    expect(textOf(await ask(client, origin, post))).to.equal('GET  none');
    expect(textOf(await ask(client, await redirecting('/next', 307), post))).to.equal('POST a none');
  });

  it('takes no credentials to another origin', async () => {
    const client = await connectLocal({ allowHttp: true });
    const other = await redirecting('/');
    expect(textOf(await ask(client, await redirecting(`${other}/next`), secret))).to.equal('GET  none');
  });

  it('is the response with the policy `stop`', async () => {
    const client = await connectLocal({ allowHttp: true });
    const result = await ask(client, await redirecting('/next'), { redirectPolicy: 'stop' });
    expect([result.status, header(result, 'location'), textOf(result)]).to.deep.equal([
      302,
      '/next',
      'elsewhere',
    ]);
  });

  it('is not followed for ever, nor out of HTTP', async () => {
    const client = await connectLocal({ allowHttp: true });
    expect(await client.refused('http/request', params(await redirecting('/')))).to.deep.equal({
      code: -32603,
      message: 'http/request failed: redirect count exceeded',
    });
    expect(await client.refused('http/request', params(await redirecting('file:///x')))).to.deep.equal({
      code: -32603,
      message: 'http/request failed: URL scheme must be a HTTP(S) scheme',
    });
  });
});

/** A good header, then this one. */
const withHeader = (name: string, value: string): object => ({
  headers: [
    { name: 'a', value: 'b' },
    { name, value },
  ],
});

describe('a request that fails', () => {
  it('says so where nobody listens', async () => {
    expect(await failure(await nobody())).to.deep.equal({
      code: -32603,
      message: 'http/request failed: connection refused',
    });
  });

  it('says so where no HTTP is spoken', async () => {
    expect(await failure(await serveText('hello\r\n\r\n'))).to.deep.equal({
      code: -32603,
      message: 'http/request failed: Response does not match the HTTP/1.1 protocol (Expected HTTP/)',
    });
  });

  it('says so where the body ends too early', async () => {
    const short = await serveText('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc');
    expect(await failure(short)).to.deep.equal({
      code: -32603,
      message: 'http/request failed: other side closed',
    });
  });

  it('says so when its time is over, before or amid the response', async () => {
    const timeout = { code: -32603, message: 'http/request failed: not done within 50 ms' };
    expect(await failure(await serveHttp(() => undefined), { timeoutMs: 50 })).to.deep.equal(timeout);
    const endless = await serveHttp((_request, response) => response.write('x'));
    expect(await failure(endless, { timeoutMs: 50 })).to.deep.equal(timeout);
    expect(await failure(endless, { timeoutMs: 0 })).to.deep.include({
      message: 'http/request failed: not done within 0 ms',
    });
  });

  it('says so when the body is too long for one answer', async () => {
    const tooLong = {
      code: -32603,
      message: 'http/request failed: the body is longer than 33554432 bytes; ask for streamResponse',
    };
    const sized = await serveHttp((_request, response) => response.end(Buffer.alloc(32 * 1024 * 1024 + 1)));
    expect(await failure(sized)).to.deep.equal(tooLong);
    const endless = await serveHttp((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024)));
      };
      response.on('drain', more);
      more();
    });
    expect(await failure(endless)).to.deep.equal(tooLong);
  });

  it('does not say so when the body is just as long', async () => {
    const length = 32 * 1024 * 1024;
    const origin = await serveHttp((_request, response) => response.end(Buffer.alloc(length, 'x')));
    const client = await connectLocal({ allowHttp: true });
    expect((await ask(client, origin)).bodyBase64.data.length).to.equal(length);
  });

  const URL_ERROR = 'url: expected an http: or https: URL';
  const METHOD_ERROR = 'method: expected a method of HTTP other than CONNECT, TRACE and TRACK';
  const HEADER_ERROR = 'headers[1]: expected a name and a value that HTTP allows';
  const table: readonly (readonly [what: object, message: string])[] = [
    [{ method: '' }, METHOD_ERROR],
    [{ method: 'G T' }, METHOD_ERROR],
    [{ method: 'GET\n' }, METHOD_ERROR],
    [{ method: 'connect' }, METHOD_ERROR],
    [{ method: 'TRACE' }, METHOD_ERROR],
    [{ url: '' }, URL_ERROR],
    [{ url: '/path' }, URL_ERROR],
    [{ url: 'ftp://127.0.0.1/' }, URL_ERROR],
    [{ url: 'file:///etc/passwd' }, URL_ERROR],
    [{ url: 'data:,x' }, URL_ERROR],
    [{ url: 'http://' }, URL_ERROR],
    [
      { url: 'http://user:canary@127.0.0.1/' },
      'url: expected no credentials; they belong in the header Authorization',
    ],
    [withHeader('', 'canary'), HEADER_ERROR],
    [withHeader('a b', 'canary'), HEADER_ERROR],
    [withHeader('a', 'canary\r\nb: c'), HEADER_ERROR],
    [withHeader('a', 'canary\0'), HEADER_ERROR],
    [withHeader('a', 'canary €'), HEADER_ERROR],
    [{ bodyBase64: 'AAAA' }, 'bodyBase64: expected none with GET and HEAD'],
    [{ method: 'head', bodyBase64: 'AAAA' }, 'bodyBase64: expected none with GET and HEAD'],
    [withHeader('Upgrade', 'canary'), 'http/request failed: invalid upgrade header'],
    [withHeader('Transfer-Encoding', 'canary'), 'http/request failed: invalid transfer-encoding header'],
    [withHeader('Expect', 'canary'), 'http/request failed: expect header not supported'],
  ];
  for (const [what, message] of table) {
    it(`is refused with ${JSON.stringify(what)}`, async () => {
      const origin = await serveHttp((_request, response) => response.end());
      expect(await failure(origin, what)).to.deep.equal({ code: -32602, message });
    });
  }

  it('is refused where 128 are under way', async () => {
    const held: ServerResponse[] = [];
    const origin = await serveHttp((_request, response) => held.push(response));
    const client = await connectLocal({ allowHttp: true });
    const underWay = Array.from({ length: 128 }, async () => ask(client, origin));
    expect(await client.refused('http/request', params(origin))).to.deep.equal({
      code: -32600,
      message: 'at most 128 http requests may be under way per connection',
    });
    while (held.length < 128) await nextTurn();
    for (const response of held.splice(0)) response.end('x');
    expect((await Promise.all(underWay)).map(textOf).join('')).to.equal('x'.repeat(128));
    const another = ask(client, origin);
    while (held.length === 0) await nextTurn();
    held[0]?.end('free again');
    expect(textOf(await another)).to.equal('free again');
  });
});
