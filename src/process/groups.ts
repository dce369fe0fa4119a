import { atExit } from './at-exit.js';
import type { Cgroup } from './cgroup.js';
import type { SessionCookies } from './cookie.js';
import type { Guard } from './guard.js';
import { errorCode } from './launch.js';
import { startTimeOf } from './process-table.js';
import type { Sweeper } from './sweeper.js';

const send = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // ESRCH: nobody there. EPERM: somebody is, but changed its user; it can't be reached
    return errorCode(error) === 'EPERM';
  }
};

/** The process group that one child leads: it, and all of its descendants that did not leave it. */
export class ProcessGroup {
  /** Of its leader, in ticks; undefined where there is no /proc. */
  readonly startTime: number | undefined;
  /** Of its leader and all descendants, whether or not they left the group. */
  readonly cookie: string | undefined;
  /** The same, held by the kernel. */
  readonly cgroup: Cgroup | undefined;
  /** Descendants that a sweep has found, by pid, with their start times. */
  readonly found = new Map<number, number>();
  #reaped = false;
  #isEmpty = false;
  readonly #forgetExit: () => void;

  /** @param leader pid of the child, which is also the id of its group and session */
  constructor(
    readonly leader: number,
    {
      startTime = startTimeOf(leader),
      cookie,
      cgroup,
    }: {
      readonly startTime?: number;
      readonly cookie?: string | undefined;
      readonly cgroup?: Cgroup | undefined;
    } = {},
  ) {
    this.startTime = startTime;
    this.cookie = cookie;
    this.cgroup = cgroup;
    // the last resort: however this process ends, whatever became of its actors, its children end before it
    this.#forgetExit = atExit(() => this.kill());
  }

  /**
   * Sends a signal to all in the group. Right after the fork the child has no group of its own yet (7–12 %
   * of tries): then the child alone gets it.
   */
  signal(signal: NodeJS.Signals): void {
    if (this.#isEmpty || this.#isForeign()) return;
    if (!send(-this.leader, signal) && !this.#reaped) send(this.leader, signal);
  }

  kill(): void {
    this.signal('SIGKILL');
  }

  /** The child was waited for. Its pid may now be another's, unless the group still has members. */
  reaped(): void {
    this.#reaped = true;
  }

  /** The child was waited for, and nobody else is in the group. It stays so: the number is a stranger's then. */
  get isEmpty(): boolean {
    this.#isEmpty ||= this.#reaped && (!send(-this.leader, 0) || this.#isForeign());
    return this.#isEmpty;
  }

  /** It is not killed any more when this process exits. */
  release(): void {
    this.#forgetExit();
  }

  /**
   * A pid is not given away while a group of that number exists. So if there is another process with its pid,
   * the group is gone and the number belongs to a stranger.
   */
  #isForeign(): boolean {
    if (this.startTime === undefined) return this.#reaped && send(this.leader, 0);
    const startTime = startTimeOf(this.leader);
    return startTime !== undefined && startTime !== this.startTime;
  }
}

/** What all sessions of a server have for the ends of their processes. */
export type Custody = {
  /** Kills the groups when the server was killed. */
  readonly guard: Guard;
  /** With `--sweep`. */
  readonly sweeper: Sweeper | undefined;
};

/** The groups of one session. Those that outlive their child are kept until the session ends. */
export class SessionGroups {
  readonly #groups = new Set<ProcessGroup>();
  readonly #guard: Guard | undefined;
  readonly #sweeper: Sweeper | undefined;
  #cookies: SessionCookies | undefined;
  #ended: Promise<void> = Promise.resolve();

  /** @param custody without it groups are killed by this process alone */
  constructor({ guard, sweeper }: Partial<Custody> = {}) {
    this.#guard = guard;
    this.#sweeper = sweeper;
  }

  /** Are processes found and killed that have left their group? */
  get sweeps(): boolean {
    return this.#sweeper !== undefined;
  }

  /** Resolves when the sweep that `end` began is over. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** For the environment of one child; undefined: nothing is added to that. */
  nextCookie(): string | undefined {
    this.#cookies ??= this.#sweeper?.session();
    return this.#cookies?.next();
  }

  /** To be called before the fork of a child. */
  prepare(): void {
    this.#guard?.start();
  }

  /**
   * @param leader was forked just now
   * @param cookie that of its environment
   */
  add(leader: number, cookie?: string): ProcessGroup {
    const cgroup = cookie === undefined ? undefined : this.#sweeper?.enclose(cookie, leader);
    const group = new ProcessGroup(leader, { cookie, cgroup });
    this.#guard?.add(group);
    this.#sweeper?.add(group);
    this.#groups.add(group);
    return group;
  }

  /** The child of a group was waited for. */
  reaped(group: ProcessGroup): void {
    group.reaped();
    if (group.isEmpty) this.#guard?.remove(group);
  }

  /**
   * Kills a group; with a sweep also what has left it.
   *
   * @returns how many are still alive: 0 if there is no sweep, which alone could know
   */
  async kill(group: ProcessGroup): Promise<number> {
    const { cookie, found } = group;
    if (this.#sweeper !== undefined && cookie !== undefined) {
      return this.#sweeper.sweep({ groups: [group], cookie, found });
    }
    group.kill();
    return 0;
  }

  /** Forgets a group whose child has ended, if nobody is left of it. */
  forget(group: ProcessGroup): void {
    if (!group.isEmpty || group.cgroup?.remove() === false) return;
    group.release();
    this.#guard?.remove(group);
    this.#sweeper?.forget(group);
    this.#groups.delete(group);
  }

  /** Kills all of them; with a sweep also what has left them, and what processes that ended before have left. */
  end(): void {
    const cookie = this.#cookies?.prefix;
    if (this.#sweeper !== undefined && cookie !== undefined) this.#ended = this.#sweep(this.#sweeper, cookie);
    else {
      for (const group of this.#groups) group.kill();
      this.#forgetAll();
    }
  }

  async #sweep(sweeper: Sweeper, cookie: string): Promise<void> {
    await sweeper.sweep({ groups: this.#groups, cookie, found: new Map() });
    this.#forgetAll();
  }

  #forgetAll(): void {
    for (const group of this.#groups) this.forget(group);
  }

  toJSON(): object {
    return { groups: this.#groups.size };
  }
}
