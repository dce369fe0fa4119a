import { expect } from 'chai';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { WebSocket } from 'ws';
import { listen, type Listener, type ListenerOptions } from '../../src/wire/listener.js';
import type { Wire } from '../../src/wire/wire.js';
import { cleanup } from '../support/environment.js';

type Listening = {
  readonly listener: Listener;
  readonly port: number;
  readonly wires: Wire[];
  /** All messages, of any wire. */
  readonly messages: string[];
  /** Why wires were closed. */
  readonly reasons: string[];
  readonly refused: string[];
};

const listening = async (options: Partial<ListenerOptions> = {}): Promise<Listening> => {
  const wires: Wire[] = [];
  const messages: string[] = [];
  const reasons: string[] = [];
  const refused: string[] = [];
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    maxMessageBytes: 1_000,
    allowedHosts: [],
    onWire: (wire) => {
      wires.push(wire);
      wire.open({
        message: (text) => {
          messages.push(text);
          wire.write(Buffer.concat(wire.framing.frame(Buffer.from(`got ${text}`))));
        },
        malformed: () => undefined,
        ended: () => undefined,
        drain: () => undefined,
        closed: (reason) => void reasons.push(reason),
      });
    },
    onRefused: (status, reason) => void refused.push(`${status} ${reason}`),
    ...options,
  });
  cleanup(() => listener.close());
  return { listener, port: Number(new URL(listener.url).port), wires, messages, reasons, refused };
};

/** The status of one request; `Host` as given, exactly. */
const status = async (
  port: number,
  path: string,
  headers: http.OutgoingHttpHeaders = {},
  method = 'GET',
  address = '127.0.0.1',
): Promise<number | undefined> => {
  const request = http.request({ host: address, port, path, method, headers, agent: false });
  request.end();
  const [response]: http.IncomingMessage[] = await once(request, 'response');
  response?.resume();
  if (response !== undefined) await once(response, 'end');
  return response?.statusCode;
};

const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** The status that an attempt to open a WebSocket gets; 101 is a success, and closed at once. */
const upgradeStatus = async (
  port: number,
  path: string,
  headers: http.OutgoingHttpHeaders = {},
): Promise<number | undefined> => {
  const request = http.request({
    host: '127.0.0.1',
    port,
    path,
    headers: { ...UPGRADE, ...headers },
    agent: false,
  });
  const answer = new Promise<number | undefined>((resolve, reject) => {
    request.once('response', (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode));
    });
    request.once('upgrade', (response, socket) => {
      socket.once('close', () => resolve(response.statusCode));
      socket.destroy();
    });
    request.once('error', reject);
  });
  request.end();
  return answer;
};

const openSocket = async (port: number): Promise<WebSocket> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  cleanup(async () => {
    if (socket.readyState === WebSocket.CLOSED) return;
    const closed = once(socket, 'close');
    socket.terminate();
    await closed;
  });
  await once(socket, 'open');
  return socket;
};

const nextText = async (socket: WebSocket): Promise<string> => {
  const [data]: Buffer[] = await once(socket, 'message');
  return String(data);
};

describe('listen', () => {
  it('tells the port that was bound', async () => {
    const { listener } = await listening();
    expect(listener.url).to.match(/^ws:\/\/127\.0\.0\.1:[1-9]\d*$/);
  });

  it('binds IPv6 addresses', async () => {
    const { listener, port } = await listening({ host: '[::1]' });
    expect(listener.url).to.equal(`ws://[::1]:${port}`);
    expect(await status(port, '/readyz', {}, 'GET', '::1')).to.equal(200);
  });

  it('rejects with the system’s error where it cannot', async () => {
    const { port } = await listening();
    const error: unknown = await listening({ port }).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Error).with.property('code', 'EADDRINUSE');
  });

  it('takes no more connections once it is closed', async () => {
    const { listener, port } = await listening();
    await listener.close();
    await listener.closed;
    const error: unknown = await status(port, '/readyz').catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Error).with.property('code', 'ECONNREFUSED');
  });
});

describe('requests over HTTP', () => {
  for (const [method, path, expected] of [
    ['GET', '/readyz', 200],
    ['GET', '/healthz', 200],
    ['GET', '/readyz?verbose=1', 200],
    ['GET', '/', 404],
    ['GET', '/readyz/', 404],
    ['GET', '/readyz/x', 404],
    ['GET', '/READYZ', 404],
    ['GET', '/metrics', 404],
    ['GET', '/../readyz', 404],
    ['GET', '/%72eadyz', 404],
    ['POST', '/', 404],
    ['POST', '/readyz', 404],
    ['PUT', '/healthz', 404],
    ['OPTIONS', '/readyz', 404],
  ] as const) {
    it(`${method} ${path}: ${expected}`, async () => {
      const { port } = await listening();
      expect(await status(port, path, {}, method)).to.equal(expected);
    });
  }

  for (const origin of ['http://localhost', 'https://evil.example', 'null', '']) {
    it(`with the Origin «${origin}»: 403, whatever the path`, async () => {
      const { port, wires, refused } = await listening();
      for (const path of ['/', '/readyz', '/healthz', '/other']) {
        expect(await status(port, path, { Origin: origin }), path).to.equal(403);
      }
      expect(await upgradeStatus(port, '/', { Origin: origin })).to.equal(403);
      expect(await upgradeStatus(port, '/other', { Origin: origin })).to.equal(403);
      expect(wires).to.deep.equal([]);
      expect(refused).to.deep.equal(Array.from({ length: 6 }, () => '403 it has an Origin header'));
    });
  }

  const hosts = [
    ['127.0.0.1', 200],
    ['127.0.0.1:1', 200],
    ['127.0.0.2', 200],
    ['127.255.255.254:80', 200],
    ['localhost', 200],
    ['LocalHost:8080', 200],
    ['[::1]', 200],
    ['[::1]:8080', 200],
    ['allowed.example', 200],
    ['ALLOWED.example:443', 200],
    ['10.1.2.3', 200],
    ['evil.example', 403],
    ['evil.example:80', 403],
    ['allowed.example.evil.example', 403],
    ['evil.allowed.example', 403],
    ['localhost.evil.example', 403],
    ['127.evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['0.0.0.0', 403],
    ['192.168.0.1', 403],
    ['[::2]', 403],
    ['2130706433', 403],
  ] as const;
  for (const [host, expected] of hosts) {
    it(`with the Host «${host}»: ${expected}`, async () => {
      const { port } = await listening({ allowedHosts: ['Allowed.example', '10.1.2.3'] });
      expect(await status(port, '/readyz', { Host: host })).to.equal(expected);
      expect(await upgradeStatus(port, '/', { Host: host })).to.equal(expected === 200 ? 101 : 403);
    });
  }

  it('with the Host of the address that was bound: 200', async () => {
    const { port } = await listening({ host: '0.0.0.0' });
    expect(await status(port, '/readyz', { Host: `127.0.0.1:${port}` })).to.equal(200);
    expect(await status(port, '/readyz', { Host: 'evil.example' })).to.equal(403);
  });

  it('without a Host: 403', async () => {
    const { port } = await listening();
    const socket = net.connect(port, '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (text) => {
      answer += String(text);
    });
    socket.write('GET /readyz HTTP/1.0\r\n\r\n');
    await once(socket, 'close');
    expect(answer).to.match(/^HTTP\/1\.1 403 /);
  });

  it('to open a WebSocket elsewhere than at /: 404', async () => {
    const { port, wires, refused } = await listening();
    for (const path of ['/readyz', '/other', '/ws']) expect(await upgradeStatus(port, path)).to.equal(404);
    expect(wires).to.deep.equal([]);
    expect(refused).to.deep.equal(Array.from({ length: 3 }, () => '404 its path is not /'));
  });
});

describe('a WebSocket', () => {
  it('carries messages both ways', async () => {
    const { port, wires } = await listening();
    const socket = await openSocket(port);
    expect(wires[0]?.name).to.match(/^ws 127\.0\.0\.1:\d+$/);
    socket.send('hello');
    expect(await nextText(socket)).to.equal('got hello');
  });

  it('takes binary messages as text', async () => {
    const { port } = await listening();
    const socket = await openSocket(port);
    socket.send(Buffer.from('ünï😀'));
    expect(await nextText(socket)).to.equal('got ünï😀');
  });

  it('puts fragments together, though a character is cut', async () => {
    const { port, messages } = await listening();
    const socket = await openSocket(port);
    const bytes = Buffer.from('aé😀z');
    for (let at = 0; at < bytes.length; at++) {
      socket.send(bytes.subarray(at, at + 1), { binary: false, fin: at === bytes.length - 1 });
    }
    expect(await nextText(socket)).to.equal('got aé😀z');
    expect(messages).to.deep.equal(['aé😀z']);
  });

  it('has no compression, though the client offers it', async () => {
    const { port } = await listening();
    const socket = await openSocket(port);
    expect(socket.extensions).to.equal('');
  });

  it('answers a ping', async () => {
    const { port } = await listening();
    const socket = await openSocket(port);
    socket.ping('data');
    const [data]: Buffer[] = await once(socket, 'pong');
    expect(String(data)).to.equal('data');
  });

  it('takes a message of exactly the limit', async () => {
    const { port } = await listening({ maxMessageBytes: 100 });
    const socket = await openSocket(port);
    socket.send('x'.repeat(100));
    expect(await nextText(socket)).to.equal(`got ${'x'.repeat(100)}`);
  });

  it('is closed with 1009 for a message beyond the limit, in one frame or many', async () => {
    const { port, messages, reasons } = await listening({ maxMessageBytes: 100 });
    const one = await openSocket(port);
    one.send('x'.repeat(101));
    const [code]: number[] = await once(one, 'close');
    expect(code).to.equal(1009);
    const many = await openSocket(port);
    for (let part = 0; part < 3; part++) many.send('x'.repeat(40), { fin: false });
    const [otherCode]: number[] = await once(many, 'close');
    expect(otherCode).to.equal(1009);
    expect(messages).to.deep.equal([]);
    expect(reasons).to.deep.equal(['Max payload size exceeded', 'Max payload size exceeded']);
  });

  it('is closed for a text that is not UTF-8', async () => {
    const { port, messages } = await listening();
    const socket = await openSocket(port);
    socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    const [code]: number[] = await once(socket, 'close');
    expect(code).to.equal(1007);
    expect(messages).to.deep.equal([]);
  });
});
