import type { Cgroup } from './cgroup.js';
import type { ProcessGroup } from './groups.js';
import { type Entry, type KnownCookies, ProcessTable, readEntry } from './process-table.js';

/** What is to be left without a process: one process's tree, a session's, or a server's. */
export type SweepTarget = {
  readonly groups: Iterable<ProcessGroup>;
  /** Whoever has a cookie that begins so belongs to it. */
  readonly cookie: string;
  /** Around the cgroups of its groups. */
  readonly cgroup?: Cgroup | undefined;
  /** Start times of those that belonged to it when it was last looked at: they do, wherever they have gone. */
  readonly found: Map<number, number>;
};

/**
 * Who belongs to a target: its groups and the sessions of their leaders, those with its cookie, those found
 * before; and the descendants of all these, with the groups and sessions that they lead.
 *
 * @param spared are never members
 */
export const membersOf = (
  table: ProcessTable,
  { groups, cookie, found }: SweepTarget,
  spared: ReadonlySet<number>,
): Entry[] => {
  const members = new Map<number, Entry>();
  const add = (entry: Entry | undefined): void => {
    if (entry !== undefined && !spared.has(entry.pid)) members.set(entry.pid, entry);
  };
  for (const { leader, startTime } of groups) {
    const entry = table.entries.get(leader);
    // its number has gone to a stranger, and so have the group and the session of that number
    if (entry !== undefined && startTime !== undefined && entry.startTime !== startTime) continue;
    add(entry);
    for (const member of table.ledBy(leader)) add(member);
  }
  for (const [pid, startTime] of found) {
    const entry = table.entries.get(pid);
    if (entry?.startTime === startTime) add(entry);
  }
  for (const [pid, known] of table.cookies) {
    if (known.cookie.startsWith(cookie)) add(table.entries.get(pid));
  }
  // a Map goes on with what is added to it meanwhile
  for (const { pid } of members.values()) {
    for (const entry of [...table.childrenOf(pid), ...table.ledBy(pid)])
      if (!members.has(entry.pid)) add(entry);
  }
  return [...members.values()];
};

const killProcess = ({ pid, startTime }: Entry): void => {
  // the table is some milliseconds old
  if (readEntry(pid)?.startTime !== startTime) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // gone; or another user's by now, and then it counts as a survivor
  }
};

/** Looks at all processes again and again, and kills those that belong to its targets. */
export class Broom {
  /** Never killed: the first process of the machine, this one, and its guard. */
  readonly spared = new Set([1, process.pid]);
  #cookies: KnownCookies = new Map();

  /**
   * @param prefix of all cookies of this server
   * @param since when this server was started, in ticks
   */
  constructor(
    private readonly prefix: string,
    private readonly since: number,
  ) {}

  /**
   * Looks once. Everyone is looked up before anyone is killed: orphans lose their parent.
   *
   * @returns for each target how many were alive, and have been sent SIGKILL now
   */
  sweepOnce<T extends SweepTarget>(targets: Iterable<T>): Map<T, number> {
    const table = this.#look();
    const alive = new Map<T, number>();
    const seen = [...targets].map((target) => ({
      target,
      members: table === undefined ? [] : membersOf(table, target, this.spared),
    }));
    for (const { target, members } of seen) {
      const living = members.filter(({ isZombie }) => !isZombie);
      const pids = new Set(living.map(({ pid }) => pid));
      // first what the kernel does in one step
      for (const cgroup of [target.cgroup, ...[...target.groups].map((group) => group.cgroup)]) {
        for (const pid of cgroup?.pids() ?? []) pids.add(pid);
        cgroup?.kill();
      }
      for (const group of target.groups) {
        group.kill();
        // without a table there is nothing to go by, but that it has to be looked at again
        if (table === undefined) pids.add(group.leader);
      }
      target.found.clear();
      for (const entry of living) {
        target.found.set(entry.pid, entry.startTime);
        killProcess(entry);
      }
      alive.set(target, pids.size);
    }
    return alive;
  }

  /** Undefined: no descriptor is left to look with, just now. */
  #look(): ProcessTable | undefined {
    try {
      const table = ProcessTable.read(this.prefix, this.since, this.#cookies);
      this.#cookies = table.cookies;
      return table;
    } catch {
      return undefined;
    }
  }

  /** Sweeps until nobody is left, without giving way to anything else; `limitMs` at most. */
  sweepNow(target: SweepTarget, limitMs: number): void {
    const end = performance.now() + limitMs;
    const nobody = new Int32Array(new SharedArrayBuffer(4));
    while (this.sweepOnce([target]).get(target) !== 0 && performance.now() < end) {
      Atomics.wait(nobody, 0, 0, SETTLE_MS);
    }
  }
}

/** What is killed needs some time to be gone: so long is waited before the next look, at least. */
export const SETTLE_MS = 2;

/** Then who is still there won't go: it is in a system call that can't be interrupted. */
export const SWEEP_LIMIT_MS = 1_000;
