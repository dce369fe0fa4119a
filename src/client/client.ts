import type { EnvironmentInfo, Params, ProcessSummary, Result } from '../protocol.js';
import { ErrorCode } from '../rpc.js';
import { after, within } from './deadline.js';
import {
  ClosedError,
  InitializeTimeoutError,
  MaxBufferError,
  ServerError,
  StdinClosedError,
} from './errors.js';
import { textDecoder } from './output.js';
import { OUTPUT_WINDOW, RemoteProcess, type StartOptions } from './remote-process.js';
import { RpcClient } from './rpc-client.js';
import type { ExitStatus, ProcessNotice } from './sequencer.js';
import type { Transport } from './transport.js';

/** How long things may take that nobody should wait long for, in milliseconds. */
const DEFAULT_TIMEOUT_MS = 10_000;

/** Where programs are on every system, for processes whose environment isn't given. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What terminals on the other side of a client nearly always are. */
const DEFAULT_TERM = 'xterm-256color';

/** The server's deadline comes so much after the client's own, which tells more: for a client that is gone by then. */
const BACKSTOP_MS = 1_000;

/** Output that `run` keeps for each stream if it isn't told otherwise. */
const DEFAULT_MAX_BUFFER = 64 * 1024 * 1024;

export type InitializeOptions = {
  /** For the server's log. */
  readonly clientName?: string;
  /** Milliseconds for the answer to initialize; default 10,000. */
  readonly initializeTimeout?: number;
};

export type RunOptions = Omit<StartOptions, 'argv' | 'pipeStdin'> & {
  /** For its stdin, which ends after it. Default: stdin is at end of file. */
  readonly input?: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** Bytes of stdout, and of stderr, that are kept; more terminates it. Default 64 MiB. */
  readonly maxBuffer?: number;
};

export type RunResult = ExitStatus & {
  readonly stdout: string;
  readonly stderr: string;
};

export type RunBytesResult = ExitStatus & {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
};

/**
 * A session on an exec-server. This part knows no transport and none of Node's modules; index.ts adds the
 * ways to connect.
 */
export class ClientCore implements AsyncDisposable {
  /** Every method of the protocol, typed, and its notifications as events. */
  readonly rpc: RpcClient;
  readonly sessionId: string;
  /** Shell, directories and platform of the server's machine. */
  readonly environmentInfo: EnvironmentInfo;
  readonly #processes = new Map<string, RemoteProcess>();
  /** Keeps ids of processes apart from those of an earlier client of the session. */
  readonly #idPrefix: string;
  #started = 0;

  /** @param isResumed another client began the session */
  protected constructor(
    rpc: RpcClient,
    { sessionId, environmentInfo }: Result<'initialize'>,
    isResumed: boolean,
  ) {
    this.#idPrefix = isResumed ? `process-${globalThis.crypto.randomUUID().slice(0, 8)}` : 'process';
    this.rpc = rpc;
    this.sessionId = sessionId;
    this.environmentInfo = environmentInfo;
    rpc.on('output', ({ processId, seq, stream, chunk }) =>
      this.#notify(processId, { kind: 'output', seq, stream, data: chunk.data }),
    );
    rpc.on('exited', ({ processId, seq, exitCode, signal, reason = null }) =>
      this.#notify(processId, { kind: 'exited', seq, exitCode, signal, reason }),
    );
    rpc.on('closed', ({ processId, seq }) => this.#notify(processId, { kind: 'closed', seq }));
    rpc.on('resumed', () => {
      for (const remote of this.#processes.values()) remote.resumed();
    });
    rpc.on('disconnected', (error) => {
      for (const remote of this.#processes.values()) remote.disconnected(error);
    });
  }

  /** Speaks the handshake. Ends the transport if it fails. */
  protected static async handshake(
    transport: Transport,
    { clientName = 'exec-server client', initializeTimeout = DEFAULT_TIMEOUT_MS }: InitializeOptions,
  ): Promise<{ rpc: RpcClient; result: Result<'initialize'> }> {
    const rpc = new RpcClient(transport);
    const late = (): Error =>
      new InitializeTimeoutError(`the server did not answer initialize within ${initializeTimeout} ms`);
    try {
      const result = await within(initializeTimeout, rpc.call('initialize', { clientName }), late);
      rpc.notifyInitialized();
      return { rpc, result };
    } catch (error) {
      await rpc.close();
      throw error;
    }
  }

  /**
   * Starts a process. Rejects with ServerError if it can't be started; `error.message` says why.
   *
   * @example
   * await using process = await client.start({ argv: ['make', '-j8'], cwd: '/src' });
   * for await (const text of process.stdout.text()) show(text);
   * const { exitCode } = await process.exit;
   */
  async start(options: StartOptions): Promise<RemoteProcess> {
    const { signal, processId = this.#newProcessId() } = options;
    signal?.throwIfAborted();
    if (this.rpc.ended !== undefined) throw this.rpc.ended;
    if (this.#processes.has(processId)) {
      // as the server would say; but its notifications have to go to one of them
      const message = `process ${processId} already exists`;
      throw new ServerError('process/start', { code: ErrorCode.invalidRequest, message });
    }
    const remote = this.#add(processId, () => stopWatching());
    const stopWatching = this.#watch(remote, options);
    try {
      // an abort is not kept waiting by a server that doesn't answer
      await Promise.race([remote.begin(this.#startParams(processId, options)), remote.exit]);
    } catch (error) {
      stopWatching();
      this.#processes.delete(processId);
      throw error;
    }
    return remote;
  }

  /**
   * A process that this session has already: with all of its output that is retained, and with its end, if it
   * has ended. `droppedBytes` tells how much of the beginning is gone. Rejects with ServerError if there is
   * no such process.
   *
   * @example
   * const client = await ExecServerClient.connectWebSocket({ url, sessionId });
   * const process = await client.attach('process-1');
   * for await (const text of process.stdout.text()) show(text);
   */
  async attach(processId: string): Promise<RemoteProcess> {
    if (this.rpc.ended !== undefined) throw this.rpc.ended;
    const remote = this.#processes.get(processId) ?? this.#add(processId, () => undefined);
    try {
      await remote.attach();
    } catch (error) {
      this.#processes.delete(processId);
      throw error;
    }
    return remote;
  }

  /** The processes of the session: those that run, and those that have ended and are still readable. */
  async list(): Promise<readonly ProcessSummary[]> {
    const { processes } = await this.rpc.call('process/list', {});
    return processes;
  }

  /**
   * Runs a program to its end. A program that fails is no error here: look at `exitCode`. Output is text
   * (UTF-8); `runBytes` has it as bytes.
   *
   * @example
   * const { stdout } = await client.run(['git', 'rev-parse', 'HEAD'], { cwd: '/src' });
   */
  async run(argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
    const result = await this.runBytes(argv, options);
    const decoder = textDecoder();
    return { ...result, stdout: decoder.decode(result.stdout), stderr: decoder.decode(result.stderr) };
  }

  /** Runs a program to its end, with its output as bytes. In a terminal all of it is stdout. */
  async runBytes(argv: readonly string[], options: RunOptions = {}): Promise<RunBytesResult> {
    const { input, maxBuffer = DEFAULT_MAX_BUFFER, ...start } = options;
    const remote = await this.start({ ...start, argv, pipeStdin: input !== undefined });
    // not waited for: the program may end without having read it all
    if (input !== undefined) void feed(remote, input);
    const collected = {
      stdout: new Collector('stdout', maxBuffer),
      stderr: new Collector('stderr', maxBuffer),
    };
    try {
      for await (const { stream, data } of remote.output) {
        collected[stream === 'stderr' ? 'stderr' : 'stdout'].add(data);
      }
      const status = await remote.exit;
      return { ...status, stdout: collected.stdout.bytes(), stderr: collected.stderr.bytes() };
    } catch (error) {
      await remote[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Ends the session: the server kills everything that runs in it. Resolves when all is over. */
  async close(): Promise<void> {
    await this.rpc.close();
  }

  /**
   * Ends the connection and leaves the session with its processes, for `connectWebSocket({ url, sessionId })`
   * within the server's `--detached-ttl` (90 s). Resolves with the session's id. Everything that waits rejects
   * with ClosedError. Rejects with TypeError if the client was not connected to resume.
   */
  async detach(): Promise<string> {
    await this.rpc.detach();
    return this.sessionId;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #add(processId: string, onGone: () => void): RemoteProcess {
    const remote = new RemoteProcess(this.rpc, processId, () => {
      onGone();
      this.#processes.delete(processId);
    });
    this.#processes.set(processId, remote);
    return remote;
  }

  #newProcessId(): string {
    let processId: string;
    do processId = `${this.#idPrefix}-${++this.#started}`;
    while (this.#processes.has(processId));
    return processId;
  }

  #startParams(processId: string, options: StartOptions): Params<'process/start'> {
    const { argv, cwd, env, tty = false, size, pipeStdin, arg0, outputBytesCap } = options;
    const { timeoutMs, idleTimeoutMs } = options;
    return {
      processId,
      argv: [...argv],
      cwd: cwd ?? this.environmentInfo.cwd,
      env: new Map(Object.entries(env ?? this.#defaultEnv(tty))),
      tty,
      arg0,
      pipeStdin,
      envPolicy: undefined,
      outputBytesCap,
      timeoutMs: timeoutMs === undefined ? undefined : Math.ceil(timeoutMs) + BACKSTOP_MS,
      idleTimeoutMs: idleTimeoutMs === undefined ? undefined : Math.ceil(idleTimeoutMs),
      outputWindow: OUTPUT_WINDOW,
      size,
      sandbox: undefined,
      enforceManagedNetwork: undefined,
      networkProxy: undefined,
    };
  }

  #defaultEnv(tty: boolean): Record<string, string> {
    const home = decodeURIComponent(new URL(this.environmentInfo.userHomeDir).pathname);
    return { PATH: DEFAULT_PATH, HOME: home, ...(tty ? { TERM: DEFAULT_TERM } : {}) };
  }

  #notify(processId: string, notice: ProcessNotice): void {
    this.#processes.get(processId)?.accept(notice);
  }

  /** Ends the process when it is aborted or its time is over; the function returned stops that. */
  #watch(remote: RemoteProcess, { argv, signal, timeoutMs }: StartOptions): () => void {
    const abort = (): void => remote.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    const late = (): void =>
      remote.abort(new DOMException(`${argv[0]} ran for more than ${timeoutMs} ms`, 'TimeoutError'));
    const cancel = timeoutMs === undefined ? undefined : after(timeoutMs, late);
    return () => {
      signal?.removeEventListener('abort', abort);
      cancel?.();
    };
  }
}

/** Writes all input and ends it. A program that doesn't want all of it is no error; input that fails ends it. */
const feed = async (remote: RemoteProcess, input: NonNullable<RunOptions['input']>): Promise<void> => {
  try {
    if (typeof input === 'string' || input instanceof Uint8Array) await remote.write(input);
    else for await (const data of input) await remote.write(data);
    await remote.end();
  } catch (error) {
    if (!(error instanceof StdinClosedError || error instanceof ClosedError)) remote.abort(error);
  }
};

/** Output of one stream, up to a limit. */
class Collector {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(
    private readonly name: string,
    private readonly limit: number,
  ) {}

  add(data: Uint8Array): void {
    this.#length += data.length;
    if (this.#length > this.limit) {
      throw new MaxBufferError(
        `more than ${this.limit} bytes on ${this.name}; raise maxBuffer, or read the output of start()`,
      );
    }
    this.#chunks.push(data);
  }

  bytes(): Uint8Array {
    const all = new Uint8Array(this.#length);
    let end = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, end);
      end += chunk.length;
    }
    return all;
  }
}
