import fs from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { cleanup } from './environment.js';

const candidates = [process.env['CHROME_BIN'], '/usr/bin/chromium'].filter((file) => file !== undefined);

/** A Chromium of this machine; undefined: there is none. */
export const chromiumFile = candidates.find((file) => fs.existsSync(file));

/** One headless browser for all tests of a file. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    ...(chromiumFile === undefined ? {} : { executablePath: chromiumFile }),
    args: ['--no-sandbox'],
    // a test that is told to end ends at once, and the browser with the pipe to it
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });

/** What a page has sent, got and complained of. */
export type WatchedPage = {
  readonly page: Page;
  /** URLs of all requests, WebSockets too. */
  readonly requests: string[];
  /** All that came by WebSockets. */
  readonly frames: string[];
  /** Errors of scripts, and what the policy of the page has refused. */
  readonly errors: string[];
};

/**
 * A page of its own for one test, closed after it.
 *
 * @param script runs before those of the page
 */
export const openPage = async (
  browser: Browser,
  url: string,
  options: object = {},
  script = '',
): Promise<WatchedPage> => {
  // high enough for all of the page: the terminal draws nothing while it is out of sight
  const context = await browser.newContext({ viewport: { width: 1480, height: 1700 }, ...options });
  cleanup(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const watched: WatchedPage = { page, requests: [], frames: [], errors: [] };
  page.on('request', (request) => watched.requests.push(request.url()));
  page.on('websocket', (socket) => {
    watched.requests.push(socket.url());
    socket.on('framereceived', ({ payload }) => watched.frames.push(String(payload)));
  });
  page.on('pageerror', (error) => watched.errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') watched.errors.push(message.text());
  });
  await page.addInitScript(script);
  await page.goto(url);
  return watched;
};
