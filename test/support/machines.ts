import { createActor, fromCallback, SimulatedClock, type SnapshotFrom } from 'xstate';
import {
  type ConnectionEmitted,
  type ConnectionEvent,
  type ConnectionInput,
  connectionMachine,
} from '../../machines/connection.js';
import { processMachine } from '../../machines/process.js';
import { Metrics } from '../../src/metrics.js';
import type { LogReader } from '../../src/output/log.js';
import { type ChildCommand, type ChildEvent, type ChildInput, ProcessHost } from '../../src/process/actor.js';
import { FifoPool } from '../../src/process/fifos.js';
import { SessionGroups } from '../../src/process/groups.js';
import { Places } from '../../src/process/places.js';
import { Turns } from '../../src/process/turns.js';
import type { EnvironmentInfo, Stream } from '../../src/protocol.js';
import { ServerState } from '../../src/server-state.js';
import { initialize, type StartOptions, startEvent } from './requests.js';

/** As the server's default. */
export const RETENTION_MS = 30_000;
export const DETACHED_TTL_MS = 90_000;

export const environmentInfo: EnvironmentInfo = {
  shell: { name: 'sh', path: '/bin/sh' },
  executorVersion: '1.2.3',
  cwd: 'file:///',
  userHomeDir: 'file:///root',
  tempDir: 'file:///tmp',
  temporaryDirectories: ['file:///tmp'],
  platformOs: 'linux',
  capabilities: {},
};

/** Counts how often the session's groups are ended. */
class CountedGroups extends SessionGroups {
  ends = 0;

  constructor(private readonly sweeping: boolean) {
    super();
  }

  override get sweeps(): boolean {
    return this.sweeping;
  }

  override end(): void {
    this.ends++;
    super.end();
  }
}

/** A simulated clock that keeps the delays it is asked for, and knows which of them still wait. */
class RecordingClock extends SimulatedClock {
  readonly delays: number[] = [];
  readonly #waiting = new Set<number>();

  override setTimeout(fire: () => void, delay: number): number {
    this.delays.push(delay);
    const id = super.setTimeout(() => {
      this.#waiting.delete(id);
      fire();
    }, delay);
    this.#waiting.add(id);
    return id;
  }

  override clearTimeout(id: number): void {
    this.#waiting.delete(id);
    super.clearTimeout(id);
  }

  get waiting(): number {
    return this.#waiting.size;
  }
}

/** Somebody to whom all output must be sent, and who takes none by itself. */
export const reader: LogReader = { onUnsent: () => undefined };

/** In place of a child: keeps what the process machine asks for, and tells it what the test wants. */
export class StubChild {
  readonly commands: ChildCommand[] = [];
  stopped = false;
  /** If set, it crashes with this at the next command. */
  fault: Error | undefined;

  constructor(
    readonly input: ChildInput,
    private readonly sendBack: (event: ChildEvent | { readonly type: 'output.appended' }) => void,
  ) {}

  handle(command: ChildCommand): void {
    if (this.fault !== undefined) throw this.fault;
    // what the real one does; the rest is for the test to see
    if (command.type === 'watchOutput') {
      this.input.log.onNextAppend(() => this.sendBack({ type: 'output.appended' }));
    } else this.commands.push(command);
  }

  tells(event: ChildEvent): void {
    this.sendBack(event);
  }

  prints(text: string, stream: Stream = 'stdout'): void {
    const bytes = Buffer.from(text);
    this.input.log.append(stream, bytes, bytes.length);
  }

  exits(exitCode = 0, signal: NodeJS.Signals | null = null): void {
    this.tells({ type: 'child.exited', exitCode, signal });
  }

  closes(): void {
    this.tells({ type: 'child.closed' });
  }
}

/** What a connection is made with; no child of it is ever started. */
export const connectionInput = (
  retentionMs = RETENTION_MS,
  { sweeps = false, places = new Places(Infinity, 'full') } = {},
): ConnectionInput & { groups: CountedGroups } => {
  const groups = new CountedGroups(sweeps);
  return {
    groups,
    sessionId: 'session 1',
    protocolVersion: 'exec-server.v0',
    environmentInfo,
    host: new ProcessHost({
      groups,
      fifos: new FifoPool(),
      turns: new Turns(),
      places,
      metrics: new Metrics(),
    }),
    server: new ServerState(() => []),
    retentionMs,
    detachedTtlMs: DETACHED_TTL_MS,
  };
};

/** An answer as a test compares it. That to a read holds what its client would get. */
const answerOf = (emitted: ConnectionEmitted): object => {
  if (emitted.type === 'reply') {
    const { type: _, ...answer } = emitted;
    return answer;
  }
  if (emitted.type !== 'reply.output') return emitted;
  const { id, log, afterSeq, maxBytes, exitCode, signal, reason, closed } = emitted;
  const { chunks, nextSeq } = log.page(afterSeq, maxBytes ?? Infinity, maxBytes !== undefined);
  const output = chunks.map(({ seq, block, start, length }) => [
    seq,
    block.bytes.toString('latin1', start, start + length),
  ]);
  // most end by themselves
  const ending = reason === null || reason === 'exited' ? {} : { signal, reason };
  return { id, output, nextSeq, exitCode, ...ending, closed };
};

type ChildStub = (child: StubChild) => void;

/** A connection that is ready, with children that are stubs and a clock that stands still. */
export class Session {
  readonly clock = new RecordingClock();
  readonly input: ReturnType<typeof connectionInput>;
  readonly children: StubChild[] = [];
  readonly #answers: object[] = [];
  readonly #actor;

  /** @param onChild is called when a child is made; what it throws is thrown there */
  constructor({
    retentionMs = RETENTION_MS,
    resumable = false,
    onChild,
    ...host
  }: {
    retentionMs?: number;
    resumable?: boolean;
    sweeps?: boolean;
    places?: Places;
    onChild?: ChildStub;
  } = {}) {
    const child = fromCallback<ChildCommand, ChildInput>(({ input, sendBack, receive }) => {
      const stub = new StubChild(input, sendBack);
      this.children.push(stub);
      onChild?.(stub);
      receive((command) => stub.handle(command));
      return () => {
        stub.stopped = true;
      };
    });
    const machine = connectionMachine.provide({
      actors: { process: processMachine.provide({ actors: { child } }) },
    });
    this.input = connectionInput(retentionMs, host);
    this.#actor = createActor(machine, { input: this.input, clock: this.clock });
    this.#actor.on('*', (emitted) => this.#answers.push(answerOf(emitted)));
    this.#actor.start();
    this.send(initialize('initialize', { resumable }));
    this.send({ type: 'initialized' });
    this.answers();
  }

  send(event: ConnectionEvent): void {
    this.#actor.send(event);
  }

  /** Sends a request, and answers what came of it. */
  ask(event: ConnectionEvent): object[] {
    this.answers();
    this.send(event);
    return this.answers();
  }

  /** All that was emitted since the last call. */
  answers(): object[] {
    return this.#answers.splice(0);
  }

  /** A process that is still starting; without its child nothing comes of it. */
  begin(processId: string, options: StartOptions = {}): StubChild {
    const count = this.children.length;
    this.send(startEvent(processId, options));
    const child = this.children[count];
    if (child === undefined) throw new Error(`${processId} was not started`);
    return child;
  }

  /** A process that runs. */
  run(processId: string, options: StartOptions = {}): StubChild {
    const child = this.begin(processId, options);
    child.tells({ type: 'child.spawned', pid: 4242 });
    this.answers();
    return child;
  }

  /** The snapshot of a process whose id is taken. */
  snapshotOf(processId: string): SnapshotFrom<typeof processMachine> {
    const ref = this.#actor.getSnapshot().context.processes.get(processId);
    if (ref === undefined) throw new Error(`${processId} is not known`);
    return ref.getSnapshot();
  }

  /** `starting`, `running`, `exited` or `retained`; undefined: the id is free. */
  stateOf(processId: string): string | undefined {
    const { processes } = this.#actor.getSnapshot().context;
    const value = processes.get(processId)?.getSnapshot().value;
    if (value === undefined || typeof value === 'string') return value;
    return typeof value.live === 'string' ? value.live : Object.keys(value.live).join();
  }

  /** The state value of the connection. */
  get state(): unknown {
    return this.#actor.getSnapshot().value;
  }

  /** How many processes it knows, and how many actors it keeps. */
  get kept(): { processes: number; actors: number } {
    const { context, children } = this.#actor.getSnapshot();
    return { processes: context.processes.size, actors: Object.keys(children).length };
  }
}
