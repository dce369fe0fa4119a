import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launchServer } from './client.js';
import { cookie, runCleanups } from './environment.js';
import { temporaryDirectory } from './files.js';

const MIB = 1024 * 1024;

const REPORT = fileURLToPath(new URL('../fixtures/report-on-signal.mjs', import.meta.url));

/** What a server holds at one moment. */
export type Figures = {
  /** Used by JavaScript after a collection of garbage, and by its buffers. */
  readonly heapMiB: number;
  readonly residentMiB: number;
  readonly descriptors: number;
  readonly threads: number;
  /** Its children, and all that was started through it. */
  readonly processes: number;
  /** Entries of its temporary directory. */
  readonly temporaryFiles: number;
  /** Timers, sockets and the like: what keeps its event loop alive, by kind. */
  readonly resources: string;
};

const readable = (file: string): string => {
  try {
    return fs.readFileSync(file, 'latin1');
  } catch {
    return ''; // it ended meanwhile
  }
};

/** Children of this process, and whatever has the cookie in its environment. */
const processesOf = (server: number): number =>
  fs.readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const stat = readable(`/proc/${pid}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]);
    return parent === server || readable(`/proc/${pid}/environ`).includes(cookie.EXEC_SERVER_TEST);
  }).length;

const statusOf = (pid: number, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readable(`/proc/${pid}/status`))?.[1]);

const counted = (names: readonly string[]): string =>
  [...new Set(names)].map((name) => `${names.filter((one) => one === name).length} ${name}`).join(', ');

/** A launched server whose insides can be looked at: by /proc, and by a module that is loaded into it. */
export class WatchedServer {
  /** What it said on stderr: with `--log-level error` that is nothing. */
  readonly complaints: string[] = [];
  readonly process: ChildProcess;
  readonly #temporary = temporaryDirectory();
  readonly #pid: number;
  #isEnding = false;
  #onReport: ((report: string) => void) | undefined;

  constructor(args: readonly string[]) {
    this.process = launchServer(['--log-level', 'error', ...args], {
      NODE_OPTIONS: `--import=${REPORT}`,
      TMPDIR: this.#temporary,
    });
    const { pid, stderr } = this.process;
    if (pid === undefined || stderr === null) throw new Error('the server was not launched');
    this.#pid = pid;
    this.process.once('exit', (code, signal) => {
      if (!this.#isEnding) this.complaints.push(`the server has ended: ${code ?? signal}`);
    });
    createInterface({ input: stderr }).on('line', (line) => {
      if (line.startsWith('report ')) this.#onReport?.(line.slice('report '.length));
      else if (!line.startsWith('exec-server listening on ')) this.complaints.push(line);
    });
  }

  /** From now on it may end. */
  expectEnd(): void {
    this.#isEnding = true;
  }

  /** Where it listens; asked once. */
  async url(): Promise<string> {
    if (this.process.stdout === null) throw new Error('no pipes');
    const [url]: string[] = await once(createInterface({ input: this.process.stdout }), 'line');
    if (url === undefined) throw new Error('no URL');
    return url;
  }

  /** @param quietMs waited before, for what takes some time to end by itself */
  async figures(quietMs: number): Promise<Figures> {
    await sleep(quietMs);
    const { heap, external, resources } = JSON.parse(
      await new Promise<string>((resolve) => {
        this.#onReport = resolve;
        this.process.kill('SIGUSR2');
      }),
    );
    const pools = fs.readdirSync(this.#temporary);
    return {
      heapMiB: (heap + external) / MIB,
      residentMiB: statusOf(this.#pid, 'VmRSS') / 1024,
      descriptors: fs.readdirSync(path.join('/proc', String(this.#pid), 'fd')).length,
      threads: statusOf(this.#pid, 'Threads'),
      processes: processesOf(this.#pid),
      temporaryFiles: pools.length,
      resources: counted(resources),
    };
  }
}

/** For a script: one that is told to end takes its servers and directories with it. */
export const cleanUpOnSignals = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void runCleanups().finally(() => process.exit(1)));
};

/**
 * JavaScript keeps some of what it compiled and learned, and pools of buffers grow to what was needed at once.
 * A leak of a hundred bytes a message would be more than that after a million.
 */
const HEAP_TOLERANCE_MIB = 12;

/** What is more at the end than at the start, in words. Nothing: all is as it was. */
export const grown = (start: Figures, end: Figures): string[] => [
  ...(['descriptors', 'threads', 'processes', 'temporaryFiles'] as const)
    .filter((name) => end[name] > start[name])
    .map((name) => `${name}: ${start[name]} at the start, ${end[name]} at the end`),
  ...(end.resources === start.resources
    ? []
    : [`resources: ${start.resources} at the start, ${end.resources} at the end`]),
  ...(end.heapMiB > start.heapMiB + HEAP_TOLERANCE_MIB
    ? [`heap: ${start.heapMiB.toFixed(1)} MiB at the start, ${end.heapMiB.toFixed(1)} at the end`]
    : []),
];

/** One line for people. */
export const shown = (figures: Figures): string =>
  `heap ${figures.heapMiB.toFixed(1)} MiB, resident ${figures.residentMiB.toFixed(0)} MiB, ` +
  `${figures.descriptors} descriptors, ${figures.threads} threads, ${figures.processes} processes, ` +
  `${figures.temporaryFiles} temporary files; ${figures.resources}`;
