import { lineFraming } from '../../src/wire/framing.js';
import type { Wire, WireEvents } from '../../src/wire/wire.js';
import { cookie } from './environment.js';

const OUTPUT = Buffer.from('{"method":"process/output"');

const CHUNK = '"chunk":"';
const PADDING = 0x3d;

/** Without decoding it, which would be in what is counted. */
const decodedLength = (base64: Buffer): number => {
  const padding = base64.at(-2) === PADDING ? 2 : base64.at(-1) === PADDING ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
};

type Message = {
  readonly id?: number;
  readonly error?: { readonly message: string };
  readonly method?: string;
  readonly params?: { readonly processId: string };
};

/**
 * A wire in this process that takes all at once and keeps nothing: it counts output notifications, and reads the
 * other messages. Whoever is behind it costs next to nothing, so what is counted is the server's.
 */
export class CountingWire implements Wire {
  readonly name = 'counting';
  readonly framing = lineFraming;
  readonly canResume = false;
  /** Output notifications, the output in them, and their length with all that is around it. */
  notifications = 0;
  outputBytes = 0;
  notifiedBytes = 0;
  #events: WireEvents | undefined;
  #id = 0;
  readonly #waiting = new Map<string, (message: Message) => void>();

  open(events: WireEvents): void {
    this.#events = events;
  }

  write(bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length;) {
      const end = bytes.indexOf(10, at);
      if (end < 0) throw new Error('a write that ends amid a message');
      this.#message(bytes.subarray(at, end));
      at = end + 1;
    }
    return true;
  }

  async initialize(): Promise<void> {
    await this.call('initialize', { clientName: 'test' });
    this.#events?.message('{"method":"initialized"}');
  }

  async call(method: string, params: object): Promise<void> {
    const id = ++this.#id;
    const answered = this.#waitFor(`answer ${id}`);
    this.#events?.message(JSON.stringify({ id, method, params }));
    const { error } = await answered;
    if (error !== undefined) throw new Error(error.message);
  }

  /** Runs a program, and resolves when it is closed. */
  async run(processId: string, argv: readonly string[], tty = false): Promise<void> {
    const closed = this.#waitFor(`process/closed ${processId}`);
    const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...cookie };
    await this.call('process/start', { processId, argv, cwd: '/', env, tty });
    await closed;
  }

  pause(): void {}
  resume(): void {}
  close(reason: string): void {
    this.#events?.closed(reason);
  }

  #waitFor(what: string): Promise<Message> {
    return new Promise((resolve) => this.#waiting.set(what, resolve));
  }

  #message(line: Buffer): void {
    if (line.subarray(0, OUTPUT.length).equals(OUTPUT)) {
      this.notifications++;
      this.notifiedBytes += line.length;
      this.outputBytes += decodedLength(line.subarray(line.indexOf(CHUNK) + CHUNK.length, -'"}}'.length));
      return;
    }
    const message: Message = JSON.parse(line.toString());
    const { id, method, params } = message;
    const what = method === undefined ? `answer ${id}` : `${method} ${params?.processId}`;
    this.#waiting.get(what)?.(message);
    this.#waiting.delete(what);
  }
}
