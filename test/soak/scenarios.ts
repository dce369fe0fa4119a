import { deepStrictEqual } from 'node:assert';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { End } from './session.js';
import { Session } from './session.js';

/** What one client does, from its connection to its end. Throws when anything is not as it must be. */
export type Scenario = (world: { readonly url: string; readonly directory: string }) => Promise<void>;

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** A raw terminal that gives back what it gets; R says that it is raw. */
const TERMINAL = ['sh', '-c', 'stty raw -echo; printf R; exec cat'];

/** A child and a grandchild in one group. */
const FAMILY = ['sh', '-c', 'sleep 1000 & exec sleep 1000'];

const FLOOD_LINES = 300_000;
const FLOOD = Buffer.from(Array.from({ length: FLOOD_LINES }, (_, index) => `${index + 1}\n`).join(''));
const FLOOD_END: End = { bytes: FLOOD.length, sha256: sha256(FLOOD), exitCode: 0, signal: null };

/** Long enough for the server's buffers to fill, and its child's pipe. */
const SLOW_READER_MS = 100;

/** Beyond any run: it ends because something comes. */
const FOR_EVER = Number.MAX_SAFE_INTEGER;

const killed = (signal: string, number: number): Partial<End> => ({ exitCode: 128 + number, signal });

/** Random bytes there and back, in writes of all sizes. */
const echo =
  (tty: boolean): Scenario =>
  async ({ url }) => {
    const session = await Session.open(url);
    const { processId, ended, printed } = await session.start(tty ? TERMINAL : ['cat'], {
      tty,
      pipeStdin: !tty,
    });
    const greeting = tty ? 'R' : '';
    await printed(greeting.length);
    const writes = [1, 100, 4096, 70_000, 1, 200_000].map((length) => randomBytes(length));
    await Promise.all(writes.map(async (bytes) => session.write(processId, bytes)));
    const all = Buffer.concat([Buffer.from(greeting), ...writes]);
    await printed(all.length);
    await session.client.request(tty ? 'process/terminate' : 'process/closeStdin', { processId });
    const how = tty ? killed('SIGKILL', 9) : { exitCode: 0, signal: null };
    deepStrictEqual(await ended, { bytes: all.length, sha256: sha256(all), ...how });
    await session.end();
  };

/** Two megabytes of numbers; every one of them must come, whoever is slow. */
const flood =
  (more: object, pauses: number): Scenario =>
  async ({ url }) => {
    const session = await Session.open(url);
    if ('outputWindow' in more) session.acknowledgeAll();
    const process = await session.start(['seq', String(FLOOD_LINES)], more);
    for (let pause = 0; pause < pauses; pause++) {
      session.socket.pause();
      await sleep(SLOW_READER_MS);
      session.socket.resume();
      await sleep(SLOW_READER_MS / 10);
    }
    deepStrictEqual(await process.ended, FLOOD_END);
    await session.end();
  };

/** A family is killed in each of the ways there are. */
const kill: Scenario = async ({ url }) => {
  const session = await Session.open(url);
  for (const tty of [false, true]) {
    for (const [name, signal, number] of [
      ['interrupt', 'SIGINT', 2],
      ['terminate', 'SIGTERM', 15],
      ['hangup', 'SIGHUP', 1],
      ['kill', 'SIGKILL', 9],
    ] as const) {
      const { processId, ended } = await session.start(['sleep', '1000'], { tty });
      await session.client.request('process/signal', { processId, signal: name });
      deepStrictEqual(await ended, { bytes: 0, sha256: sha256(''), ...killed(signal, number) });
    }
    const { processId, ended } = await session.start(FAMILY, { tty });
    deepStrictEqual(await session.client.request('process/terminate', { processId }), { running: true });
    deepStrictEqual(await ended, { bytes: 0, sha256: sha256(''), ...killed('SIGKILL', 9) });
  }
  await session.end();
};

/** A client that is gone without a word, amid everything. */
const rude =
  (params: object): Scenario =>
  async ({ url, directory }) => {
    const session = await Session.open(url, params);
    const handle = { handleId: 'h', path: path.join(directory, 'open') };
    fs.writeFileSync(handle.path, 'x');
    await session.client.request('fs/open', handle);
    for (const tty of [false, true]) {
      await session.start(FAMILY, { tty });
      const { processId, printed } = await session.start(['yes'], { tty });
      await printed(100_000);
      const silent = await session.start(['sleep', '1000'], { tty, pipeStdin: true });
      void session.client.call('process/read', { processId, waitMs: FOR_EVER });
      void session.client.call('process/read', { processId: silent.processId, waitMs: FOR_EVER });
      // it is not read: some of these are never answered
      for (let write = 0; write < 5; write++)
        void session.write(silent.processId, randomBytes(400_000)).catch(() => undefined);
    }
    await session.end('cut');
  };

/** Lost, and back: the process has gone on. */
const resume: Scenario = async ({ url }) => {
  const first = await Session.open(url, { resumeSessionId: null });
  const { processId, printed } = await first.start(['cat'], { pipeStdin: true });
  const [one, two] = [randomBytes(50_000), randomBytes(50_000)];
  await first.write(processId, one);
  await printed(one.length);
  await first.end('cut');
  const second = await comeBack(url, first.id);
  const rest = second.adopt(processId);
  await second.write(processId, two);
  await rest.printed(two.length);
  const { chunks } = await second.client.request('process/read', { processId });
  const retained: { chunk: string }[] = JSON.parse(JSON.stringify(chunks));
  const all = Buffer.concat(retained.map(({ chunk }) => Buffer.from(chunk, 'base64')));
  deepStrictEqual(sha256(all), sha256(Buffer.concat([one, two])));
  await second.client.request('process/closeStdin', { processId });
  deepStrictEqual(await rest.ended, { bytes: two.length, sha256: sha256(two), exitCode: 0, signal: null });
  await second.end();
};

/** The server learns of a lost connection a little later than its client. */
const comeBack = async (url: string, sessionId: string): Promise<Session> => {
  for (;;) {
    try {
      return await Session.open(url, { resumeSessionId: sessionId });
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes('-32010')) throw error;
    }
  }
};

/** Many wait for the same bytes; others for a time that is over soon; the last ones for a close. */
const polls: Scenario = async ({ url }) => {
  const session = await Session.open(url);
  const { processId, ended } = await session.start(['cat'], { pipeStdin: true });
  const wait = async (count: number, afterSeq: number, waitMs: number): Promise<unknown[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const { chunks } = await session.client.request('process/read', { processId, afterSeq, waitMs });
        return chunks;
      }),
    );
  const waiting = wait(50, 0, FOR_EVER);
  await session.write(processId, Buffer.from('here'));
  const chunks = [{ seq: 1, stream: 'stdout', chunk: Buffer.from('here').toString('base64') }];
  deepStrictEqual(
    await waiting,
    Array.from({ length: 50 }, () => chunks),
  );
  deepStrictEqual(
    await wait(20, 1, 5),
    Array.from({ length: 20 }, () => []),
  );
  const last = wait(20, 3, FOR_EVER);
  await session.client.request('process/terminate', { processId });
  deepStrictEqual(
    await last,
    Array.from({ length: 20 }, () => []),
  );
  await ended;
  await session.end();
};

const files: Scenario = async ({ url, directory }) => {
  const session = await Session.open(url);
  const { client } = session;
  const root = fs.mkdtempSync(path.join(directory, 'files-'));
  const [file, copy] = [path.join(root, 'a/b/file'), path.join(root, 'copy')];
  const content = randomBytes(1_000_000);
  await client.request('fs/createDirectory', { path: path.dirname(file) });
  await client.request('fs/writeFile', { path: file, dataBase64: content.toString('base64') });
  await client.request('fs/copy', {
    sourcePath: path.join(root, 'a'),
    destinationPath: copy,
    recursive: true,
  });
  const { dataBase64 } = await client.request('fs/readFile', { path: path.join(copy, 'b/file') });
  deepStrictEqual(sha256(Buffer.from(String(dataBase64), 'base64')), sha256(content));
  await client.request('fs/open', { handleId: 'h', path: file });
  const blocks: Buffer[] = [];
  for (let offset = 0; offset < content.length; offset += 100_000) {
    const { chunk } = await client.request('fs/readBlock', { handleId: 'h', offset, len: 100_000 });
    blocks.push(Buffer.from(String(chunk), 'base64'));
  }
  deepStrictEqual(sha256(Buffer.concat(blocks)), sha256(content));
  const options = { maxDepth: 5, maxDirectories: 100, maxEntries: 100, followDirectorySymlinks: false };
  const { entries } = await client.request('fs/walk', { path: root, options });
  deepStrictEqual(Array.isArray(entries) && entries.length, 6);
  await client.request('fs/remove', { path: root });
  deepStrictEqual(fs.existsSync(root), false);
  await session.end('cut'); // with the file still open
};

const failedStarts: Scenario = async ({ url }) => {
  const session = await Session.open(url);
  for (const tty of [false, true]) {
    for (const argv of [['/nonexistent'], ['nowhere'], ['/']]) {
      const params = { processId: 'p', argv, cwd: '/', env: { PATH: '/usr/bin:/bin' }, tty };
      const { error } = await session.client.call('process/start', params);
      deepStrictEqual(error?.code, -32603);
    }
  }
  await session.end();
};

export const scenarios: ReadonlyMap<string, Scenario> = new Map([
  ['echo in pipes', echo(false)],
  ['echo in a terminal', echo(true)],
  ['flood', flood({}, 0)],
  ['flood, slow reader', flood({}, 3)],
  ['flood, window', flood({ outputWindow: 100_000 }, 3)],
  ['kill', kill],
  ['rude', rude({})],
  ['rude, never back', rude({ resumeSessionId: null })],
  ['resume', resume],
  ['long polls', polls],
  ['files', files],
  ['failed starts', failedStarts],
]);
