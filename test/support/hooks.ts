import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { cookie, runCleanups } from './environment.js';

/** What is killed takes a moment to be gone. */
const SETTLE_MS = 3_000;
const LOOK_EVERY_MS = 10;

const readable = (file: string): string => {
  try {
    return fs.readFileSync(file, 'latin1');
  } catch {
    return ''; // it ended meanwhile, or is another user's
  }
};

/** Programs that a test has started, and that still run. */
const survivors = (): string[] =>
  fs
    .readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => readable(`/proc/${pid}/environ`).includes(cookie.EXEC_SERVER_TEST));

const describeProcess = (pid: string): string =>
  `process ${pid}: ${readable(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`;

/** One test's fault must not be told of all that come after it. */
const killSurvivors = (): void => {
  for (const pid of survivors()) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // it has ended meanwhile
    }
  }
};

const descriptors = (): string[] =>
  fs.readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [`${descriptor} → ${fs.readlinkSync(`/proc/self/fd/${descriptor}`)}`];
    } catch {
      return []; // closed since: the one that readdir used, or one of another thread
    }
  });

/** Sockets, pipes, timers and child processes that keep this process alive. */
const resources = (): string[] => process.getActiveResourcesInfo();

const count = (names: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
};

/** What is there now more often than it was before. */
const added = (before: readonly string[], now: readonly string[]): string[] => {
  const had = count(before);
  return [...count(now)].filter(([name, times]) => times > (had.get(name) ?? 0)).map(([name]) => name);
};

let before: { descriptors: string[]; resources: string[] };

/** After each test no process, descriptor or timer of it is left. */
export const mochaHooks = {
  async beforeEach(): Promise<void> {
    // asynchronous as the other hook is: mocha has a timer of its own for each of those
    await sleep(0);
    before = { descriptors: descriptors(), resources: resources() };
  },
  async afterEach(this: Mocha.Context): Promise<void> {
    await runCleanups();
    let left: string[] = [];
    for (const end = Date.now() + SETTLE_MS; Date.now() < end; await sleep(LOOK_EVERY_MS)) {
      left = [
        ...survivors().map(describeProcess),
        ...added(before.descriptors, descriptors()).map((descriptor) => `descriptor ${descriptor}`),
        ...added(before.resources, resources()).map((resource) => `resource ${resource}`),
      ];
      if (left.length === 0) return;
    }
    killSurvivors();
    throw new Error(`left behind by «${this.currentTest?.title}»:\n  ${left.join('\n  ')}`);
  },
};
