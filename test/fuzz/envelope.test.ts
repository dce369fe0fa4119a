import { once } from 'node:events';
import net from 'node:net';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { createLog } from '../../src/log.js';
import { ExecServer } from '../../src/server.js';
import { type CheckingClient, overMemory, overStdio, overWebSocket } from '../support/checking-client.js';
import { launchServer } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { listenLocal } from '../support/local.js';
import { idleCall, malformed, malformedText, type Message, requestOf } from './messages.js';
import { runs } from './settings.js';

const messages: fc.Arbitrary<Message[]> = fc
  .array(fc.oneof({ weight: 3, arbitrary: idleCall.chain(requestOf) }, { weight: 1, arbitrary: malformed }), {
    minLength: 1,
    maxLength: 30,
  })
  .map((list) => list.map((unnumbered, place) => unnumbered(place)));

/** Sends these by `send`, and checks that each was answered, as it must be. */
const exchange = async (
  client: CheckingClient,
  list: readonly Message[],
  send: (texts: readonly string[]) => void,
): Promise<void> => {
  for (const message of list) {
    if (message.kind === 'request') void client.expectAnswer(message.id, message.method, message.params);
  }
  const before = client.malformed;
  send(list.map(({ text }) => text));
  await client.settle([]);
  // they are answered in the order in which they came, the ones that are malformed at once
  await client.request('environment/status');
  expect(client.faults).to.deep.equal([]);
  expect(client.malformed - before).to.equal(list.filter(({ kind }) => kind === 'malformed').length);
  expect(client.closed).to.equal(false);
};

/** The same bytes in pieces, cut at these places. */
const cut = (bytes: Buffer, places: readonly number[]): Buffer[] => {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
};

const places = fc.array(fc.nat(), { maxLength: 20 });

describe('whatever a client sends', () => {
  let server: ExecServer;

  const connect = async (): Promise<ReturnType<typeof overMemory>> => {
    const ends = overMemory();
    server.accept(ends.wire);
    await ends.client.initialize();
    return ends;
  };

  before(() => {
    server = new ExecServer(createLog('silent'));
  });

  after(async () => {
    await server.close('the tests are over');
  });

  it('each request is answered once, with its id as it was written, each malformed message with -1', async () => {
    const property = fc.asyncProperty(messages, async (list) => {
      const { client } = await connect();
      await exchange(client, list, (texts) => texts.forEach((text) => client.raw(text)));
      await client.end();
    });
    await fc.assert(property, runs(50));
  });

  it('wherever its bytes are cut, with blank lines and either line end', async () => {
    const lineEnd = fc.constantFrom('\n', '\r\n', '\n\n', '\r\n \t\r\n');
    const property = fc.asyncProperty(messages, lineEnd, places, async (list, end, at) => {
      const { client, write } = await connect();
      await exchange(client, list, (texts) => {
        for (const piece of cut(Buffer.from(texts.map((text) => text + end).join('')), at)) write(piece);
      });
      await client.end();
    });
    await fc.assert(property, runs(30));
  });

  it('any bytes: a line is malformed or blank, and the next one is taken as it is', async () => {
    const property = fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), places, async (bytes, at) => {
      const { client, write } = await connect();
      const text = Buffer.from(bytes).toString('latin1');
      for (const piece of cut(Buffer.concat([bytes, Buffer.from('\n')]), at)) write(piece);
      await client.request('environment/status');
      const lines = text.split('\n').filter((line) => /[^\t\v\f\r ]/.test(line));
      expect(client.faults).to.deep.equal([]);
      expect(client.malformed).to.equal(lines.length);
      await client.end();
    });
    await fc.assert(property, runs(30));
  });

  it('a notification but initialized, and an answer to nothing: answered with -1, and that is the end', async () => {
    const violation = fc.oneof(
      fc
        .tuple(fc.string(), fc.jsonValue())
        .filter(([method]) => method !== 'initialized')
        .map(([method, params]) => JSON.stringify({ method, params })),
      fc.jsonValue().map((result) => JSON.stringify({ id: 1, result })),
      fc.string().map((message) => JSON.stringify({ id: 'x', error: { code: 1, message } })),
    );
    const property = fc.asyncProperty(
      fc.array(malformedText, { maxLength: 3 }),
      violation,
      async (bad, text) => {
        const { client } = await connect();
        for (const one of [...bad, text]) client.raw(one);
        await client.until(() => client.closed, 'the end of the connection');
        expect(client.faults).to.deep.equal([]);
        expect(client.malformed).to.equal(bad.length + 1);
      },
    );
    await fc.assert(property, runs(20));
  });

  it('over a WebSocket in any fragments, text or binary', async () => {
    const { url } = await listenLocal();
    const property = fc.asyncProperty(messages, fc.boolean(), places, async (list, binary, at) => {
      const { client, socket } = await overWebSocket(url);
      await client.initialize();
      await exchange(client, list, (texts) => {
        for (const text of texts) {
          const pieces = cut(Buffer.from(text), at);
          pieces.forEach((piece, index) => socket.send(piece, { binary, fin: index === pieces.length - 1 }));
        }
      });
      await client.end();
    });
    await fc.assert(property, runs(15));
  });

  it('bytes that are no HTTP and no frame: the next connection is served', async () => {
    const { url } = await listenLocal();
    const { hostname, port } = new URL(url);
    const handshake =
      `GET / HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
    const property = fc.asyncProperty(
      fc.boolean(),
      fc.uint8Array({ maxLength: 200 }),
      async (upgraded, bytes) => {
        const garbage = net.connect(Number(port), hostname);
        garbage.on('error', () => undefined); // the server may reset it
        garbage.resume();
        garbage.end(Buffer.concat([Buffer.from(upgraded ? handshake : ''), bytes]));
        await once(garbage, 'close');
        const { client } = await overWebSocket(url);
        await client.initialize();
        await client.end();
      },
    );
    await fc.assert(property, runs(15));
  });

  it('to the built server over stdio', async () => {
    const launched = launchServer(['--log-level', 'silent']);
    launched.stderr?.resume();
    const client = overStdio(launched);
    cleanup(() => client.end());
    await client.initialize();
    let sent = 0;
    const property = fc.asyncProperty(messages, async (list) => {
      // ids may be used again once they are answered
      await exchange(client, list, (texts) => texts.forEach((text) => client.raw(text)));
      sent += list.length;
    });
    await fc.assert(property, runs(20));
    expect(client.sent).to.be.greaterThan(sent);
  });
});
