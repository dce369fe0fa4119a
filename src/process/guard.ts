import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Log } from '../log.js';
import type { ProcessGroup } from './groups.js';
import { GUARD_SCRIPT } from './guard-script.js';
import { inheritableDescriptors } from './pty.js';
import type { Sweeper } from './sweeper.js';

/** What `ps` shows of it, behind the script; `pkill -f` by the name of the server or of Node must miss it. */
const NAME = 'process-guard';

/** It ends when it is told to; one that is stopped (SIGSTOP) can't, and is killed after this time. */
const END_MS = 1_000;

/** A shell that ends sooner than that has not been killed by somebody, but does not work here. */
const SHORT_LIFE_MS = 1_000;

/** After so many short lives in a row no further guard is started. */
const MAX_SHORT_LIVES = 3;

/**
 * A group that is empty is told so much later, or with the next one that comes: each line wakes the guard, which
 * tells a stranger with the same number by its start time anyway.
 */
const REMOVAL_MS = 100;

/** Run by the guard, to sweep; built beside this file. */
const SWEEP_MAIN = fileURLToPath(new URL('./sweep-main.js', import.meta.url));

/**
 * PTY masters are not close-on-exec: the guard gets /dev/null in their places.
 *
 * @param nothing a descriptor of /dev/null
 */
const stdioWithout = (masters: ReadonlySet<number>, nothing: number): StdioOptions => {
  const stdio: StdioOptions = ['pipe', 'ignore', 'ignore'];
  for (const master of masters) {
    while (stdio.length < master) stdio.push('ignore');
    stdio[master] = nothing;
  }
  return stdio;
};

/** Starts the shell; of this process's it holds nothing but the end of a pipe. Throws the system's error. */
export const spawnGuard = (masters: ReadonlySet<number> = inheritableDescriptors()): ChildProcess => {
  const nothing = fs.openSync('/dev/null', 'r');
  try {
    return spawn('sh', ['-c', GUARD_SCRIPT, NAME], {
      cwd: '/',
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
      // a session of its own: what ends this process's group or terminal misses it
      detached: true,
      stdio: stdioWithout(masters, nothing),
    });
  } finally {
    fs.closeSync(nothing);
  }
};

/**
 * A tiny process beside the server, which lives a moment longer: when the server is gone, by SIGKILL too, it kills
 * the groups that are left. It does not keep this process alive.
 */
export class Guard {
  #child: ChildProcess | undefined;
  readonly #slots = new Map<ProcessGroup, number>();
  readonly #freeSlots: number[] = [];
  /** Lines that the guard has not been told yet. */
  #removals = '';
  #telling: NodeJS.Timeout | undefined;
  #startedAt = 0;
  #shortLives = 0;
  #closed = false;

  constructor(
    private readonly log: Log,
    private readonly sweeper: Sweeper | undefined,
  ) {}

  /** Starts it, if it does not run. To be called before a child is forked. Never throws. */
  start(): void {
    if (this.#child !== undefined || this.#closed || this.#shortLives === MAX_SHORT_LIVES) return;
    this.#startedAt = performance.now();
    let child: ChildProcess;
    try {
      child = spawnGuard();
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#child = child;
    child.once('error', (error) => this.#ended(child, error));
    child.once('exit', () => this.#ended(child, undefined));
    // it has gone, which its exit tells
    child.stdin?.on('error', () => undefined);
    child.unref();
    if (child.stdin !== null && 'unref' in child.stdin && typeof child.stdin.unref === 'function') {
      child.stdin.unref();
    }
    if (child.pid !== undefined) this.sweeper?.spare(child.pid);
    this.#tellPlan();
    for (const [group, slot] of this.#slots) this.#tellGroup(group, slot);
  }

  add(group: ProcessGroup): void {
    const slot = this.#freeSlots.pop() ?? this.#slots.size;
    this.#slots.set(group, slot);
    this.#tellGroup(group, slot);
  }

  /** The group is empty; may be called twice. */
  remove(group: ProcessGroup): void {
    const slot = this.#slots.get(group);
    if (slot === undefined) return;
    this.#slots.delete(group);
    this.#freeSlots.push(slot);
    this.#removals += `- ${slot}\n`;
    this.#telling ??= setTimeout(() => this.#tell(''), REMOVAL_MS).unref();
  }

  /** Ends it, and waits for its end. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#telling);
    const child = this.#child;
    if (child?.pid === undefined) return;
    child.ref();
    const gone = new Promise((resolve) => child.once('exit', resolve));
    const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
    child.stdin?.end('end\n');
    await gone;
    clearTimeout(timer);
  }

  #tellPlan(): void {
    const plan = this.sweeper?.plan;
    if (plan === undefined) return;
    const lines = [process.execPath, SWEEP_MAIN, plan.prefix, plan.cgroup ?? ''];
    // a line each: without the sweep the groups are killed
    if (lines.some((line) => line.includes('\n')) || !fs.existsSync(SWEEP_MAIN)) {
      this.log.warn('the guard can not sweep: it kills groups alone');
    } else this.#tell(`${['sweep', ...lines].join('\n')}\n`);
  }

  #tellGroup({ leader, startTime }: ProcessGroup, slot: number): void {
    this.#tell(`+ ${slot} ${leader} ${startTime ?? '-'}\n`);
  }

  /** Written at once, as long as the guard reads; with it goes what could wait. */
  #tell(lines: string): void {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    this.#child?.stdin?.write(this.#removals + lines, 'utf8');
    this.#removals = '';
  }

  #ended(child: ChildProcess, error: Error | undefined): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    child.stdin?.destroy();
    if (!this.#closed) this.#failed(error);
  }

  #failed(error: unknown): void {
    const isShort = performance.now() - this.#startedAt < SHORT_LIFE_MS;
    this.#shortLives = isShort ? this.#shortLives + 1 : 0;
    if (this.#shortLives === MAX_SHORT_LIVES) {
      this.log.warn(
        { err: error },
        'no guard can be kept running: after a SIGKILL of this server its processes go on',
      );
      return;
    }
    this.start();
    if (this.#child?.pid !== undefined) {
      this.log.warn({ err: error }, 'the guard had ended; another one knows all groups');
    }
  }
}
