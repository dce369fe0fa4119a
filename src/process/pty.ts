import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import type { OutputLog } from '../output/log.js';
import type { Child, ChildEvents } from './child.js';
import { PtyInput } from './input.js';
import type { Launch } from './launch.js';
import { findPerl, relayArguments } from './relay.js';
import { Source } from './source.js';
import { tasksLeft } from './tasks.js';

/**
 * node-pty's native part, without its JavaScript: that forces TERM and PWD into the environment, loses the
 * end of the output, and reads, writes and closes in its own way (docs/design.md). Not public API:
 * hence the pinned version, and the check of its shape.
 */
type PtyBinding = {
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helper: string,
    onExit: (code: number, signal: number) => void,
  ): { readonly fd: number; readonly pid: number; readonly pty: string };
  resize(master: number, cols: number, rows: number, widthPixels: number, heightPixels: number): void;
};

type Loaded = { readonly binding: PtyBinding; readonly helper: string };

const hasMembers = <K extends string>(value: unknown, ...names: K[]): value is Record<K, unknown> =>
  typeof value === 'object' && value !== null && names.every((name) => name in value);

const isBinding = (value: unknown): value is PtyBinding =>
  hasMembers(value, 'fork', 'resize') &&
  typeof value.fork === 'function' &&
  typeof value.resize === 'function';

let loaded: Loaded | undefined;

/** Loads the native part at the first PTY: a server that runs pipes only never pays for it. */
const load = (): Loaded => {
  if (loaded !== undefined) return loaded;
  const require = createRequire(import.meta.url);
  const utils: unknown = require('node-pty/lib/utils.js');
  if (!hasMembers(utils, 'loadNativeModule') || typeof utils.loadNativeModule !== 'function') {
    throw new Error('node-pty has changed: it has no loadNativeModule; install the pinned version');
  }
  const native: unknown = utils.loadNativeModule('pty');
  if (!hasMembers(native, 'dir', 'module') || !isBinding(native.module) || typeof native.dir !== 'string') {
    throw new Error(
      'node-pty has changed: its native part has no fork and resize; install the pinned version',
    );
  }
  // macOS forks by a program of node-pty's own
  const helper = path.resolve(path.dirname(require.resolve('node-pty')), native.dir, 'spawn-helper');
  loaded = { binding: native.module, helper };
  return loaded;
};

/** Masters that are open now: whoever forks without node-pty must close them in the child. */
const masters = new Set<number>();

/** Descriptors that a child of child_process would inherit. */
export const inheritableDescriptors = (): ReadonlySet<number> => masters;

const signalName = (number: number): NodeJS.Signals | null => {
  const found = Object.entries(os.constants.signals).find(([, value]) => value === number);
  return found === undefined ? null : isSignal(found[0]) ? found[0] : null;
};

const isSignal = (name: string): name is NodeJS.Signals => name in os.constants.signals;

/** forkpty says no more than that it failed; opening as many descriptors tells whether that was the reason. */
const needDescriptors = (count: number): void => {
  const opened: number[] = [];
  try {
    for (let i = 0; i < count; i++) opened.push(fs.openSync('/dev/null', 'r'));
  } finally {
    for (const descriptor of opened) fs.closeSync(descriptor);
  }
};

/** Master, slave of forkpty, slave held. */
const DESCRIPTORS = 3;

/** node-pty makes a thread for each child, and where there is none left for it the whole server aborts. */
const needTasks = (count: number): void => {
  if (tasksLeft() < count) throw Object.assign(new Error('no tasks are left'), { code: 'EAGAIN' });
};

/** The child, and the thread that waits for it. */
const TASKS = 2;

const commandLine = (launch: Launch, file: string): { file: string; args: string[]; env: string[] } => {
  const [program = '', ...args] = launch.argv;
  if (launch.arg0 === undefined || launch.arg0 === program) {
    // execvp(3) finds it again, in the child's PATH
    return { file: program, args, env: [...launch.env].map(([name, value]) => `${name}=${value}`) };
  }
  const perl = findPerl();
  if (perl === undefined)
    throw new Error('arg0 in a PTY needs perl, and there is none in the PATH of the server');
  return { file: perl, args: relayArguments(launch, file, []), env: [] };
};

/** Starts a child in a PTY: leader of a session of its own, which the PTY is the terminal of. Throws. */
export const spawnPty = (launch: Launch, file: string, log: OutputLog, events: ChildEvents): Child => {
  const { binding, helper } = load();
  needDescriptors(DESCRIPTORS);
  needTasks(TASKS);
  const command = commandLine(launch, file);
  const { rows, cols } = launch.size;
  const onExit = (code: number, signal: number): void =>
    events.exited(
      signal === 0
        ? { exitCode: code, signal: null }
        : { exitCode: 128 + signal, signal: signalName(signal) },
    );
  const forked = binding.fork(
    command.file,
    command.args,
    command.env,
    launch.cwd,
    cols,
    rows,
    -1,
    -1,
    true,
    helper,
    onExit,
  );
  const master = forked.fd;
  masters.add(master);
  // held open while the child lives: a child that closes its terminal and opens it again later (/dev/tty)
  // would otherwise hang it up, and what comes after is lost
  let slave: number | undefined = fs.openSync(forked.pty, fs.constants.O_RDWR | fs.constants.O_NOCTTY);
  const release = (): void => {
    if (slave !== undefined) fs.closeSync(slave);
    slave = undefined;
  };
  const source = new Source(master, 'tty', 'pty', log, () => {
    masters.delete(master);
    input.destroy();
    release();
    events.sourceEnded();
  });
  const input = new PtyInput(master);
  return {
    pid: forked.pid,
    input,
    sources: [source],
    resize: (newRows, newCols) => {
      if (masters.has(master)) binding.resize(master, newCols, newRows, 0, 0);
    },
    release,
  };
};
