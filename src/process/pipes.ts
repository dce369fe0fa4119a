import { type StdioOptions, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import type { OutputLog } from '../output/log.js';
import type { Child, ChildEvents, ExitStatus } from './child.js';
import type { FifoEnds, Fifos } from './fifos.js';
import { PipeInput } from './input.js';
import type { Launch } from './launch.js';
import { inheritableDescriptors } from './pty.js';
import { findPerl, relayArguments } from './relay.js';
import { Source } from './source.js';

/** FIFOs that one child can need: stdin, stdout, stderr. */
export const FIFOS_PER_CHILD = 3;

type Command = { file: string; args: string[]; argv0: string; env: NodeJS.ProcessEnv };

const commandLine = (launch: Launch, file: string): Command => {
  const [program = '', ...args] = launch.argv;
  const descriptors = inheritableDescriptors();
  const perl = descriptors.size > 0 ? findPerl() : undefined;
  return perl === undefined
    ? { file, args, argv0: launch.arg0 ?? program, env: Object.fromEntries(launch.env) }
    : { file: perl, args: relayArguments(launch, file, descriptors), argv0: 'perl', env: {} };
};

const statusOf = (code: number | null, signal: NodeJS.Signals | null): ExitStatus => ({
  exitCode: signal === null ? (code ?? 0) : 128 + os.constants.signals[signal],
  signal,
});

/**
 * Starts a child with pipes: leader of a session of its own, without a terminal. Throws the system's error.
 *
 * @param fifos FIFOS_PER_CHILD of them
 */
export const spawnPipes = (
  launch: Launch,
  file: string,
  fifos: Fifos,
  log: OutputLog,
  events: ChildEvents,
): Child => {
  const opened: FifoEnds[] = [];
  const open = (ends: FifoEnds): FifoEnds => {
    opened.push(ends);
    return ends;
  };
  const closeAll = (side: keyof FifoEnds): void => {
    for (const ends of opened) fs.closeSync(ends[side]);
  };
  let process: ReturnType<typeof spawn>;
  let stdin: FifoEnds | undefined;
  let stdout: FifoEnds;
  let stderr: FifoEnds;
  try {
    stdin = launch.pipeStdin ? open(fifos.openInput()) : undefined;
    stdout = open(fifos.openOutput());
    stderr = open(fifos.openOutput());
    const { file: program, args, argv0, env } = commandLine(launch, file);
    const stdio: StdioOptions = [stdin?.theirs ?? 'ignore', stdout.theirs, stderr.theirs];
    process = spawn(program, args, { argv0, cwd: launch.cwd, env, detached: true, stdio });
  } catch (error) {
    closeAll('ours');
    throw error;
  } finally {
    closeAll('theirs');
  }
  if (process.pid === undefined) {
    closeAll('ours');
    // the same error comes as an event, too
    throw new SpawnFailed(process);
  }
  // a signal that can't be sent; whoever sends one looks at the group, not at this object
  process.on('error', () => undefined);
  process.once('exit', (code, signal) => events.exited(statusOf(code, signal)));
  const source = (ends: FifoEnds, stream: 'stdout' | 'stderr'): Source =>
    new Source(ends.ours, 'pipe', stream, log, () => events.sourceEnded());
  return {
    pid: process.pid,
    input: stdin && new PipeInput(stdin.ours, () => events.inputBroken()),
    sources: [source(stdout, 'stdout'), source(stderr, 'stderr')],
    resize: undefined,
    release: () => undefined,
  };
};

/** child_process tells why it could not start a child by an event, after this. */
export class SpawnFailed extends Error {
  readonly reason: Promise<Error>;

  constructor(process: ReturnType<typeof spawn>) {
    super('spawn failed');
    this.reason = new Promise((resolve) => {
      process.once('error', resolve);
    });
  }
}
