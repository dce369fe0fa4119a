import type { Log } from '../log.js';
import { atExit } from './at-exit.js';
import { Cgroup } from './cgroup.js';
import { Cookies, type SessionCookies } from './cookie.js';
import type { ProcessGroup } from './groups.js';
import { hasProcessTable, startTimeOf } from './process-table.js';
import { Broom, SETTLE_MS, SWEEP_LIMIT_MS, type SweepTarget } from './sweep.js';

type Sweep = SweepTarget & { readonly endsAt: number; readonly done: (survivors: number) => void };

/** For `--sweep`: gives each process of a server what it is known by, and finds and kills what it leaves. */
export class Sweeper {
  readonly #cookies = new Cookies();
  readonly #broom: Broom;
  readonly #sweeps = new Set<Sweep>();
  readonly #groups = new Set<ProcessGroup>();
  #cgroup: Cgroup | undefined;
  #forgetExit: (() => void) | undefined;

  private constructor(private readonly log: Log) {
    this.#broom = new Broom(this.#cookies.server, startTimeOf(process.pid) ?? 0);
  }

  /** Undefined where there is no /proc: then groups are killed, and no more. */
  static make(log: Log): Sweeper | undefined {
    if (hasProcessTable()) return new Sweeper(log);
    log.warn('there is no /proc here: what leaves its process group is not swept');
    return undefined;
  }

  /** What the guard needs for a sweep when this process is gone. */
  get plan(): { readonly prefix: string; readonly cgroup: string | undefined } {
    return { prefix: this.#cookies.server, cgroup: this.#cgroup?.directory };
  }

  /** A process that is never killed. */
  spare(pid: number): void {
    this.#broom.spared.add(pid);
  }

  /** The cookies of a session; what they mark is swept from now on, whatever happens to this server. */
  session(): SessionCookies {
    if (this.#forgetExit === undefined) {
      // before those of the groups, which would take the parents from their orphans
      this.#forgetExit = atExit(() => this.#sweepAll());
      this.#makeCgroup();
    }
    return this.#cookies.session();
  }

  /** A new child belongs here. Its cgroup, if it can have one. */
  enclose(cookie: string, pid: number): Cgroup | undefined {
    try {
      return this.#cgroup?.enclose(cookie, pid);
    } catch (error) {
      this.log.debug({ err: error }, 'no cgroup for a process');
      return undefined;
    }
  }

  add(group: ProcessGroup): void {
    this.#groups.add(group);
  }

  forget(group: ProcessGroup): void {
    this.#groups.delete(group);
  }

  /**
   * Kills all that belongs to a target. Resolves with how many are still alive, after SWEEP_LIMIT_MS at most.
   * All targets of a turn, and those that come while others are waited for, are looked at together.
   */
  sweep(target: SweepTarget): Promise<number> {
    return new Promise((done) => {
      this.#sweeps.add({ ...target, endsAt: performance.now() + SWEEP_LIMIT_MS, done });
      if (this.#sweeps.size === 1) setImmediate(() => this.#look());
    });
  }

  /** To be called when all sessions are swept. */
  close(): void {
    this.#forgetExit?.();
    this.#cgroup?.remove();
    this.#cgroup = undefined;
  }

  #look(): void {
    const before = performance.now();
    for (const [sweep, survivors] of this.#broom.sweepOnce(this.#sweeps)) {
      if (survivors > 0 && performance.now() < sweep.endsAt) continue;
      this.#sweeps.delete(sweep);
      sweep.done(survivors);
    }
    // on a machine full of processes a look takes long: it has no more than a third of this process's time
    const pause = Math.max(SETTLE_MS, 2 * (performance.now() - before));
    if (this.#sweeps.size > 0) setTimeout(() => this.#look(), pause);
  }

  #makeCgroup(): void {
    try {
      this.#cgroup = Cgroup.make(this.#cookies.server.replace(/-$/, ''));
    } catch (error) {
      this.log.debug({ err: error }, 'no cgroups here: the sweep goes by /proc alone');
    }
  }

  #sweepAll(): void {
    const everything = {
      groups: this.#groups,
      cookie: this.#cookies.server,
      cgroup: this.#cgroup,
      found: new Map(),
    };
    this.#broom.sweepNow(everything, SWEEP_LIMIT_MS);
    this.#cgroup?.remove();
  }
}
