import { once } from 'node:events';
import net from 'node:net';
import { expect } from 'chai';
import { WebSocket } from 'ws';
import { Tokens } from '../../src/token.js';
import { MAX_FAILURES } from '../../src/wire/attempts.js';
import { listen, type ListenerOptions } from '../../src/wire/listener.js';
import type { Wire } from '../../src/wire/wire.js';
import { cleanup } from '../support/environment.js';
import { ask, statusOf, UPGRADE } from '../support/raw-http.js';

const TOKEN = 'canary-0123456789';
const RIGHT = `Authorization: Bearer ${TOKEN}`;
const HOST = 'Host: 127.0.0.1';

type Guarded = { readonly port: number; readonly wires: Wire[]; readonly refused: string[] };

/** A listener that wants a token. */
const guarded = async (options: Partial<ListenerOptions> = {}): Promise<Guarded> => {
  const wires: Wire[] = [];
  const refused: string[] = [];
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    maxMessageBytes: 1_000,
    allowedHosts: [],
    tokens: Tokens.of([TOKEN, 'another-token']),
    onWire: (wire) => {
      wires.push(wire);
      wire.open({
        message: () => undefined,
        malformed: () => undefined,
        ended: () => undefined,
        drain: () => undefined,
        closed: () => undefined,
      });
    },
    onRefused: (status, reason, address) => void refused.push(`${status} ${reason}, from ${address}`),
    ...options,
  });
  cleanup(() => listener.close());
  return { port: Number(new URL(listener.url).port), wires, refused };
};

const get = (path: string, ...headers: string[]): string[] => [
  `GET ${path} HTTP/1.1`,
  HOST,
  'Connection: close',
  ...headers,
];

const upgrade = (...headers: string[]): string[] => ['GET / HTTP/1.1', HOST, ...UPGRADE, ...headers];

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

const evil = (...headers: string[]): string[] => [
  'GET / HTTP/1.1',
  'Host: evil.example',
  ...UPGRADE,
  ...headers,
];

describe('a listener with a token', () => {
  for (const [what, header, expected] of [
    ['the right token', RIGHT, 101],
    ['the other token', 'Authorization: Bearer another-token', 101],
    ['another way to write the scheme', `authorization: bEARER   ${TOKEN}`, 101],
    ['no token', undefined, 401],
    ['an empty one', 'Authorization: Bearer ', 401],
    ['no scheme', `Authorization: ${TOKEN}`, 401],
    ['another scheme', `Authorization: Basic ${TOKEN}`, 401],
    ['a wrong one', 'Authorization: Bearer canary-0123456780', 401],
    ['a shorter one', `Authorization: Bearer ${TOKEN.slice(0, -1)}`, 401],
    ['a longer one', `Authorization: Bearer ${TOKEN}0`, 401],
    ['one of 12,000 bytes', `Authorization: Bearer ${'x'.repeat(12_000)}`, 401],
    ['two in one', `Authorization: Bearer ${TOKEN} another-token`, 401],
    ['a second header', `Authorization: Bearer wrong\r\n${RIGHT}`, 401],
    ['it in a sub-protocol', `Sec-WebSocket-Protocol: exec-server.token.${base64url(TOKEN)}`, 401],
    ['it in a cookie', `Cookie: token=${TOKEN}`, 401],
  ] as const) {
    it(`answers ${what} by ${expected}`, async () => {
      const { port, wires } = await guarded();
      expect(statusOf(await ask(port, upgrade(...(header === undefined ? [] : [header]))))).to.equal(
        expected,
      );
      expect(wires).to.have.lengthOf(expected === 101 ? 1 : 0);
      if (header === undefined || expected !== 101) {
        expect(statusOf(await ask(port, get('/', ...(header === undefined ? [] : [header]))))).to.equal(401);
      }
    });
  }

  it('takes none from the URL', async () => {
    const { port } = await guarded();
    const lines = [`GET /?token=${TOKEN} HTTP/1.1`, HOST, ...UPGRADE];
    expect(statusOf(await ask(port, lines))).to.equal(401);
  });

  it('names the same principal for the same token, and never the token', async () => {
    const { port, wires } = await guarded();
    for (const header of [RIGHT, RIGHT, 'Authorization: Bearer another-token'])
      await ask(port, upgrade(header));
    const [first, again, other] = wires.map(({ principal }) => principal);
    expect(first).to.be.a('string').that.equals(again).and.does.not.include(TOKEN);
    expect(other).to.be.a('string').that.does.not.equal(first);
  });

  it('refuses shortly and alike, with or without an upgrade', async () => {
    const { port } = await guarded();
    const unauthorized =
      'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
    const forbidden = 'HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
    for (const lines of [
      get('/'),
      upgrade(),
      get('/other'),
      get('/metrics'),
      get('/', 'Authorization: Bearer x'),
    ]) {
      expect(await ask(port, lines)).to.equal(unauthorized);
    }
    for (const lines of [
      get('/', 'Origin: http://x'),
      upgrade('Origin: http://x', RIGHT),
      get('/readyz', 'Origin: x'),
    ]) {
      expect(await ask(port, lines)).to.equal(forbidden);
    }
  });

  it('looks at the Origin first, then at the Host, then at the token, then at the rest', async () => {
    const { port, refused } = await guarded();
    expect(statusOf(await ask(port, evil('Origin: http://x')))).to.equal(403);
    expect(statusOf(await ask(port, evil(RIGHT)))).to.equal(403);
    expect(statusOf(await ask(port, [`POST /other HTTP/1.1`, HOST, ...UPGRADE]))).to.equal(401);
    expect(statusOf(await ask(port, [`GET /other HTTP/1.1`, HOST, ...UPGRADE, RIGHT]))).to.equal(404);
    expect(refused).to.deep.equal([
      '403 it has an Origin header, from 127.0.0.1',
      '403 its Host is not a name of this server, from 127.0.0.1',
      '401 it has no token, from 127.0.0.1',
      '404 its path is not /, from 127.0.0.1',
    ]);
  });

  it('lets probes in without one, by GET and never from a web page', async () => {
    const { port } = await guarded();
    for (const path of ['/readyz', '/healthz', '/readyz?x']) {
      expect(statusOf(await ask(port, get(path))), path).to.equal(200);
      expect(statusOf(await ask(port, get(path, 'Origin: http://x'))), path).to.equal(403);
      expect(
        statusOf(await ask(port, [`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close'])),
        path,
      ).to.equal(403);
      expect(statusOf(await ask(port, [`POST ${path} HTTP/1.1`, HOST])), path).to.equal(401);
    }
  });

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']) {
    it(`answers ${method} by 404 and nothing else, also with the token`, async () => {
      const { port } = await guarded();
      const notFound = 'HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
      for (const path of ['/', '/readyz', '/other']) {
        const head = [`${method} ${path} HTTP/1.1`, HOST, RIGHT, 'Access-Control-Request-Method: GET'];
        expect(await ask(port, head)).to.equal(notFound);
        expect(await ask(port, [...head, ...UPGRADE])).to.equal(notFound);
      }
    });
  }

  it('answers a handshake that is none without a page', async () => {
    const { port, refused } = await guarded();
    for (const wrong of [
      'Sec-WebSocket-Version: 12',
      'Sec-WebSocket-Key: x',
      'Upgrade: h2c',
      'Sec-WebSocket-Protocol: ,',
    ]) {
      const [name = ''] = wrong.split(':');
      const lines = [...upgrade(RIGHT).filter((line) => !line.startsWith(`${name}:`)), wrong];
      expect(await ask(port, lines), wrong).to.equal(
        'HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
      );
    }
    expect(refused).to.deep.equal(
      Array.from({ length: 4 }, () => '400 it is no handshake of a WebSocket, from 127.0.0.1'),
    );
  });

  it('holds an address off that failed too often, but never the right token', async () => {
    const { port, refused } = await guarded();
    for (let time = 0; time < MAX_FAILURES; time++) {
      expect(statusOf(await ask(port, upgrade('Authorization: Bearer wrong')))).to.equal(401);
    }
    for (const lines of [upgrade('Authorization: Bearer wrong'), upgrade(), get('/')]) {
      expect(await ask(port, lines)).to.match(
        /^HTTP\/1\.1 429 Too Many Requests\r\nRetry-After: [1-6]?\d\r\nConnection: close\r\nContent-Length: 0\r\n\r\n$/,
      );
    }
    expect(statusOf(await ask(port, upgrade(RIGHT)))).to.equal(101);
    expect(statusOf(await ask(port, get('/readyz')))).to.equal(200);
    // one line for all that follow: a guesser does not fill the log
    expect(refused.slice(MAX_FAILURES)).to.deep.equal([
      '429 too many requests of its address had no right token, from 127.0.0.1',
    ]);
  });

  it('counts nothing that was refused before the token was looked at', async () => {
    const { port } = await guarded();
    for (let time = 0; time <= MAX_FAILURES; time++) await ask(port, upgrade('Origin: http://x'));
    expect(statusOf(await ask(port, upgrade()))).to.equal(401);
  });
});

const carrier = (token: string): string => `exec-server.token.${base64url(token)}`;

const offered = (...protocols: string[]): string[] =>
  upgrade(`Sec-WebSocket-Protocol: ${protocols.join(', ')}`);

describe('a token in a sub-protocol', () => {
  it('is taken where that is allowed; what is answered is the other one', async () => {
    const { port, wires } = await guarded({ tokenInProtocol: true });
    for (const lines of [
      offered('exec-server.v0', carrier(TOKEN)),
      offered(carrier(TOKEN), 'exec-server.v0'),
    ]) {
      const answer = await ask(port, lines);
      expect(statusOf(answer)).to.equal(101);
      expect(answer).to.include('\r\nSec-WebSocket-Protocol: exec-server.v0\r\n');
      expect(answer).to.not.include(base64url(TOKEN));
    }
    expect(wires).to.have.lengthOf(2);
  });

  it('is not answered, even if there is no other', async () => {
    const { port } = await guarded({ tokenInProtocol: true });
    const answer = await ask(port, offered(carrier(TOKEN)));
    expect(statusOf(answer)).to.equal(101);
    expect(answer).to.not.match(/Sec-WebSocket-Protocol/i);
  });

  it('is refused if it is wrong, or if there is a header, which goes before it', async () => {
    const { port, refused } = await guarded({ tokenInProtocol: true });
    for (const lines of [
      offered('exec-server.v0'),
      offered(carrier('wrong')),
      offered('exec-server.token.'),
      offered(`exec-server.token.${TOKEN}`),
      [...offered(carrier(TOKEN)), 'Authorization: Bearer wrong'],
    ]) {
      expect(statusOf(await ask(port, lines)), lines.at(-1)).to.equal(401);
    }
    expect(refused.join()).to.not.include('canary');
  });

  it('is not answered where it is not allowed either', async () => {
    const { port } = await guarded();
    const answer = await ask(port, [...offered(carrier('x'), 'mine'), RIGHT]);
    expect(answer).to.include('\r\nSec-WebSocket-Protocol: mine\r\n');
  });

  it('works with a client that is none of ours', async () => {
    const { port } = await guarded({ tokenInProtocol: true });
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, ['exec-server.v0', carrier(TOKEN)]);
    await once(socket, 'open');
    expect(socket.protocol).to.equal('exec-server.v0');
    socket.terminate();
    await once(socket, 'close');
  });
});

/** What comes to a client that sends this and then nothing. */
const dribble = async (port: number, text: string): Promise<string> => {
  const socket = net.connect(port, '127.0.0.1');
  const over = once(socket, 'close');
  let answer = '';
  socket.setEncoding('latin1').on('data', (data) => {
    answer += String(data);
  });
  socket.write(text);
  await over;
  return answer;
};

describe('a request that takes its time', () => {
  for (const [what, text] of [
    ['no byte', ''],
    ['half a line', 'GET / HT'],
    ['headers without an end', 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: '],
    ['half a handshake', upgrade(RIGHT).join('\r\n')],
  ] as const) {
    it(`is closed: ${what}`, async () => {
      const { port, wires } = await guarded({ headersTimeoutMs: 40 });
      expect(await dribble(port, text)).to.match(
        /^(HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n\r\n)?$/,
      );
      expect(wires).to.deep.equal([]);
    });
  }

  it('does not hold the connection by its body', async () => {
    const { port } = await guarded();
    const answer = await dribble(
      port,
      `POST / HTTP/1.1\r\n${HOST}\r\n${RIGHT}\r\nContent-Length: 1000000\r\n\r\nx`,
    );
    expect(statusOf(answer)).to.equal(404);
  });

  it('leaves a WebSocket alone that has been opened', async () => {
    const { port, wires } = await guarded({ headersTimeoutMs: 20 });
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers: { Authorization: `Bearer ${TOKEN}` } });
    await once(socket, 'open');
    // others have been closed for their delay meanwhile
    await dribble(port, '');
    await dribble(port, '');
    const pong = once(socket, 'pong');
    socket.ping();
    await pong;
    expect(wires).to.have.lengthOf(1);
    socket.terminate();
    await once(socket, 'close');
  });
});
