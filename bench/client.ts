import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('../dist/src/cli.js', import.meta.url));

/** Clock ticks a second in /proc/PID/stat (sysconf(_SC_CLK_TCK); 100 on every Linux that Node runs on). */
const TICKS = 100;

/** What one process printed, counted as it comes. */
type Counts = { bytes: number; notifications: number; missing: number };
export type Counted = Counts & { closed: Promise<number> };

type Waiting = { counts: Counts; seq: number; resolve: (at: number) => void };

/**
 * A server over stdio and a client that counts: it parses no more of an output notification than its
 * number and the length of its base64, so that the server is measured and not the client.
 */
export class BenchClient {
  readonly #server = spawn(process.execPath, [SERVER, '--log-level', 'error'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  readonly #answers = new Map<number, (message: { result?: Record<string, unknown> }) => void>();
  readonly #procs = new Map<string, Waiting>();
  #rest: Buffer[] = [];
  #id = 1;
  /** Called for each output notification: to time an echo. */
  onOutput: (() => void) | undefined;

  constructor() {
    this.#server.stdout.on('data', (data: Buffer) => this.#split(data));
  }

  async initialize(): Promise<void> {
    await this.call('initialize', { clientName: 'bench' });
    this.#send({ method: 'initialized' });
  }

  call(method: string, params: unknown): Promise<Record<string, unknown>> {
    const id = this.#id++;
    this.#send({ id, method, params });
    return new Promise((resolve, reject) => {
      this.#answers.set(id, ({ result }) =>
        result === undefined ? reject(new Error(method)) : resolve(result),
      );
    });
  }

  async start(processId: string, argv: readonly string[], tty = false): Promise<Counted> {
    const counts = { bytes: 0, notifications: 0, missing: 0 };
    const closed = new Promise<number>((resolve) => {
      this.#procs.set(processId, { counts, seq: 0, resolve });
    });
    const env = { PATH: process.env['PATH'] };
    await this.call('process/start', { processId, argv, cwd: '/', env, tty });
    return Object.assign(counts, { closed });
  }

  /** CPU seconds that the server has used, without its children. */
  cpuSeconds(): number {
    const stat = fs.readFileSync(`/proc/${this.#server.pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  }

  /** Largest resident size so far, in MiB. */
  peakMiB(): number {
    const status = fs.readFileSync(`/proc/${this.#server.pid}/status`, 'latin1');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  }

  close(): Promise<void> {
    this.#server.stdin.end();
    return new Promise((resolve) => {
      this.#server.once('exit', () => resolve());
    });
  }

  #send(message: unknown): void {
    this.#server.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #split(data: Buffer): void {
    let start = 0;
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, start)) {
      this.#rest.push(data.subarray(start, end));
      const [only] = this.#rest;
      this.#line(this.#rest.length === 1 && only !== undefined ? only : Buffer.concat(this.#rest));
      this.#rest = [];
      start = end + 1;
    }
    if (start < data.length) this.#rest.push(data.subarray(start));
  }

  #line(line: Buffer): void {
    const head = line.toString('latin1', 0, 200);
    const output =
      /^\{"method":"process\/output","params":\{"processId":"([^"]*)","seq":(\d+),.*?"chunk":"/.exec(head);
    if (output === null) {
      this.#message(JSON.parse(line.toString()));
      return;
    }
    const [prefix, processId = '', seq] = output;
    const waiting = this.#procs.get(processId);
    if (waiting === undefined) return;
    const end = line.length - '"}}'.length;
    const padding = line[end - 2] === 0x3d ? 2 : line[end - 1] === 0x3d ? 1 : 0;
    waiting.counts.bytes += ((end - prefix.length) / 4) * 3 - padding;
    waiting.counts.notifications++;
    if (Number(seq) !== ++waiting.seq) waiting.counts.missing++;
    this.onOutput?.();
  }

  #message(message: {
    id?: number;
    method?: string;
    params?: { processId: string };
    result?: Record<string, unknown>;
  }): void {
    if (message.id !== undefined) {
      this.#answers.get(message.id)?.(message);
      this.#answers.delete(message.id);
    } else if (message.method === 'process/closed' && message.params !== undefined) {
      this.#procs.get(message.params.processId)?.resolve(performance.now());
      this.#procs.delete(message.params.processId);
    }
  }
}
