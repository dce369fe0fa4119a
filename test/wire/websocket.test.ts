import { expect } from 'chai';
import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import { mock } from 'node:test';
import { WebSocket } from 'ws';
import { listen } from '../../src/wire/listener.js';
import type { Wire } from '../../src/wire/wire.js';
import { cleanup } from '../support/environment.js';

const MiB = 1024 * 1024;
const PING_INTERVAL_MS = 30_000;

type Pair = {
  readonly wire: Wire;
  readonly client: WebSocket;
  readonly events: string[];
  readonly closed: Promise<string>;
};

/** A wire of the server, and a real client at its other end. */
const pair = async (options: ConstructorParameters<typeof WebSocket>[2] = {}): Promise<Pair> => {
  const events: string[] = [];
  let wire: Wire | undefined;
  const end = new EventEmitter();
  const closed = once(end, 'closed').then(([reason]) => String(reason));
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    maxMessageBytes: 64 * MiB,
    allowedHosts: [],
    onWire: (opened) => {
      wire = opened;
      opened.open({
        message: (text) => void events.push(`message ${text}`),
        malformed: () => void events.push('malformed'),
        ended: () => void events.push('ended'),
        drain: () => void events.push('drain'),
        closed: (reason) => {
          events.push(`closed: ${reason}`);
          end.emit('closed', reason);
        },
      });
    },
    onRefused: () => undefined,
  });
  cleanup(() => listener.close());
  const client = new WebSocket(listener.url, options);
  cleanup(async () => {
    if (client.readyState === WebSocket.CLOSED) return;
    const gone = once(client, 'close');
    client.terminate();
    await gone;
  });
  await once(client, 'open');
  if (wire === undefined) throw new Error('no wire');
  return { wire, client, events, closed };
};

const send = (wire: Wire, text: string): boolean =>
  wire.write(Buffer.concat(wire.framing.frame(Buffer.from(text))));

const nextText = async (client: WebSocket): Promise<string> => {
  const [data]: Buffer[] = await once(client, 'message');
  return String(data);
};

/** What a client writes to, past its frames. */
const rawSocketOf = (client: WebSocket): net.Socket => {
  const socket: unknown = Reflect.get(client, '_socket');
  if (!(socket instanceof net.Socket)) throw new Error('no socket');
  return socket;
};

/** What comes first at the client. */
const firstOf = async (client: WebSocket, ...names: readonly string[]): Promise<string> =>
  Promise.race(names.map(async (name) => once(client, name).then(() => name)));

describe('webSocketWire', () => {
  it('sends 20 MiB as one message, in several frames', async () => {
    const { wire, client } = await pair({ maxPayload: 64 * MiB });
    const text = JSON.stringify({ id: 1, result: { chunk: 'QUJD'.repeat(5 * MiB) } });
    const received = nextText(client);
    send(wire, text);
    expect((await received) === text).to.equal(true);
  });

  it('sends messages of every form of header', async () => {
    const { wire, client } = await pair();
    for (const length of [0, 125, 126, 65_535, 65_536, 8 * MiB, 8 * MiB + 1]) {
      const text = 'x'.repeat(length);
      const received = nextText(client);
      send(wire, text);
      expect((await received) === text, `${length} bytes`).to.equal(true);
    }
  });

  it('keeps its frames apart from those of pings and pongs', async () => {
    const { wire, client } = await pair({ maxPayload: 64 * MiB });
    const pongs: string[] = [];
    client.on('pong', (data: Buffer) => void pongs.push(String(data)));
    const received: number[] = [];
    const all = new Promise<void>((resolve) => {
      client.on('message', (data: Buffer) => {
        received.push(data.length);
        if (received.length === 3) resolve();
      });
    });
    for (let count = 0; count < 3; count++) {
      client.ping(String(count));
      send(wire, 'x'.repeat(9 * MiB));
    }
    await all;
    while (pongs.length < 3) await once(client, 'pong');
    expect(pongs).to.deep.equal(['0', '1', '2']);
    expect(received).to.deep.equal([9 * MiB, 9 * MiB, 9 * MiB]);
  });

  it('says when a client does not read, and tells once it does', async () => {
    const { wire, client, events } = await pair({ maxPayload: 64 * MiB });
    client.pause();
    let sent = 0;
    while (send(wire, 'x'.repeat(MiB))) sent++;
    expect(events).to.deep.equal([]);
    let received = 0;
    const all = new Promise<void>((resolve) => {
      client.on('message', () => {
        received++;
        if (received === sent + 1) resolve();
      });
    });
    client.resume();
    await all;
    // what the client sends afterwards comes after the drain
    client.send('done');
    client.ping();
    await once(client, 'pong');
    expect(events).to.deep.equal(['drain', 'message done']);
  });

  it('delivers nothing while it is paused', async () => {
    const { wire, client, events } = await pair();
    wire.pause();
    client.send('one');
    client.ping();
    const second = await pair();
    second.client.ping();
    await once(second.client, 'pong');
    expect(events).to.deep.equal([]);
    wire.resume();
    await once(client, 'pong');
    expect(events).to.deep.equal(['message one']);
  });

  it('sends what was written before it closes, with code 1000', async () => {
    const { wire, client, events } = await pair();
    const received = nextText(client);
    const gone = once(client, 'close');
    send(wire, 'last words');
    wire.close('enough');
    wire.close('twice');
    expect(await received).to.equal('last words');
    const [code]: number[] = await gone;
    expect(code).to.equal(1000);
    expect(events).to.deep.equal(['closed: enough']);
  });

  it('tells when the client has gone', async () => {
    const { client, closed } = await pair();
    client.close(4000);
    expect(await closed).to.equal('closed with code 4000');
  });

  it('tells when the client was cut off', async () => {
    const { client, closed } = await pair();
    client.terminate();
    expect(await closed).to.equal('closed with code 1006');
  });

  it('tells of a binary message that is no UTF-8, and goes on', async () => {
    const { client, events } = await pair();
    client.send(Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff]), Buffer.from('","method":"m"}')]));
    client.send(Buffer.from('next'));
    client.ping();
    expect(await firstOf(client, 'pong', 'close')).to.equal('pong');
    expect(events).to.deep.equal(['malformed', 'message next']);
  });

  describe('asks for signs of life', () => {
    beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
    afterEach(() => mock.timers.reset());

    it('every 30 s', async () => {
      const { client } = await pair();
      let pings = 0;
      client.on('ping', () => pings++);
      for (let count = 1; count <= 5; count++) {
        mock.timers.tick(PING_INTERVAL_MS - 1);
        const ping = once(client, 'ping');
        mock.timers.tick(1);
        await ping;
        expect(pings).to.equal(count);
        // the answer has arrived when an answer to what was sent after it has
        client.ping();
        await once(client, 'pong');
      }
      expect(client.readyState).to.equal(WebSocket.OPEN);
    });

    it('and drops a peer that missed two', async () => {
      const { client, closed } = await pair({ autoPong: false });
      for (let count = 0; count < 2; count++) {
        const ping = once(client, 'ping');
        mock.timers.tick(PING_INTERVAL_MS);
        await ping;
      }
      const gone = once(client, 'close');
      mock.timers.tick(PING_INTERVAL_MS);
      const [code]: number[] = await gone;
      expect(code).to.equal(1006);
      expect(await closed).to.equal('the peer missed two pings');
    });

    it('and takes any message for one', async () => {
      const { client } = await pair({ autoPong: false });
      for (let count = 0; count < 4; count++) {
        const ping = once(client, 'ping');
        mock.timers.tick(PING_INTERVAL_MS);
        await ping;
        client.send('here');
        client.ping();
        await once(client, 'pong');
      }
      expect(client.readyState).to.equal(WebSocket.OPEN);
    });

    it('and takes a part of a message for one: no pong can come before its end', async () => {
      const { client, events } = await pair({ autoPong: false });
      const text = 'x'.repeat(5);
      const socket = rawSocketOf(client);
      // a frame that is final, text, masked with zeros
      socket.write(Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]));
      for (const letter of text.slice(1)) {
        socket.write(letter);
        const ping = firstOf(client, 'ping', 'close');
        // it has arrived: the answer to what another has sent later has
        const other = await pair();
        other.client.ping();
        await once(other.client, 'pong');
        mock.timers.tick(PING_INTERVAL_MS);
        expect(await ping).to.equal('ping');
      }
      socket.write('x');
      client.ping();
      await once(client, 'pong');
      expect(events).to.deep.equal([`message ${text}`]);
    });

    it('and misses none while it does not read', async () => {
      const { wire, client, events } = await pair();
      const ping = once(client, 'ping');
      mock.timers.tick(PING_INTERVAL_MS);
      wire.pause();
      await ping;
      for (let count = 0; count < 5; count++) mock.timers.tick(PING_INTERVAL_MS);
      client.send('here');
      wire.resume();
      client.ping();
      expect(await firstOf(client, 'pong', 'close')).to.equal('pong');
      expect(events).to.deep.equal(['message here']);
      const next = firstOf(client, 'ping', 'close');
      mock.timers.tick(PING_INTERVAL_MS);
      expect(await next).to.equal('ping');
    });
  });
});
