import { isLeft } from 'fp-ts/lib/Either.js';
import { fromCallback } from 'xstate';
import type { Bytes } from '../base64.js';
import type { Metrics } from '../metrics.js';
import type { OutputLog } from '../output/log.js';
import type { SignalName } from '../protocol.js';
import { ChildAccount } from './account.js';
import type { Child, ChildEvents, ExitStatus } from './child.js';
import { COOKIE_NAME } from './cookie.js';
import type { FifoPool, Fifos } from './fifos.js';
import type { ProcessGroup, SessionGroups } from './groups.js';
import { type Launch, type LaunchFailure, launchFailure } from './launch.js';
import { FIFOS_PER_CHILD, SpawnFailed, spawnPipes } from './pipes.js';
import type { Places } from './places.js';
import { preflight } from './preflight.js';
import { spawnPty } from './pty.js';
import type { Turns } from './turns.js';

/** What the children of one session share, and with those of other sessions. */
export class ProcessHost {
  readonly groups: SessionGroups;
  readonly fifos: FifoPool;
  readonly turns: Turns;
  readonly places: Places;
  readonly metrics: Metrics;

  constructor(members: Omit<ProcessHost, 'toJSON' | 'sweeps'>) {
    this.groups = members.groups;
    this.fifos = members.fifos;
    this.turns = members.turns;
    this.places = members.places;
    this.metrics = members.metrics;
  }

  /** Is what a process leaves behind found and killed, too, and counted? */
  get sweeps(): boolean {
    return this.groups.sweeps;
  }

  toJSON(): object {
    return this.groups.toJSON();
  }
}

export type ChildInput = { readonly launch: Launch; readonly log: OutputLog; readonly host: ProcessHost };

/** What the process machine asks of its child. */
export type ChildCommand =
  | { readonly type: 'write'; readonly chunk: Bytes }
  | { readonly type: 'endStdin' }
  | { readonly type: 'signal'; readonly signal: SignalName }
  | { readonly type: 'kill' }
  | { readonly type: 'resize'; readonly rows: number; readonly cols: number }
  | { readonly type: 'closeOutput' }
  | { readonly type: 'watchOutput' }
  /** Whoever asked all this is gone, and could not stop the child. */
  | { readonly type: 'abandon' };

/** What the child tells its process machine. */
export type ChildEvent =
  | { readonly type: 'child.spawned'; readonly pid: number }
  | { readonly type: 'child.failed'; readonly failure: LaunchFailure }
  /** Reaped; all that it left in its pipes or PTY is in the log. */
  | ({ readonly type: 'child.exited' } & ExitStatus)
  /** It has exited, and its output is at end of file. */
  | { readonly type: 'child.closed' }
  /** After a kill, if the server sweeps: so many processes of its tree are left. */
  | { readonly type: 'child.swept'; readonly survivors: number }
  /** The first write that waits was accepted, or refused. */
  | { readonly type: 'child.wrote' }
  | { readonly type: 'child.refusedWrite' }
  | { readonly type: 'child.stdinBroken' };

type Told = ChildEvent | { readonly type: 'output.appended' };

const signals: Readonly<Record<SignalName, NodeJS.Signals>> = {
  interrupt: 'SIGINT',
  terminate: 'SIGTERM',
  hangup: 'SIGHUP',
  quit: 'SIGQUIT',
  kill: 'SIGKILL',
  user1: 'SIGUSR1',
  user2: 'SIGUSR2',
  stop: 'SIGSTOP',
  continue: 'SIGCONT',
  windowChange: 'SIGWINCH',
};

/**
 * One child for one process machine: starts it when its turn comes, does what the machine asks, tells what
 * happens. Ends it when it is stopped.
 */
class ChildRunner implements ChildEvents {
  #leaveLine: (() => void) | undefined;
  readonly #leavePlace: () => void;
  #child: Child | undefined;
  #group: ProcessGroup | undefined;
  #exited = false;
  #openSources = 0;
  #stopped = false;
  readonly #account: ChildAccount;

  constructor(
    private readonly launch: Launch,
    private readonly log: OutputLog,
    private readonly host: ProcessHost,
    private readonly tell: (event: Told) => void,
  ) {
    this.#account = new ChildAccount(host.metrics, log);
    this.#leavePlace = host.places.take();
  }

  /** Never throws: whatever goes wrong is told as `child.failed`. */
  async start(): Promise<void> {
    let fifos: Fifos | undefined;
    try {
      if (!this.launch.tty) fifos = await this.host.fifos.take(FIFOS_PER_CHILD);
    } catch (error) {
      // it is not the program that is missing
      this.#fail({
        ...launchFailure('make the FIFOs of the process (mkfifo)', error),
        kind: 'spawnFailed',
      });
      return;
    }
    if (this.#stopped) {
      fifos?.release();
      return;
    }
    const leave = this.host.turns.enter(() => void this.#spawn(fifos));
    this.#leaveLine = () => {
      if (leave()) fifos?.release();
    };
  }

  /** @param fifos undefined: in a PTY */
  async #spawn(fifos: Fifos | undefined): Promise<void> {
    try {
      const cookie = this.host.groups.nextCookie();
      const launch = cookie === undefined ? this.launch : this.launch.with(COOKIE_NAME, cookie);
      const file = preflight(launch);
      if (isLeft(file)) {
        this.#fail(file.left);
        return;
      }
      this.host.groups.prepare();
      const child =
        fifos === undefined
          ? spawnPty(launch, file.right, this.log, this)
          : spawnPipes(launch, file.right, fifos, this.log, this);
      this.#child = child;
      this.#openSources = child.sources.length;
      this.#group = this.host.groups.add(child.pid, cookie);
      this.log.throttle({
        pause: () => {
          this.#account.paused.start();
          child.sources.forEach((source) => source.pause());
        },
        resume: () => {
          this.#account.paused.stop();
          child.sources.forEach((source) => source.resume());
        },
      });
      this.#account.started(child.sources);
      this.tell({ type: 'child.spawned', pid: child.pid });
    } catch (error) {
      this.#fail(
        launchFailure('start the process', error instanceof SpawnFailed ? await error.reason : error),
      );
    } finally {
      fifos?.release();
    }
  }

  exited(status: ExitStatus): void {
    this.#account.exited();
    if (this.#group !== undefined) this.host.groups.reaped(this.#group);
    this.#child?.input?.destroy();
    this.#drain();
    this.#child?.release();
    // without its last holder a PTY now says that it is at its end
    this.#drain();
    if (this.#stopped) {
      this.#forgetGroup();
      this.#leavePlace();
    }
    // from here on: sources that ended before are told of after it
    this.#exited = true;
    this.tell({ type: 'child.exited', ...status });
    if (this.#openSources === 0) this.#close();
  }

  sourceEnded(): void {
    this.#openSources--;
    if (this.#openSources === 0) this.#account.paused.stop();
    if (this.#openSources === 0 && this.#exited) this.#close();
  }

  inputBroken(): void {
    this.tell({ type: 'child.stdinBroken' });
  }

  handle(command: ChildCommand): void {
    switch (command.type) {
      case 'write':
        this.#write(command.chunk);
        break;
      case 'endStdin':
        this.#child?.input?.end();
        break;
      case 'signal':
        this.#group?.signal(signals[command.signal]);
        break;
      case 'kill':
        void this.#kill();
        break;
      case 'resize':
        this.#child?.resize?.(command.rows, command.cols);
        break;
      case 'closeOutput':
        this.#drain();
        this.#child?.sources.forEach((source) => source.destroy());
        break;
      case 'watchOutput':
        this.log.onNextAppend(() => this.tell({ type: 'output.appended' }));
        break;
      case 'abandon':
        this.stop();
        break;
    }
  }

  /** The process machine is over: so is the child. */
  stop(): void {
    this.#stopped = true;
    this.#leaveLine?.();
    if (this.#child !== undefined && !this.#exited) void this.#kill();
    this.#child?.input?.destroy();
    this.#child?.sources.forEach((source) => source.destroy());
    this.#child?.release();
    if (this.#exited) this.#forgetGroup();
    this.#account.close();
    // one that was killed has its place until it is reaped
    if (this.#exited || this.#child === undefined) this.#leavePlace();
  }

  async #kill(): Promise<void> {
    if (this.#group === undefined) return;
    const survivors = await this.host.groups.kill(this.#group);
    if (this.host.sweeps && !this.#stopped) this.tell({ type: 'child.swept', survivors });
  }

  #write(chunk: Bytes): void {
    const input = this.#child?.input;
    const answer = (accepted: boolean): void => {
      if (accepted) this.#account.accepted(chunk.data.length);
      this.tell({ type: accepted ? 'child.wrote' : 'child.refusedWrite' });
    };
    if (input === undefined) answer(false);
    else input.write(chunk.data, answer);
  }

  #drain(): void {
    this.#child?.sources.forEach((source) => source.drain());
  }

  #forgetGroup(): void {
    if (this.#group !== undefined) this.host.groups.forget(this.#group);
  }

  #close(): void {
    this.#leavePlace();
    // retained is what it wrote, for long; its sockets and all around them took as much again
    this.#account.sourcesEnded();
    this.#child = undefined;
    this.tell({ type: 'child.closed' });
  }

  #fail(failure: LaunchFailure): void {
    this.#leavePlace();
    if (this.#stopped) return;
    this.#account.failed(failure);
    this.tell({ type: 'child.failed', failure });
  }
}

/** The implementation of the process machine's `child`. */
export const childActor = fromCallback<ChildCommand, ChildInput>(({ input, sendBack, receive }) => {
  const runner = new ChildRunner(input.launch, input.log, input.host, sendBack);
  receive((command) => runner.handle(command));
  void runner.start();
  return () => runner.stop();
});
