import { Bytes } from '../base64.js';
import type { Params, Result, SignalName } from '../protocol.js';
import { after } from './deadline.js';
import { StdinClosedError, OutputLostError } from './errors.js';
import { OutputBuffer, type OutputChunk, OutputStream } from './output.js';
import type { RpcClient } from './rpc-client.js';
import { type ExitStatus, firstSeq, type ProcessNotice, Sequencer } from './sequencer.js';

export type StartOptions = {
  /** The program and its arguments. A program without a slash is looked up in the PATH of `env`. */
  readonly argv: readonly string[];
  /** A path or `file:` URI on the server's machine. Default: the server's own directory. */
  readonly cwd?: string;
  /** All of its environment. Default: a plain PATH, the server's HOME, and in a terminal a TERM. */
  readonly env?: Readonly<Record<string, string>>;
  /** In a terminal (PTY). Default: in pipes. */
  readonly tty?: boolean;
  /** Size of the terminal; default 24 × 80. */
  readonly size?: { readonly rows: number; readonly cols: number };
  /** In pipes: stdin can be written to. Default: it is at end of file from the start. */
  readonly pipeStdin?: boolean;
  /** What the program sees as its name. */
  readonly arg0?: string;
  /** Bytes of output that the server retains for process/read. Default 1 MiB, at most 64 MiB. */
  readonly outputBytesCap?: number;
  /** Aborted, it terminates the process; everything rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Milliseconds until the process is terminated, and everything rejects with a TimeoutError. Counted here,
   * and by the server, too, whatever becomes of the connection.
   */
  readonly timeoutMs?: number;
  /** The same for the time without output and input; counted by the server. */
  readonly idleTimeoutMs?: number;
  /** The process's key in this session. Default: one that was not used before. */
  readonly processId?: string;
};

export type TerminateOptions = { readonly signal?: SignalName; readonly graceMs?: number };

/** Bytes of output on their way before the readers here have taken some; the process waits then. */
export const OUTPUT_WINDOW = 1024 * 1024;

/** An acknowledgement is sent for this much: few of them, and the window never runs dry. */
const ACKNOWLEDGE_BYTES = OUTPUT_WINDOW / 4;

/** A longer write is sent in pieces, so that it never fills a message and waits where the child waits. */
const WRITE_BYTES = 1024 * 1024;

const encoder = new TextEncoder();

/** A process on the other side. Ends with its session; `await using` terminates it at the end of a block. */
export class RemoteProcess implements AsyncDisposable {
  /** Everything it prints, in order, with the names of the streams. */
  readonly output: AsyncIterable<OutputChunk>;
  /** What it prints on stdout; all of it, in a terminal. */
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Resolves when it has exited; its last output may come later, from its descendants. */
  readonly exit: Promise<ExitStatus>;
  /** Resolves when it has exited and all of its output has come. */
  readonly closed: Promise<void>;

  readonly #rpc: RpcClient;
  readonly #buffer: OutputBuffer;
  readonly #sequencer: Sequencer;
  #settleExit: (status: ExitStatus) => void = () => undefined;
  #rejectExit: (error: unknown) => void = () => undefined;
  #settleClosed: () => void = () => undefined;
  #rejectClosed: (error: unknown) => void = () => undefined;
  /** Nothing will be told about it any more: it is closed, or the connection is. */
  readonly #gone: Promise<void>;
  #settleGone: () => void = () => undefined;
  #isGone = false;
  #writing: Promise<void> = Promise.resolve();
  #writes = 0;
  /** Keeps write ids apart from those of a client that wrote to it before. */
  #writer = '';
  #attaching: Promise<void> | undefined;
  #droppedBytes = 0;
  #acknowledges = false;
  #failure: unknown;
  /** Bytes of its output that were taken here, and how many of them the server knows of. */
  #taken = 0;
  #acknowledged = 0;

  /**
   * Made by `client.start` and `client.attach`.
   *
   * @param onGone nothing more will be told about it
   */
  constructor(
    rpc: RpcClient,
    readonly processId: string,
    private readonly onGone: () => void,
  ) {
    this.#rpc = rpc;
    const read = (afterSeq: number) => this.#read(afterSeq);
    this.#buffer = new OutputBuffer(read, (bytes) => this.#acknowledge(bytes));
    this.#sequencer = new Sequencer({
      notice: (notice) => this.#take(notice),
      read,
      lost: (seq) =>
        this.#buffer.fail(
          new OutputLostError(`output of ${processId} up to number ${seq} was lost on the way`),
        ),
    });
    this.output = this.#buffer;
    this.stdout = new OutputStream(this.#buffer, new Set(['stdout', 'pty']));
    this.stderr = new OutputStream(this.#buffer, new Set(['stderr']));
    this.exit = new Promise((resolve, reject) => {
      this.#settleExit = resolve;
      this.#rejectExit = reject;
    });
    this.closed = new Promise((resolve, reject) => {
      this.#settleClosed = resolve;
      this.#rejectClosed = reject;
    });
    this.#gone = new Promise((resolve) => {
      this.#settleGone = resolve;
    });
    // whoever doesn't wait for them need not handle their rejection
    this.exit.catch(() => undefined);
    this.closed.catch(() => undefined);
  }

  /**
   * Bytes of the beginning that were not retained any more when it was attached: readers begin after them.
   * 0 for a process that was started here.
   */
  get droppedBytes(): number {
    return this.#droppedBytes;
  }

  /**
   * Writes to its stdin or terminal; resolves when the server has taken all, and bytes may not be changed
   * before that. Writes never overtake each other. Rejects with StdinClosedError if nobody reads it.
   */
  write(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === 'string' ? encoder.encode(data) : data;
    return this.#inTurn(async () => {
      for (let start = 0; start === 0 || start < bytes.length; start += WRITE_BYTES) {
        await this.#writePiece(bytes.subarray(start, start + WRITE_BYTES));
      }
    });
  }

  /** End of file on its stdin, after what was written. */
  end(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#rpc.call('process/closeStdin', { processId: this.processId });
    });
  }

  /** A new size for its terminal. */
  async resize(rows: number, cols: number): Promise<void> {
    await this.#rpc.call('process/resize', { processId: this.processId, rows, cols });
  }

  /** A signal to its process group. */
  async signal(signal: SignalName): Promise<void> {
    await this.#rpc.call('process/signal', { processId: this.processId, signal });
  }

  /**
   * Kills its process group: at once, or `graceMs` (5,000) after a signal (`'terminate'`) that lets it end by
   * itself. Resolves with whether it was still running.
   */
  async terminate({ signal, graceMs }: TerminateOptions = {}): Promise<boolean> {
    this.#buffer.flow();
    const params = { processId: this.processId, signal, graceMs };
    const { running } = await this.#rpc.call('process/terminate', params);
    return running;
  }

  /** Terminates it, and waits until it is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    // refused only if the connection is gone, and the process with it
    if (!this.#isGone) await this.terminate().catch(() => undefined);
    await this.#gone;
  }

  /** @internal For the client: starts it. */
  async begin(params: Params<'process/start'>): Promise<void> {
    this.#attaching = Promise.resolve();
    const { outputWindow } = await this.#rpc.call('process/start', params);
    this.#acknowledges = outputWindow !== undefined;
    this.#acknowledge(0);
  }

  /** @internal For the client: takes it up where its session has it. */
  attach(): Promise<void> {
    return (this.#attaching ??= this.#takeUp());
  }

  /** @internal For the client: something was told about it. */
  accept(notice: ProcessNotice): void {
    this.#sequencer.accept(notice);
  }

  /** @internal For the client: the connection was another one for a while. */
  resumed(): void {
    void this.#sequencer.catchUp();
  }

  /** @internal For the client: the connection is over. Everything that waits rejects with this. */
  disconnected(error: Error): void {
    this.#fail(error);
    this.#leave();
  }

  /** @internal For the client: kills it. Everything that waits rejects with this reason. */
  abort(reason: unknown): void {
    if (this.#isGone) return;
    this.#fail(reason);
    // refused only if the connection is gone, and the process with it
    this.terminate().catch(() => undefined);
  }

  /** @internal Why it failed, if it did. */
  get failure(): unknown {
    return this.#failure;
  }

  #read(afterSeq: number): Promise<Result<'process/read'>> {
    return this.#rpc.call('process/read', { processId: this.processId, afterSeq, maxBytes: OUTPUT_WINDOW });
  }

  async #takeUp(): Promise<void> {
    this.#writer = `${globalThis.crypto.randomUUID().slice(0, 8)}-`;
    this.#sequencer.hold();
    const answer = await this.#read(0);
    this.#droppedBytes = answer.droppedBytes;
    // of no effect for a process without a window; what was dropped was taken by somebody else
    this.#acknowledges = true;
    this.#taken = answer.droppedBytes;
    this.#acknowledged = answer.droppedBytes;
    const leave = this.#buffer.beginAfter(firstSeq(answer) - 1);
    this.#sequencer.begin(answer);
    // readers that begin as soon as this resolves see it all, however fast it prints
    after(0, leave);
  }

  #fail(reason: unknown): void {
    this.#failure ??= reason;
    this.#rejectExit(reason);
    this.#rejectClosed(reason);
    this.#buffer.fail(reason);
  }

  #leave(): void {
    this.#isGone = true;
    this.#settleGone();
    this.onGone();
  }

  #take(notice: ProcessNotice): void {
    switch (notice.kind) {
      case 'output':
        this.#buffer.push(notice);
        break;
      case 'exited':
        this.#buffer.exited(notice.seq);
        this.#takeExit(notice);
        break;
      case 'closed':
        this.#buffer.end();
        this.#settleClosed();
        this.#leave();
        break;
    }
  }

  #takeExit({ exitCode, signal, reason }: ExitStatus): void {
    if (reason === 'timeout' || reason === 'idle') {
      const what = reason === 'timeout' ? 'ran for too long' : 'was quiet for too long';
      this.#fail(new DOMException(`${this.processId} ${what}`, 'TimeoutError'));
    }
    this.#settleExit({ exitCode, signal, reason });
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(task);
    // one that fails must not keep the next from failing by itself
    this.#writing = done.catch(() => undefined);
    return done;
  }

  async #writePiece(piece: Uint8Array): Promise<void> {
    const writeId = `${this.#writer}${++this.#writes}`;
    const { processId } = this;
    const { status } = await this.#rpc.call('process/write', { processId, chunk: new Bytes(piece), writeId });
    if (status !== 'accepted') {
      throw new StdinClosedError(
        `${processId} can't be written to: it has ended or closed its stdin, or was started without pipeStdin`,
      );
    }
  }

  #acknowledge(bytes: number): void {
    this.#taken += bytes;
    if (!this.#acknowledges || this.#taken - this.#acknowledged < ACKNOWLEDGE_BYTES) return;
    this.#acknowledged = this.#taken;
    // refused only when the process or the connection is gone: then it doesn't matter
    this.#rpc.call('process/ack', { processId: this.processId, bytes: this.#taken }).catch(() => undefined);
  }
}
