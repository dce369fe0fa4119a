import { atExit } from './at-exit.js';
import { errorCode } from './launch.js';

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
  #reaped = false;
  readonly #forgetExit: () => void;

  /** @param leader pid of the child, which is also the id of its group and session */
  constructor(readonly leader: number) {
    // the last resort: however this process ends, whatever became of its actors, its children end before it
    this.#forgetExit = atExit(() => this.kill());
  }

  /**
   * Sends a signal to all in the group. Right after the fork the child has no group of its own yet (7–12 %
   * of tries): then the child alone gets it.
   */
  signal(signal: NodeJS.Signals): void {
    if (this.#isForeign()) return;
    if (!send(-this.leader, signal) && !this.#reaped) send(this.leader, signal);
  }

  kill(): void {
    this.signal('SIGKILL');
  }

  /** The child was waited for. Its pid may now be another's, unless the group still has members. */
  reaped(): void {
    this.#reaped = true;
  }

  /** Is nobody left? Then it is forgotten. */
  isEmpty(): boolean {
    if (!this.#reaped || (!this.#isForeign() && send(-this.leader, 0))) return false;
    this.#forgetExit();
    return true;
  }

  /**
   * A pid is not given away while a group of that number exists. So if the child was reaped and there is a
   * process with its pid, the group is gone and the number belongs to a stranger.
   */
  #isForeign(): boolean {
    return this.#reaped && send(this.leader, 0);
  }
}

/** The groups of one session. Those that outlive their child are kept until the session ends. */
export class SessionGroups {
  readonly #groups = new Set<ProcessGroup>();

  add(leader: number): ProcessGroup {
    const group = new ProcessGroup(leader);
    this.#groups.add(group);
    return group;
  }

  /** Forgets a group whose child has ended, if nobody is left in it. */
  forget(group: ProcessGroup): void {
    if (group.isEmpty()) this.#groups.delete(group);
  }

  /** Kills all of them. */
  end(): void {
    for (const group of this.#groups) {
      group.kill();
      this.forget(group);
    }
  }

  toJSON(): object {
    return { groups: this.#groups.size };
  }
}
