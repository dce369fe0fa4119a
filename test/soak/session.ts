import { createHash, type Hash } from 'node:crypto';
import type { WebSocket } from 'ws';
import { type CheckingClient, overWebSocket, type Told } from '../support/checking-client.js';
import { cookie } from '../support/environment.js';

/** How a process ended, and what it has printed: so many bytes, with this SHA-256. */
export type End = {
  readonly bytes: number;
  readonly sha256: string;
  readonly exitCode: unknown;
  readonly signal: unknown;
};

type Progress = {
  bytes: number;
  readonly hash: Hash;
  exit: Told;
  onBytes: () => void;
  readonly onClosed: (end: End) => void;
};

export type SoakProcess = {
  readonly processId: string;
  /** Resolves with the close. */
  readonly ended: Promise<End>;
  /** Resolves when it has printed so many bytes. */
  readonly printed: (bytes: number) => Promise<void>;
};

const env = { PATH: '/usr/bin:/bin', ...cookie };

/** A connection to the server under load, with the processes that are followed on it. */
export class Session {
  readonly #processes = new Map<string, Progress>();
  #started = 0;
  #acknowledge = false;

  private constructor(
    private readonly ends: { readonly client: CheckingClient; readonly socket: WebSocket },
    readonly id: string,
  ) {}

  /** @param params of initialize */
  static async open(url: string, params: object = {}): Promise<Session> {
    let told: ((method: string, params: Told) => void) | undefined;
    const ends = await overWebSocket(url, (method, about) => told?.(method, about));
    const session = new Session(ends, await ends.client.initialize(params));
    told = (method, about) => session.#told(method, about);
    return session;
  }

  get client(): CheckingClient {
    return this.ends.client;
  }

  get socket(): WebSocket {
    return this.ends.socket;
  }

  /** From now on what comes is acknowledged, for processes with an outputWindow. */
  acknowledgeAll(): void {
    this.#acknowledge = true;
  }

  async start(argv: readonly string[], more: object = {}): Promise<SoakProcess> {
    const processId = `p${++this.#started}`;
    const process = this.follow(processId);
    await this.client.request('process/start', { processId, argv, cwd: '/', env, tty: false, ...more });
    return process;
  }

  /** Follows a process that another connection has started, from now on. */
  adopt(processId: string): SoakProcess {
    this.client.sequences.adopt(processId);
    return this.follow(processId);
  }

  async write(processId: string, bytes: Uint8Array): Promise<void> {
    const chunk = Buffer.from(bytes).toString('base64');
    await this.client.request('process/write', { processId, chunk });
  }

  /** Ends the connection, and says what it has seen that must not be. */
  async end(how: 'end' | 'cut' = 'end'): Promise<void> {
    await this.client[how]();
    const [fault] = this.client.faults;
    if (fault !== undefined) throw new Error(fault);
  }

  private follow(processId: string): SoakProcess {
    const ended = new Promise<End>((onClosed) => {
      const hash = createHash('sha256');
      this.#processes.set(processId, { bytes: 0, hash, exit: {}, onBytes: () => undefined, onClosed });
    });
    const printed = async (bytes: number): Promise<void> =>
      new Promise((resolve) => {
        const process = this.#processes.get(processId);
        if (process === undefined || process.bytes >= bytes) resolve();
        else
          process.onBytes = () => {
            if (process.bytes >= bytes) resolve();
          };
      });
    return { processId, ended, printed };
  }

  #told(method: string, params: Told): void {
    const processId = String(params['processId']);
    const process = this.#processes.get(processId);
    if (process === undefined) return;
    if (method === 'process/output') {
      const bytes = Buffer.from(String(params['chunk']), 'base64');
      process.bytes += bytes.length;
      process.hash.update(bytes);
      process.onBytes();
      if (this.#acknowledge) void this.client.call('process/ack', { processId, bytes: process.bytes });
    } else if (method === 'process/exited') process.exit = params;
    else {
      const { exitCode, signal } = process.exit;
      process.onClosed({ bytes: process.bytes, sha256: process.hash.digest('hex'), exitCode, signal });
      this.#processes.delete(processId);
    }
  }
}
