import { expect } from 'chai';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import vm from 'node:vm';
import { page, pageHeaders } from '../src/inspect/page.js';
import { type Loopback, startLoopback } from '../src/inspect/loopback.js';
import { type Relay, serveRelay } from '../src/inspect/relay.js';
import { connectWebSocket } from './support/client.js';
import { cleanup } from './support/environment.js';

/** The page's script as a browser would run it, in a world of its own. */
const runPage = (): {
  fromRelay: (event: unknown) => void;
  fromWindow: (origin: string, data: unknown) => void;
  relay: () => string;
  toViewer: unknown[];
} => {
  const script = /<script>([^]*)<\/script>/.exec(page)?.[1] ?? '';
  const toViewer: unknown[] = [];
  const listeners: ((event: unknown) => void)[] = [];
  const sockets: { url: string; onmessage?: (event: unknown) => void }[] = [];
  class WebSocket {
    constructor(readonly url: string) {
      sockets.push(this);
    }
  }
  const postMessage = (data: unknown, target: string): void => void toViewer.push([data, target]);
  vm.runInNewContext(script, {
    document: { querySelector: () => ({ contentWindow: { postMessage } }) },
    addEventListener: (_: string, listener: (event: unknown) => void) => listeners.push(listener),
    location: { href: 'http://127.0.0.1:7/token' },
    WebSocket,
  });
  return {
    fromRelay: (event) => sockets[0]?.onmessage?.({ data: JSON.stringify(event) }),
    fromWindow: (origin, data) => listeners.forEach((listener) => listener({ origin, data })),
    relay: () => sockets.map(({ url }) => url).join(),
    /** Made in the other world: to be compared as JSON. */
    toViewer,
  };
};

/** A source as a Content-Security-Policy names it. */
const hash = (tag: string): string => {
  const text = new RegExp(`<${tag}>([^]*)</${tag}>`).exec(page)?.[1] ?? '';
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
};

describe('the page of the inspector', () => {
  it('hands the viewer what comes, from the moment at which it asks, and nobody else', () => {
    const { fromRelay, fromWindow, relay, toViewer } = runPage();
    expect(relay()).to.equal('ws://127.0.0.1:7/token');
    fromRelay({ at: 1 });
    fromWindow('https://evil.example', { type: '@statelyai.connected' });
    fromWindow('https://stately.ai', null);
    fromRelay({ at: 2 });
    expect(toViewer).to.deep.equal([]);
    fromWindow('https://stately.ai', { type: '@statelyai.connected' });
    fromRelay({ at: 3 });
    fromWindow('https://stately.ai', { type: '@statelyai.connected' });
    expect(JSON.stringify(toViewer)).to.equal(
      JSON.stringify([1, 2, 3].map((at) => [{ at }, 'https://stately.ai'])),
    );
  });

  it('names the hashes of its script and its style in its policy', () => {
    expect(pageHeaders('127.0.0.1:7')['Content-Security-Policy']).to.include(
      `; script-src ${hash('script')}; style-src ${hash('style')}; `,
    );
  });
});

const loopback = async (): Promise<Loopback> => {
  const server = await startLoopback(0);
  cleanup(() => server.close());
  return server;
};

const relay = async (looking: (isLookedAt: boolean) => void = () => undefined): Promise<Relay> =>
  serveRelay(await loopback(), looking);

/** The status that a request for a WebSocket is answered with. */
const upgradeStatus = async (url: string, headers: http.OutgoingHttpHeaders): Promise<number | undefined> => {
  const request = http.get(url.replace(/^ws/, 'http'), {
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
      ...headers,
    },
  });
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response.statusCode);
    });
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
  });
};

/** The status that a request for the page is answered with. */
const pageStatus = async (
  url: string,
  method = 'GET',
  headers: Record<string, string> = {},
): Promise<number> => {
  const response = await fetch(url, { method, headers: { Connection: 'close', ...headers } });
  await response.arrayBuffer();
  return response.status;
};

describe('the relay of the inspector', () => {
  it('listens on 127.0.0.1 and nowhere else', async () => {
    const { url } = await relay();
    const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
    const listening = ['/proc/net/tcp', '/proc/net/tcp6']
      .flatMap((file) => (fs.existsSync(file) ? fs.readFileSync(file, 'latin1').split('\n') : []))
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => local?.endsWith(`:${port}`) === true && state === '0A')
      .map(([, local]) => local);
    expect(listening).to.deep.equal([`0100007F:${port}`]);
  });

  it('has a path of 256 random bits, another each time', async () => {
    const [one, other] = [await relay(), await relay()].map(({ url }) => new URL(url).pathname);
    expect(one).to.match(/^\/[\w-]{43}$/);
    expect(other).to.match(/^\/[\w-]{43}$/);
    expect(other).to.not.equal(one);
  });

  it('serves its own page and programs', async () => {
    const { url } = await relay();
    expect(await upgradeStatus(url, {})).to.equal(101);
    expect(await upgradeStatus(url, { Origin: `http://${new URL(url).host}` })).to.equal(101);
  });

  for (const origin of [
    'https://evil.example',
    'https://stately.ai',
    'https://stately.ai.evil.example',
    'http://localhost:1',
    'http://127.0.0.1',
    'null',
    '',
  ]) {
    it(`refuses the origin «${origin}» with 403, knowing the path or not`, async () => {
      const { url } = await relay();
      expect(await upgradeStatus(url, { Origin: origin })).to.equal(403);
      expect(await upgradeStatus(`${new URL(url).origin}/`, { Origin: origin })).to.equal(403);
    });
  }

  it('refuses a rebound name with 403', async () => {
    const { url } = await relay();
    const { port } = new URL(url);
    expect(await upgradeStatus(url, { Host: `evil.example:${port}` })).to.equal(403);
    expect(
      await upgradeStatus(url, { Host: `evil.example:${port}`, Origin: `http://evil.example:${port}` }),
    ).to.equal(403);
  });

  it('refuses a wrong path with 404', async () => {
    const { url } = await relay();
    for (const wrong of [`${new URL(url).origin}/`, `${url}x`, `${url}/`, url.slice(0, -1), `${url}?x`]) {
      expect(await upgradeStatus(wrong, {}), wrong).to.equal(404);
    }
  });

  it('serves the page that holds the viewer, and lets it speak to nobody else', async () => {
    const { url, pageUrl } = await relay();
    const response = await fetch(pageUrl, { headers: { Connection: 'close' } });
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-security-policy')).to.match(
      new RegExp(
        "^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; frame-src https://stately.ai; " +
          `connect-src ws://${new URL(url).host}; frame-ancestors 'none'; base-uri 'none'$`,
      ),
    );
    expect(response.headers.get('referrer-policy')).to.equal('no-referrer');
    expect(await response.text()).to.include('src="https://stately.ai/inspect"');
  });

  it('gives the page to nobody who does not know its path, or asks from another page', async () => {
    const { pageUrl } = await relay();
    expect(await pageStatus(new URL('/', pageUrl).href)).to.equal(404);
    expect(await pageStatus(pageUrl, 'GET', { Origin: 'https://stately.ai' })).to.equal(403);
    expect(await pageStatus(pageUrl, 'POST')).to.equal(405);
  });

  it('cuts off a viewer that sends more than a greeting', async () => {
    const started = await relay();
    const viewer = await connectWebSocket(started.url);
    viewer.raw('x'.repeat(2_000));
    await viewer.until(() => viewer.closed, 'the end of the viewer');
    started.publish('{"still":"there"}');
    const other = await connectWebSocket(started.url);
    await other.until(() => other.texts.length === 1, 'the message');
  });

  it('cuts off a viewer that does not read, instead of filling the memory', async () => {
    const started = await relay();
    const viewer = await connectWebSocket(started.url);
    viewer.pause();
    const message = JSON.stringify('x'.repeat(1024 * 1024));
    for (let sent = 0; sent < 64; sent++) started.publish(message);
    viewer.resume();
    await viewer.until(() => viewer.closed, 'the end of the viewer');
    expect(viewer.texts.length).to.be.lessThan(48);
  });

  it('keeps the newest 500 messages, and no more than 8 MiB of them', async () => {
    const started = await relay();
    for (let at = 0; at < 600; at++) started.publish(String(at));
    const many = await connectWebSocket(started.url);
    await many.until(() => many.texts.length === 500, 'the messages');
    expect([many.texts[0], many.texts.at(-1)]).to.deep.equal(['100', '599']);
    for (let at = 0; at < 20; at++) started.publish(JSON.stringify('x'.repeat(1_000_000)));
    started.publish('"last"');
    const large = await connectWebSocket(started.url);
    await large.until(() => large.texts.at(-1) === '"last"', 'the last message');
    expect(large.texts.length).to.equal(9);
  });

  it('says when the first viewer comes and when the last one has gone, and forgets what was', async () => {
    const looked: boolean[] = [];
    const started = await relay((isLookedAt) => looked.push(isLookedAt));
    const [one, other] = [await connectWebSocket(started.url), await connectWebSocket(started.url)];
    started.publish('"seen"');
    await other.until(() => other.texts.length === 1, 'the message');
    await one.close();
    await other.close();
    const late = await connectWebSocket(started.url);
    started.publish('"new"');
    await late.until(() => late.texts.length > 0, 'the message');
    expect(late.texts).to.deep.equal(['"new"']);
    expect(looked).to.deep.equal([true, false, true]);
  });

  it('lets go of its viewers when it is closed, and takes no more', async () => {
    const server = await startLoopback(0);
    const started = serveRelay(server, () => undefined);
    const viewer = await connectWebSocket(started.url);
    await server.close();
    await viewer.until(() => viewer.closed, 'the end of the viewer');
    started.publish('nobody hears it');
    const socket = net.connect(Number(new URL(started.url).port), '127.0.0.1');
    const [error]: unknown[] = await once(socket, 'error');
    expect(error).to.include({ code: 'ECONNREFUSED' });
  });
});
