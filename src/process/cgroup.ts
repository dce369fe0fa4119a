import fs from 'node:fs';
import path from 'node:path';

/** Begins the names of the directories that a server makes. */
const PREFIX = 'exec-server-';

/** Spaces and the like are written as octal numbers there (proc(5), mountinfo). */
const unescaped = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** The directory of the cgroup that this process is in, in the v2 hierarchy. Throws the system's error. */
const ownDirectory = (): string | undefined => {
  const own = /^0::(.*)$/m.exec(fs.readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
  if (own === undefined) return undefined;
  for (const line of fs.readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [mount = '', kind = ''] = line.split(' - ');
    if (!kind.startsWith('cgroup2 ')) continue;
    const [, , , root = '', at = ''] = mount.split(' ').map(unescaped);
    // what is mounted may be a part of the hierarchy
    const below = path.posix.relative(root, own);
    if (!below.startsWith('..')) return path.posix.join(at, below);
  }
  return undefined;
};

const subdirectories = (directory: string): string[] =>
  fs
    .readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(directory, name));

/** Removes a cgroup and those below it, which nobody may be in any more. Throws the system's error. */
const removeDirectory = (directory: string): void => {
  for (const below of subdirectories(directory)) removeDirectory(below);
  fs.rmdirSync(directory);
};

/** A cgroup of the v2 hierarchy. No descendant of its members leaves it but by writing to the hierarchy. */
export class Cgroup {
  constructor(readonly directory: string) {}

  /**
   * Makes a cgroup for all processes of one server, below the one that the server is in. Throws if the server
   * may not, or where the kernel (before 5.14) has no `cgroup.kill`.
   *
   * @param name that of no other server
   */
  static make(name: string): Cgroup {
    const own = ownDirectory();
    if (own === undefined) throw new Error('no cgroup v2 hierarchy is mounted');
    const made = new Cgroup(path.join(own, `${PREFIX}${name}`));
    fs.mkdirSync(made.directory);
    try {
      fs.accessSync(made.#file('kill'), fs.constants.W_OK);
      return made;
    } catch (error) {
      made.remove();
      throw error;
    }
  }

  /** Moves a process, with what it forks from now on, into a cgroup of its own below this. Throws the system's error. */
  enclose(name: string, pid: number): Cgroup {
    const made = new Cgroup(path.join(this.directory, name));
    fs.mkdirSync(made.directory);
    try {
      fs.writeFileSync(made.#file('procs'), String(pid));
      return made;
    } catch (error) {
      made.remove();
      throw error;
    }
  }

  /** SIGKILL to all in it and below it, at once: none can fork away. */
  kill(): void {
    try {
      fs.writeFileSync(this.#file('kill'), '1');
    } catch {
      // removed: nobody is in it
    }
  }

  /** Who is in it and below it; zombies are not. */
  pids(): number[] {
    try {
      if (!fs.readFileSync(this.#file('events'), 'latin1').includes('populated 1')) return [];
      const inside = fs.readFileSync(this.#file('procs'), 'latin1').split('\n').filter(Boolean).map(Number);
      return [...inside, ...subdirectories(this.directory).flatMap((below) => new Cgroup(below).pids())];
    } catch {
      return []; // removed
    }
  }

  /** Removes it, if nobody is in it. Says whether it is gone. */
  remove(): boolean {
    try {
      removeDirectory(this.directory);
    } catch {
      return !fs.existsSync(this.directory);
    }
    return true;
  }

  #file(name: 'kill' | 'procs' | 'events'): string {
    return path.join(this.directory, `cgroup.${name}`);
  }
}
