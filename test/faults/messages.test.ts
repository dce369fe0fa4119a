import { expect } from 'chai';
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import {
  collectStderr,
  connectWebSocket,
  launchListener,
  launchServer,
  startParams,
  stdioClient,
  type TestClient,
} from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { temporaryDirectory } from '../support/files.js';
import { connectLocal } from '../support/local.js';

const MiB = 1024 * 1024;
const LIMIT = 64 * MiB;

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** fs/writeFile with 47 MiB of content, as a message of so many bytes. */
const longMessage = (file: string, content: Buffer, length: number): string => {
  const message = JSON.stringify({
    id: 'long',
    method: 'fs/writeFile',
    params: { path: file, dataBase64: content.toString('base64') },
  });
  return message + ' '.repeat(length - message.length);
};

const answerTo = async (client: TestClient, id: string | number): Promise<unknown> => {
  const answer = await client.until(
    () => client.messages.find((message) => message.id === id),
    `answer ${id}`,
  );
  return answer.error ?? answer.result;
};

const expectToWork = async (client: TestClient): Promise<void> => {
  expect(await client.request('environment/status')).to.deep.equal({ status: 'ready' });
};

/** A WebSocket by its frames, to which nothing is masked: the key is zero. */
class RawPeer {
  private constructor(readonly socket: net.Socket) {}

  static async open(url: string): Promise<RawPeer> {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
    cleanup(() => void socket.destroy());
    socket.on('error', () => undefined); // the server may cut it off
    socket.write(
      'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    await once(socket, 'data');
    return new RawPeer(socket);
  }

  /** The header of a text frame that is final, with a length of 64 bits, and as much of its payload as is given. */
  begin(length: number, payload: string): void {
    const header = Buffer.alloc(14);
    header.set([0x81, 0xff]);
    header.writeBigUInt64BE(BigInt(length), 2);
    this.socket.write(header);
    this.socket.write(payload);
  }
}

const openSocket = async (url: string): Promise<WebSocket> => {
  const socket = new WebSocket(url);
  cleanup(async () => {
    if (socket.readyState === WebSocket.CLOSED) return;
    const closed = once(socket, 'close');
    socket.terminate();
    await closed;
  });
  await once(socket, 'open');
  return socket;
};

const closeOf = async (socket: WebSocket): Promise<{ code: unknown; reason: string }> => {
  const [code, reason]: unknown[] = await once(socket, 'close');
  return { code, reason: String(reason) };
};

/** The server logs the end of a connection when it is over, which its client may know before. */
const logged = async (stderr: () => string, line: string): Promise<void> => {
  while (!stderr().includes(line)) await sleep(10);
};

describe('a message of 64 MiB', () => {
  it('over a WebSocket is taken; one of a byte more ends its connection, and is logged', async () => {
    const file = path.join(temporaryDirectory(), 'file');
    const content = Buffer.alloc(47 * MiB, 'exec-server');
    const { url, stderr } = await launchListener();
    const other = await connectWebSocket(url);
    await other.initialize();
    const client = await connectWebSocket(url);
    await client.initialize();
    client.raw(longMessage(file, content, LIMIT));
    expect(await answerTo(client, 'long')).to.deep.equal({});
    expect(sha256(fs.readFileSync(file))).to.equal(sha256(content));
    // its length comes first: it is not waited for
    const tooLong = await RawPeer.open(url);
    const gone = once(tooLong.socket, 'close');
    tooLong.begin(LIMIT + 1, '{');
    await gone;
    await expectToWork(other);
    await logged(stderr, '"reason":"Max payload size exceeded","msg":"connection closed"');
  });

  it('over stdio is taken; one of a byte more ends the server, and is logged', async () => {
    const file = path.join(temporaryDirectory(), 'file');
    const server = launchServer();
    const stderr = collectStderr(server);
    const client = stdioClient(server);
    await client.initialize();
    client.raw(longMessage(file, Buffer.from('short'), LIMIT));
    expect(await answerTo(client, 'long')).to.deep.equal({});
    expect(fs.readFileSync(file, 'utf8')).to.equal('short');
    client.raw(longMessage(file, Buffer.from('too long'), LIMIT + 1));
    await client.until(() => client.closed, 'the exit');
    expect(server.exitCode).to.equal(0);
    await logged(stderr, `"reason":"a message of more than ${LIMIT} bytes","msg":"connection closed"`);
    expect(fs.readFileSync(file, 'utf8')).to.equal('short');
  });
});

describe('a message in many pieces', () => {
  it('over a WebSocket may come in 10,000 frames of a byte', async () => {
    const { url } = await launchListener();
    const client = await openSocket(url);
    const text = Buffer.from(
      JSON.stringify({ id: 1, method: 'initialize', params: { clientName: 'ü€😀'.repeat(1_200) } }),
    );
    expect(text.length).to.be.within(10_000, 16_000);
    for (let at = 0; at < text.length; at++) {
      client.send(text.subarray(at, at + 1), { binary: false, fin: at === text.length - 1 });
    }
    const [answer]: Buffer[] = await once(client, 'message');
    expect(JSON.parse(String(answer)))
      .to.include({ id: 1 })
      .and.to.have.property('result');
  });

  for (const [what, payload] of [
    ['of a byte', 'x'],
    ['without a byte', ''],
  ] as const) {
    it(`over a WebSocket ends its connection with 100,000 frames ${what}, and is logged`, async () => {
      const { url, stderr } = await launchListener();
      const other = await connectWebSocket(url);
      await other.initialize();
      const client = await openSocket(url);
      const closed = closeOf(client);
      for (let frame = 0; frame < 100_000; frame++) client.send(payload, { fin: false });
      expect(await closed).to.include({ code: 1008 });
      await expectToWork(other);
      await logged(stderr, '"reason":"Too many message fragments","msg":"connection closed"');
    });
  }

  it('over stdio may come byte by byte, cut in the middle of characters', async () => {
    const client = stdioClient(launchServer());
    client.server?.stderr?.resume();
    await client.initialize();
    const line = Buffer.from(`${JSON.stringify({ id: 'é€😀', method: 'environment/status' })}\r\n`);
    for (const byte of line) {
      await new Promise<void>((resolve) => {
        client.server?.stdin?.write(Uint8Array.of(byte), () => resolve());
      });
    }
    expect(await answerTo(client, 'é€😀')).to.deep.equal({ status: 'ready' });
  });
});

describe('a message that never comes to its end', () => {
  it('holds nobody up, and costs no more memory than what has come', async () => {
    const { url, server } = await launchListener();
    const client = await connectWebSocket(url);
    await client.initialize();
    await expectToWork(client);
    const before = residentBytes(server);
    const peers = await Promise.all(Array.from({ length: 200 }, async () => RawPeer.open(url)));
    for (const peer of peers) peer.begin(LIMIT, '{');
    for (let byte = 0; byte < 20; byte++) {
      for (const { socket } of peers) socket.write(' ');
      await expectToWork(client);
    }
    await client.start('p', ['echo', 'served']);
    await client.waitOutput('p', 'served\n');
    // what they announced is 12.5 GiB
    expect(residentBytes(server) - before).to.be.lessThan(200 * MiB);
    for (const { socket } of peers) expect(socket.destroyed).to.equal(false);
  });
});

const residentBytes = (server: ChildProcess): number =>
  1024 * Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'latin1'))?.[1]);

const nested = (open: string, close: string, depth: number): string =>
  open.repeat(depth) + close.repeat(depth);

describe('JSON of a strange form', () => {
  const depth = 10_000;
  const values = {
    'nested arrays': nested('[', ']', depth),
    'nested objects': `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    'many keys': `{${Array.from({ length: depth }, (_, key) => `"k${key}":0`).join(',')}}`,
    'a number beyond all numbers': '1e400',
    'a lone surrogate': '"\\ud800"',
    NUL: '"\\u0000"',
  };

  for (const [name, value] of Object.entries(values)) {
    it(`${name}: as a message, as parameters, as a value, and as one that is ignored`, async () => {
      const client = await connectLocal();
      const before = client.messages.length;
      client.raw(value);
      const first = await client.until(() => client.messages[before], 'an answer');
      expect(first).to.deep.include({ id: -1 }).and.to.have.property('error');
      const ask = async (id: string, params: string): Promise<unknown> => {
        client.raw(`{"id":"${id}","method":"process/read","params":${params}}`);
        return answerTo(client, id);
      };
      expect(await ask('params', value)).to.have.property('code');
      expect(await ask('value', `{"processId":"p","afterSeq":${value}}`)).to.have.property('code');
      expect(await ask('ignored', `{"processId":"p","ignored":${value}}`)).to.have.property('code');
      await expectToWork(client);
    });
  }

  it('a million nested arrays', async () => {
    const client = await connectLocal();
    const before = client.messages.length;
    client.raw(nested('[', ']', 1_000_000));
    const answer = await client.until(() => client.messages[before], 'an answer');
    expect(answer).to.deep.include({ id: -1 }).and.to.have.property('error');
    await expectToWork(client);
  });

  it('a member that is there twice counts as it was written last', async () => {
    const client = await connectLocal();
    client.raw('{"id":"first","method":"nothing","id":"last","method":"environment/status"}');
    expect(await answerTo(client, 'last')).to.deep.equal({ status: 'ready' });
  });

  it('__proto__ is a name like any other', async () => {
    const client = await connectLocal();
    client.raw('{"id":"p","method":"process/read","params":{"__proto__":{"processId":"p"},"constructor":1}}');
    expect(await answerTo(client, 'p')).to.deep.equal({
      code: -32602,
      message: 'processId: expected a string',
    });
    await client.start('__proto__', ['printenv', '__proto__'], {
      env: JSON.parse('{"__proto__":"value","PATH":"/usr/bin:/bin"}'),
    });
    await client.processClosed('__proto__');
    expect(client.output('__proto__').toString()).to.equal('value\n');
  });

  it('a lone surrogate in a name is given back as it came', async () => {
    const client = await connectLocal();
    client.raw(
      JSON.stringify({ id: '\ud800', method: 'process/start', params: startParams('\udfff', ['echo']) }),
    );
    expect(await answerTo(client, '\ud800')).to.include({ processId: '\udfff' });
    await client.processClosed('\udfff');
  });
});
