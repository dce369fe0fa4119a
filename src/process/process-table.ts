import fs from 'node:fs';
import { COOKIE_NAME } from './cookie.js';
import { readKernelFile } from './kernel-file.js';

/** One process as /proc/PID/stat tells of it (proc(5)). */
export type Entry = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since the start of the machine: with the pid, it is one process's alone. */
  readonly startTime: number;
  /** It has ended, and only waits for its parent. */
  readonly isZombie: boolean;
};

/** @returns undefined: there is no such process, or no /proc */
export const readEntry = (pid: number): Entry | undefined => {
  const stat = readKernelFile(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // the name of the program comes before, in parentheses, and may hold anything
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 20);
  const [state, parent, group, session] = fields;
  // a leader that has ended while threads of it go on looks like a zombie, too
  const isZombie = state === 'X' || (state === 'Z' && Number(fields[17]) <= 1);
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime: Number(fields[19]),
    isZombie,
  };
};

/** @returns undefined: there is no such process, or no /proc */
export const startTimeOf = (pid: number): number | undefined => readEntry(pid)?.startTime;

/** Can processes be looked at here? (Linux, with /proc mounted.) */
export const hasProcessTable = (): boolean => startTimeOf(process.pid) !== undefined;

/** The cookie in a process's environment; of a stranger's environment nothing is kept. */
const readCookie = (pid: number, prefix: string): string | undefined => {
  const environment = readKernelFile(`/proc/${pid}/environ`);
  if (environment === undefined) return undefined;
  const variable = `${COOKIE_NAME}=`;
  const at = `\0${environment}`.indexOf(`\0${variable}${prefix}`);
  return at === -1 ? undefined : environment.slice(at + variable.length).split('\0', 1)[0];
};

/** The cookies that were read, by pid. Handed from one table to the next: they stay known. */
export type KnownCookies = ReadonlyMap<number, { readonly startTime: number; readonly cookie: string }>;

const index = (entries: Iterable<Entry>, key: 'parent' | 'group' | 'session'): Map<number, Entry[]> => {
  const found = new Map<number, Entry[]>();
  for (const entry of entries) {
    const same = found.get(entry[key]);
    if (same === undefined) found.set(entry[key], [entry]);
    else same.push(entry);
  }
  return found;
};

/**
 * All processes of the machine at one moment. Reading 600 takes 3 ms, and the environments of those that are
 * younger than the server (no other can have a cookie of it) as much again, once.
 */
export class ProcessTable {
  readonly cookies: KnownCookies;
  readonly #byParent: Map<number, Entry[]>;
  readonly #byGroup: Map<number, Entry[]>;
  readonly #bySession: Map<number, Entry[]>;

  private constructor(
    readonly entries: ReadonlyMap<number, Entry>,
    cookies: KnownCookies,
  ) {
    this.cookies = cookies;
    this.#byParent = index(entries.values(), 'parent');
    this.#byGroup = index(entries.values(), 'group');
    this.#bySession = index(entries.values(), 'session');
  }

  /**
   * Throws the system's error if /proc can't be read.
   *
   * @param prefix cookies that begin so are looked for
   * @param since no process that started before, in ticks, has one
   */
  static read(prefix: string, since: number, known: KnownCookies = new Map()): ProcessTable {
    const entries = new Map<number, Entry>();
    const cookies = new Map<number, { readonly startTime: number; readonly cookie: string }>();
    for (const name of fs.readdirSync('/proc')) {
      const pid = Number(name);
      const entry = Number.isInteger(pid) ? readEntry(pid) : undefined;
      if (entry === undefined) continue;
      entries.set(pid, entry);
      if (entry.startTime < since) continue;
      const before = known.get(pid);
      const cookie = before?.startTime === entry.startTime ? before.cookie : readCookie(pid, prefix);
      if (cookie !== undefined) cookies.set(pid, { startTime: entry.startTime, cookie });
    }
    return new ProcessTable(entries, cookies);
  }

  childrenOf(pid: number): readonly Entry[] {
    return this.#byParent.get(pid) ?? [];
  }

  /** The members of a process group and of a session of this number. */
  ledBy(pid: number): readonly Entry[] {
    return [...(this.#byGroup.get(pid) ?? []), ...(this.#bySession.get(pid) ?? [])];
  }
}
