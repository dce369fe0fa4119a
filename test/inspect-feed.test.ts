import { expect } from 'chai';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { AnyActorRef } from 'xstate';
import { startInspector } from '../src/inspect.js';
import type { ServerMessage } from '../src/inspect/messages.js';
import { Tail } from '../src/inspect/tail.js';
import { createLog } from '../src/log.js';
import { ExecServer } from '../src/server.js';
import { connectWebSocket, memoryClient, type TestClient } from './support/client.js';
import { cleanup } from './support/environment.js';
import { inspectedServer } from './support/inspected.js';

type Told<T extends ServerMessage['type']> = Extract<ServerMessage, { type: T }>;

const isA = <T extends ServerMessage['type']>(message: ServerMessage, type: T): message is Told<T> =>
  message.type === type;

/** All messages of one kind that a page got. */
const told = <T extends ServerMessage['type']>(page: TestClient, type: T): Told<T>[] =>
  page.texts
    .map((text): ServerMessage => JSON.parse(text))
    .filter((message): message is Told<T> => isA(message, type));

const eventsOf = (viewerUrl: string): string => new URL('events', viewerUrl.replace('http', 'ws')).href;

/** The newest that a page was told of an actor. */
const actor = (page: TestClient, name: string): Told<'actors'>['changed'][number] | undefined =>
  told(page, 'actors')
    .flatMap(({ changed }) => changed)
    .findLast((summary) => summary.name === name);

/** Chooses an actor as soon as it is told. */
const choose = async (page: TestClient, name: string): Promise<number> => {
  const { key } = await page.until(() => actor(page, name), name);
  page.raw(String(key));
  return key;
};

/** Observers that are attached to the system of an actor; XState tells it nobody. */
const observersOf = (root: AnyActorRef): { readonly attached: number } => {
  const counted = { attached: 0 };
  const { inspect } = root.system;
  root.system.inspect = (observer) => {
    const subscription = inspect(observer);
    counted.attached++;
    return {
      unsubscribe: () => {
        counted.attached--;
        subscription.unsubscribe();
      },
    };
  };
  return counted;
};

describe('the feed of the viewer', () => {
  it('attaches no observer before somebody looks, one for all pages then, and takes it off at the end', async () => {
    const log = createLog('silent');
    const inspector = await startInspector(0, log);
    cleanup(() => inspector.close());
    const counts: { readonly attached: number }[] = [];
    const server = new ExecServer(log, {
      onSession: (root) => {
        counts.push(observersOf(root));
        inspector.onSession(root);
      },
    });
    cleanup(() => server.close('the test is over'));
    const { client, wire } = memoryClient();
    server.accept(wire);
    await client.initialize();
    expect(counts).to.deep.equal([{ attached: 0 }]);
    const page = await connectWebSocket(eventsOf(inspector.viewerUrl));
    await page.until(() => actor(page, 'connection 1'), 'the connection');
    expect(counts).to.deep.equal([{ attached: 1 }]);
    const second = await connectWebSocket(eventsOf(inspector.viewerUrl));
    await second.until(() => actor(second, 'connection 1'), 'the connection');
    expect(counts, 'one is enough for all pages').to.deep.equal([{ attached: 1 }]);
    await inspector.close();
    expect(counts).to.deep.equal([{ attached: 0 }]);
  });

  it('tells a page that does not read how many events it missed, and how things are then', async () => {
    const { inspector, connect } = await inspectedServer();
    const client = await connect();
    const page = await connectWebSocket(eventsOf(inspector.viewerUrl));
    const key = await choose(page, 'connection 1');
    await page.until(() => told(page, 'more').length > 0, 'its history');
    page.pause();
    for (let at = 0; at < 2_000; at++) client.raw(`{"id":"${at}","method":"process/list"}`);
    await client.start('p', ['true']);
    await client.processClosed('p');
    page.resume();
    await page.until(() => actor(page, 'process p')?.state === 'retained', 'the state of now');
    const events = (): number => actor(page, 'connection 1')?.events ?? 0;
    const counted = (): number =>
      told(page, 'more')
        .filter((more) => more.key === key)
        .reduce((sum, { lines, missed }) => sum + lines.length + missed, 0);
    await page.until(() => counted() === events(), 'every event, shown or counted');
    expect(events()).to.be.greaterThan(2_000);
    const missed = told(page, 'more').reduce((sum, more) => sum + more.missed, 0);
    expect(missed).to.be.greaterThan(1_000);
  });

  it('tells the output of the chosen process byte by byte, and how much was gone before', async () => {
    const { inspector, connect } = await inspectedServer();
    const client = await connect();
    await client.start('flood', ['sh', '-c', 'seq 1 100000; exit'], { outputBytesCap: 100_000 });
    await client.processClosed('flood');
    await client.start('other', ['printf', 'other']);
    const page = await connectWebSocket(eventsOf(inspector.viewerUrl));
    await choose(page, 'process flood');
    await page.until(() => told(page, 'output').some(({ chunks }) => chunks.length > 0), 'its output');
    const [output] = told(page, 'output');
    const bytes = Buffer.concat((output?.chunks ?? []).map(({ base64 }) => Buffer.from(base64, 'base64')));
    expect(bytes.toString()).to.match(/\n99999\n100000\n$/);
    expect(bytes.length + (output?.skipped ?? 0)).to.equal(588_895);
    expect(actor(page, 'process flood')?.facts.outputBytes).to.equal(588_895);
    expect(page.texts.some((text) => text.includes(Buffer.from('other').toString('base64')))).to.equal(false);
  });

  it('says that the server ends, and takes a choice of nobody for none', async () => {
    const { inspector, connect } = await inspectedServer();
    await connect();
    const page = await connectWebSocket(eventsOf(inspector.viewerUrl));
    for (const nobody of ['999', 'text', '', '{}']) page.raw(nobody);
    await page.until(() => actor(page, 'connection 1'), 'the connection');
    await inspector.close();
    await page.until(() => page.closed, 'the end');
    expect(told(page, 'more')).to.deep.equal([]);
    expect(page.texts.at(-1)).to.equal('{"type":"end"}');
  });
});

describe('the page of the viewer', () => {
  it('comes with a strict policy, from a path of its own, and so do its files', async () => {
    const { inspector } = await inspectedServer();
    const get = (name: string, method = 'GET', headers: Record<string, string> = {}): Promise<Response> =>
      fetch(new URL(name, inspector.viewerUrl), { method, headers: { Connection: 'close', ...headers } });
    const { host } = new URL(inspector.viewerUrl);
    const response = await get('');
    const html = await response.text();
    const nonce = /nonce="([\w-]{22})"/.exec(html)?.[1] ?? '';
    expect(response.headers.get('content-security-policy')).to.equal(
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src data:; ` +
        `connect-src ws://${host}; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
    );
    expect(await (await get('')).text(), 'another nonce each time').to.not.equal(html);
    for (const [name, type] of [
      ['viewer.js', 'text/javascript'],
      ['viewer.css', 'text/css'],
    ] as const) {
      const file = await get(name);
      expect([file.status, file.headers.get('content-type')]).to.deep.equal([200, `${type}; charset=utf-8`]);
      expect((await file.arrayBuffer()).byteLength).to.be.greaterThan(1_000);
    }
    const status = async (...request: Parameters<typeof get>): Promise<number> => {
      const { status: code, body } = await get(...request);
      await body?.cancel();
      return code;
    };
    expect(await status('/viewer.js')).to.equal(404);
    expect(await status('events')).to.equal(404);
    expect(await status('', 'GET', { Origin: 'https://evil.example' })).to.equal(403);
    expect(await status('viewer.js', 'POST')).to.equal(405);
  });

  it('lets no other page open its WebSocket', async () => {
    const { inspector } = await inspectedServer();
    const socket = new WebSocket(eventsOf(inspector.viewerUrl), { origin: 'https://evil.example' });
    const [error]: unknown[] = await once(socket, 'error');
    expect(error).to.have.property('message', 'Unexpected server response: 403');
  });
});

describe('Tail', () => {
  it('keeps the newest, and counts what is gone or was left out', () => {
    const tail = new Tail<number>(3);
    expect(tail.from(0)).to.deep.equal({ items: [], missed: 0 });
    for (const item of [10, 11, 12]) tail.add(item);
    tail.leaveOut();
    tail.add(14);
    expect(tail.count).to.equal(5);
    expect(tail.from(0)).to.deep.equal({ items: [11, 12, 14], missed: 2 });
    expect(tail.from(3)).to.deep.equal({ items: [14], missed: 1 });
    expect(tail.from(5)).to.deep.equal({ items: [], missed: 0 });
  });
});
