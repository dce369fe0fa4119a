import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Connection } from './load/connection.js';
import { LineTransport } from './load/lines.js';
import { WebSocketTransport } from './load/websocket.js';

/** How a server is spoken to. */
export type Listen = 'ws' | 'stdio';

/** What is measured: a name, and the command without `--listen`. */
export type Target = { readonly name: string; readonly command: readonly string[] };

/** The name of the one that the server has to be compared with. */
export const PEER = 'peer';

const STOP_MS = 3_000;

/** Servers that run: ended when this process ends, whatever becomes of it. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Our server, built in a directory. */
export const exec = (name: string, directory: string): Target => ({
  name,
  command: [process.execPath, path.join(directory, 'dist/src/cli.js')],
});

/** A pipe, as most programs give to a child: `stdio: 'pipe'` of Node is a pair of sockets. */
const pipe = (): { reader: number; writer: number } => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-pipe-'));
  const name = path.join(directory, 'pipe');
  execFileSync('mkfifo', [name]);
  const reader = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  const writer = fs.openSync(name, fs.constants.O_WRONLY);
  fs.rmSync(directory, { recursive: true });
  return { reader, writer };
};

/** The URL that a listener prints, to stdout or, as some do, to stderr. */
const printedUrl = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = '';
    const look = (data: Buffer): void => {
      if (text.length < 10_000) text += data.toString();
      const url = /ws:\/\/[^\s/]+:\d+/.exec(text)?.[0];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    child.once('exit', () => reject(new Error(`the server ended before it listened: ${text}`)));
    child.once('error', reject);
  });

/** A server that runs. `stop` ends it and its connections. */
export class Server {
  readonly #connections: Connection[] = [];

  private constructor(
    private readonly child: ChildProcess,
    readonly launchedAt: number,
    private readonly open: () => Promise<Connection>,
  ) {
    running.add(child);
    child.once('exit', () => running.delete(child));
  }

  /** Resolves when it can be connected to. `launchedAt` is before the fork. */
  static async launch({ command: [program = '', ...args] }: Target, listen: Listen): Promise<Server> {
    if (listen === 'stdio') {
      const { reader, writer } = pipe();
      const launchedAt = performance.now();
      const child = spawn(program, [...args, '--listen', 'stdio://'], { stdio: ['pipe', writer, 'ignore'] });
      fs.closeSync(writer);
      return new Server(child, launchedAt, () => Connection.open(new LineTransport(child, reader)));
    }
    const launchedAt = performance.now();
    const child = spawn(program, [...args, '--listen', 'ws://127.0.0.1:0'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    const url = await printedUrl(child);
    return new Server(child, launchedAt, async () => Connection.open(await WebSocketTransport.connect(url)));
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('the server could not be launched');
    return this.child.pid;
  }

  /** A further client, which has shaken hands. Over stdio there is one. */
  async connect(): Promise<Connection> {
    const connection = await this.open();
    this.#connections.push(connection);
    return connection;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGTERM');
      const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(timer);
    }
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}

/** Runs something with a fresh server, and stops that. */
export const withServer = async <T>(
  target: Target,
  listen: Listen,
  work: (server: Server) => Promise<T>,
): Promise<T> => {
  const server = await Server.launch(target, listen);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
};
