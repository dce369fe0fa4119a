import { once } from 'node:events';
import type { Incoming, TestClient } from '../support/client.js';
import { eventually, hasEnded } from '../support/processes.js';
import { outlastSession, resume } from './sessions.js';

/** One connection to a real server, and all that can happen to it. */
export class ConnectionWorld {
  client: TestClient;
  sessionId = '';
  #pid: number | undefined;

  constructor(
    client: TestClient,
    /** Where its server listens; undefined: over stdio. */
    readonly url: string | undefined,
    /** The server, where it has no other client. */
    readonly server: TestClient['server'],
    /** A URL at which nobody answers. */
    readonly nobody: string,
  ) {
    this.client = client;
  }

  /** A process that ends with its session. */
  async start(processId: string): Promise<void> {
    await this.client.start(processId, ['sleep', '300']);
    const [one] = await this.client.list();
    this.#pid = one?.pid ?? undefined;
  }

  get isProcessThere(): boolean {
    return this.#pid !== undefined && !hasEnded(this.#pid);
  }

  async gone(): Promise<void> {
    await eventually(() => !this.isProcessThere, 'the end of the process');
  }

  /** On a new wire; `initialized` is not sent yet. Resolves with why it can't be. */
  async resume(): Promise<Incoming['error']> {
    const { client, error } = await resume(this.url ?? '', this.sessionId);
    this.client = client;
    return error;
  }

  async outlastSession(): Promise<void> {
    await outlastSession(this.url ?? '');
  }

  async endServer(): Promise<void> {
    if (this.server === undefined) throw new Error('others use this server, too');
    const ended = once(this.server, 'exit');
    this.server.kill('SIGTERM');
    await ended;
  }
}
