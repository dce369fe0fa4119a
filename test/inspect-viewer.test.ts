import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import type { Browser, Locator, Page } from 'playwright-core';
import { OutputLog } from '../src/output/log.js';
import { chromiumFile, launchBrowser, openPage, type WatchedPage } from './support/browser.js';
import { cleanup } from './support/environment.js';
import { inspectedServer } from './support/inspected.js';
import { eventually } from './support/processes.js';

const row = (page: Page, name: string): Locator => page.getByRole('treeitem', { name });

/** Chooses it by the mouse. The item of a connection is as large as all of its processes: its own row is clicked. */
const choose = (page: Page, name: string): Promise<void> => row(page, name).locator('> .row').click();

const state = (page: Page, chart: string, id: string): Locator =>
  page.locator(`[data-chart=${chart}] [data-state="${id}"]`);

/** Waits until so many actors are in a state. */
const lit = (page: Page, chart: string, id: string, count: number): Promise<void> =>
  state(page, chart, id)
    .and(page.locator('.lit'))
    .filter({ has: page.locator('.count', { hasText: new RegExp(`^${count}$`) }) })
    .waitFor();

const screen = (page: Page): Locator => page.locator('.xterm-rows');

const expectNoneLeft = ({ requests, errors }: WatchedPage, url: string): void => {
  const hosts = new Set(
    requests.filter((request) => !request.startsWith('data:')).map((request) => new URL(request).host),
  );
  expect([...hosts]).to.deep.equal([new URL(url).host]);
  expect(errors).to.deep.equal([]);
};

const secret = (): string => randomBytes(18).toString('hex');

const inBase64 = (text: string): string => Buffer.from(text).toString('base64').slice(0, -4);

/** Before the scripts of the page: its WebSockets are kept where the test can close one. */
const KEEP_SOCKETS = `
  const sockets = (globalThis.sockets = []);
  globalThis.WebSocket = class extends WebSocket {
    constructor(...words) {
      super(...words);
      sockets.push(this);
    }
  };`;

const fail = (): void => {
  throw new Error('a fault of the test');
};

const background = ({ page }: WatchedPage): Promise<string> =>
  page.evaluate('getComputedStyle(document.body).backgroundColor');

const suite = chromiumFile === undefined ? describe.skip : describe;
const reason =
  chromiumFile === undefined
    ? ' (skipped: no Chromium here; install it, or say by CHROME_BIN where it is)'
    : '';

suite(`the viewer in a browser${reason}`, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser.close());

  it('lights the states up where actors are, from a start to the end of a process', async () => {
    const { inspector, connect } = await inspectedServer();
    const watched = await openPage(browser, inspector.viewerUrl);
    const { page } = watched;
    await page.getByText('No client is connected.').waitFor();
    const client = await connect('a client');
    await row(page, 'connection 1, ready').getByText('a client').waitFor();
    await lit(page, 'connection', 'open.ready', 1);
    await client.start('one', ['sleep', '60']);
    await client.start('two', ['sleep', '60']);
    await lit(page, 'process', 'live', 2);
    await lit(page, 'process', 'live.running', 2);
    await row(page, 'process two, running').waitFor();
    await client.request('process/signal', { processId: 'two', signal: 'kill' });
    await lit(page, 'process', 'live.running', 1);
    await lit(page, 'process', 'live.retained.keeping', 1);
    await row(page, 'process two, retained').getByText('exit 137').waitFor();
    expect(await state(page, 'process', 'live.starting').getAttribute('class')).to.equal('state');
    await page.getByText('1 connection, 2 processes').waitFor();
    await client.close();
    await row(page, 'process one, evicted').getByText('ended').waitFor();
    await state(page, 'connection', 'closed').and(page.locator('.ended')).waitFor();
    expectNoneLeft(watched, inspector.viewerUrl);
  });

  it('tells a chosen actor’s history, events and prose; a page that is loaded again finds them', async () => {
    const { inspector, connect } = await inspectedServer();
    const { page } = await openPage(browser, inspector.viewerUrl);
    const client = await connect();
    await row(page, 'connection 1').waitFor();
    await client.start('short', ['sh', '-c', 'exit 3']);
    await client.processClosed('short');
    const look = async (): Promise<void> => {
      await choose(page, 'process short, retained');
      await page.locator('.prose', { hasText: 'Kept for the retention time' }).waitFor();
      const steps = page.locator('.timeline li');
      await steps.nth(3).waitFor();
      expect(await steps.locator('strong').allTextContents()).to.deep.equal([
        'retained',
        'exited',
        'running',
        'starting',
      ]);
      expect(await steps.locator('.by').allTextContents()).to.deep.equal([
        'by child.closed',
        'by child.exited',
        'by child.spawned',
        'by xstate.init',
      ]);
      await page.getByRole('row').filter({ hasText: 'child.exited' }).getByText('exitCode=3').waitFor();
      expect(await state(page, 'process', 'live.retained.keeping').getAttribute('class')).to.include(
        'chosen',
      );
    };
    await look();
    await page.reload();
    await look();
  });

  it('shows the output of a process in a terminal, colours and sizes too', async () => {
    const { inspector, connect } = await inspectedServer();
    const client = await connect();
    const script = `printf '\\033[32mgreen\\033[0m at %s' "$(stty size)"; exec sleep 60`;
    await client.start('pty', ['sh', '-c', script], { tty: true, size: { rows: 7, cols: 33 } });
    await client.waitOutput('pty', 'at 7 33');
    // what came before the page is told first, then what comes
    const watched = await openPage(browser, inspector.viewerUrl);
    const { page } = watched;
    await choose(page, 'process pty');
    await screen(page).getByText('at 7 33').waitFor();
    expect(await screen(page).locator('.xterm-fg-2').textContent()).to.equal('green');
    expect(await screen(page).locator('> div').count()).to.equal(7);
    await client.start(
      'pipes',
      ['sh', '-c', 'echo to stdout; echo to stderr >&2; read line; echo "got $line"'],
      {
        pipeStdin: true,
      },
    );
    await choose(page, 'process pipes');
    await screen(page).locator('.xterm-fg-1', { hasText: 'to stderr' }).waitFor();
    await client.write('pipes', 'a line\n');
    await screen(page).getByText('got a line').waitFor();
    expect(await screen(page).getByText('green').count()).to.equal(0);
    expectNoneLeft(watched, inspector.viewerUrl);
  });

  it('shows that an actor crashed, and that its connection goes on', async () => {
    const original = Object.getOwnPropertyDescriptor(OutputLog.prototype, 'exited');
    Object.defineProperty(OutputLog.prototype, 'exited', { ...original, value: fail });
    cleanup(() => void Object.defineProperty(OutputLog.prototype, 'exited', { ...original }));
    const { inspector, connect } = await inspectedServer();
    const { page } = await openPage(browser, inspector.viewerUrl);
    const client = await connect();
    await client.start('faulty', ['true']);
    await choose(page, 'process faulty, crashed');
    await page.getByText('This actor threw an error.').waitFor();
    await lit(page, 'connection', 'open.ready', 1);
  });

  it('gets no value of an environment, argument, input or session id, and output of the chosen process alone', async () => {
    const { inspector, connect } = await inspectedServer();
    const watched = await openPage(browser, inspector.viewerUrl);
    const { page, frames } = watched;
    const canaries = { environment: secret(), argument: secret(), input: secret() };
    const [output, otherOutput] = [secret(), secret()];
    const client = await connect();
    const { sessionId } = await client
      .request('process/list')
      .then(() => ({ sessionId: client.texts[0] ?? '' }));
    const id = /"sessionId":"([^"]+)"/.exec(sessionId)?.[1] ?? '';
    const env = { PATH: process.env['PATH'] ?? '', CANARY: canaries.environment };
    await client.start('shown', ['sh', '-c', 'cat >/dev/null; tr a-f g-l; sleep 60', canaries.argument], {
      env,
      pipeStdin: true,
    });
    await client.start('printing', ['printf', '%s', otherOutput]);
    await client.write('shown', canaries.input, { writeId: 'w' });
    await client.start('chosen', ['printf', '%s', output]);
    await client.processClosed('chosen');
    for (const name of ['connection 1', 'process shown', 'process chosen']) await choose(page, name);
    await screen(page).getByText(output.slice(0, 20)).waitFor();
    // the page may be told of the output before it is told of the write
    await eventually(() => frames.some((frame) => frame.includes('process.write')), 'the write in the page');
    const seen = `${frames.join('\n')}\n${await page.content()}`;
    expect(seen).to.include('chunk=36 bytes');
    for (const [name, canary] of Object.entries({ ...canaries, otherOutput, id })) {
      expect(canary).to.have.length.greaterThan(30);
      expect(seen.includes(canary) || seen.includes(inBase64(canary)), name).to.equal(false);
    }
    expectNoneLeft(watched, inspector.viewerUrl);
  });

  it('is used by the keyboard alone', async () => {
    const { inspector, connect } = await inspectedServer();
    const first = await connect();
    await connect();
    await first.start('p1', ['sleep', '60']);
    await first.start('p2', ['sleep', '60']);
    const { page } = await openPage(browser, inspector.viewerUrl);
    await row(page, 'connection 2').waitFor();
    const chosen = page.getByRole('heading', { level: 2 }).and(page.locator('#detail-name'));
    const press = async (key: string, name: string): Promise<void> => {
      await page.keyboard.press(key);
      await chosen.getByText(name, { exact: true }).waitFor();
      const focused = page.locator(':focus');
      expect(await focused.getAttribute('aria-label')).to.match(new RegExp(`^${name},`));
      expect(await focused.getAttribute('aria-selected')).to.equal('true');
    };
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).to.equal('To the list of connections and processes');
    await page.keyboard.press('Tab');
    await press('Enter', 'connection 1');
    await press('ArrowDown', 'process p1');
    await press('End', 'connection 2');
    await press('ArrowUp', 'process p2');
    await press('ArrowLeft', 'connection 1');
    await press('ArrowRight', 'process p1');
    await press('Home', 'connection 1');
    await page.keyboard.press('ArrowLeft');
    expect(await row(page, 'connection 1').getAttribute('aria-expanded')).to.equal('false');
    expect(await row(page, 'process p1').count()).to.equal(0);
    await press('ArrowDown', 'connection 2');
    expect(await page.locator('[role=treeitem][tabindex="0"]').count()).to.equal(1);
  });

  it('says how many events are left out when too many come at once', async () => {
    const { inspector, connect } = await inspectedServer();
    const { page } = await openPage(browser, inspector.viewerUrl);
    const client = await connect();
    await choose(page, 'connection 1, ready');
    for (let at = 0; at < 1_000; at++) client.raw(`{"id":"${at}","method":"process/list"}`);
    await page
      .locator('.missed')
      .getByText(/^[\d]+ events left out/)
      .waitFor();
    const shown = await page.locator('.event-log tbody tr').count();
    expect(shown).to.be.within(1, 500);
  });

  it('comes back by itself when its connection was lost, with all that it had chosen', async () => {
    const { inspector, connect } = await inspectedServer();
    const client = await connect();
    await client.start('before', ['printf', 'printed before']);
    const { page } = await openPage(browser, inspector.viewerUrl, {}, KEEP_SOCKETS);
    await choose(page, 'process before');
    await screen(page).getByText('printed before').waitFor();
    await page.evaluate('sockets[0].close()');
    await page.getByText('The server is out of reach. Trying again…').waitFor();
    await client.start('meanwhile', ['sleep', '60']);
    await row(page, 'process meanwhile, running').waitFor();
    await page.getByText('live', { exact: true }).first().waitFor();
    await screen(page).getByText('printed before').waitFor();
    expect(await page.evaluate('sockets.length')).to.be.greaterThan(1);
    expect(await page.locator('.timeline li').count()).to.be.greaterThan(0);
  });

  it('serves several pages, in the colours that each asks for, and tells them when the server ends', async () => {
    const { inspector, connect } = await inspectedServer();
    await connect();
    const [light, dark] = [
      await openPage(browser, inspector.viewerUrl, { colorScheme: 'light' }),
      await openPage(browser, inspector.viewerUrl, { colorScheme: 'dark', reducedMotion: 'reduce' }),
    ];
    for (const { page } of [light, dark]) await row(page, 'connection 1, ready').waitFor();
    expect(await background(light)).to.equal('rgb(243, 244, 247)');
    expect(await background(dark)).to.equal('rgb(13, 17, 25)');
    await inspector.close();
    for (const { page } of [light, dark]) await page.getByText('The server has ended.').waitFor();
  });
});
