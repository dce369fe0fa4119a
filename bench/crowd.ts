/**
 * What a crowd costs the one who works: the time of a small request to a server with 500 connections and 1,000
 * idle processes, and to one that is empty, by turns in one run: `npm run bench:crowd`. Exit status 1 if the
 * 99th percentile of the crowd is three times that of the empty one or more. The server needs some 4,000
 * descriptors (`ulimit -n`).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';

const SERVER = fileURLToPath(new URL('../dist/src/cli.js', import.meta.url));

const CONNECTIONS = 500;
const PROCESSES_EACH = 2;
const ROUNDS = 20;
const CALLS_A_ROUND = 200;
const WARM_UP_CALLS = 2_000;
/** The crowd may cost less than this many times as much. */
const MOST = 3;

type Answer = {
  readonly id?: number;
  readonly result?: object;
  readonly error?: { readonly message: string };
};

/** A connection that asks one thing at a time. */
class Connection {
  #id = 0;
  #answered: (answer: Answer) => void = () => undefined;

  private constructor(private readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const answer: Answer = JSON.parse(data.toString());
      if (answer.id === this.#id) this.#answered(answer);
    });
  }

  static async open(url: string): Promise<Connection> {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    await once(socket, 'open');
    const connection = new Connection(socket);
    await connection.call('initialize', { clientName: 'crowd' });
    socket.send('{"method":"initialized"}');
    return connection;
  }

  call(method: string, params: object): Promise<void> {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      this.#answered = ({ error }) => (error === undefined ? resolve() : reject(new Error(error.message)));
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  start(processId: string, argv: readonly string[]): Promise<void> {
    const env = { PATH: process.env['PATH'] };
    return this.call('process/start', { processId, argv, cwd: '/', env, tty: false });
  }

  close(): void {
    this.socket.close();
  }
}

/** A server, and the connection on which it is measured, with a process that has printed a little. */
const startServer = async (): Promise<{ url: string; client: Connection; stop: () => Promise<void> }> => {
  const args = [SERVER, '--listen', 'ws://127.0.0.1:0', '--log-level', 'error'];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url]: string[] = await once(createInterface({ input: server.stdout }), 'line');
  if (url === undefined) throw new Error('the server printed no URL');
  const client = await Connection.open(url);
  await client.start('small', ['sh', '-c', 'echo hello; exec sleep 100000']);
  await client.call('process/read', { processId: 'small', waitMs: 10_000 });
  const stop = async (): Promise<void> => {
    client.close();
    server.kill('SIGTERM');
    await once(server, 'exit');
  };
  return { url, client, stop };
};

const requests: readonly (readonly [method: string, params: object])[] = [
  ['environment/status', {}],
  ['process/read', { processId: 'small' }],
];

/** Milliseconds of each call. */
const measure = async (client: Connection, calls: number): Promise<number[]> => {
  const times: number[] = [];
  for (let call = 0; call < calls; call++) {
    for (const [method, params] of requests) {
      const from = performance.now();
      await client.call(method, params);
      times.push(performance.now() - from);
    }
  }
  return times;
};

const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const gather = async (url: string): Promise<Connection[]> => {
  const connections: Connection[] = [];
  for (let count = 0; count < CONNECTIONS - 1; count++) {
    const connection = await Connection.open(url);
    connections.push(connection);
    for (let run = 0; run < PROCESSES_EACH; run++) await connection.start(`idle ${run}`, ['sleep', '100000']);
  }
  return connections;
};

const main = async (): Promise<void> => {
  const empty = await startServer();
  const crowded = await startServer();
  const from = performance.now();
  const crowd = await gather(crowded.url);
  say(
    `${CONNECTIONS} connections, ${crowd.length * PROCESSES_EACH + 1} processes: ${Math.round(performance.now() - from)} ms`,
  );

  const emptyTimes: number[] = [];
  const crowdedTimes: number[] = [];
  for (const { client } of [empty, crowded]) await measure(client, WARM_UP_CALLS);
  for (let round = 0; round < ROUNDS; round++) {
    emptyTimes.push(...(await measure(empty.client, CALLS_A_ROUND)));
    crowdedTimes.push(...(await measure(crowded.client, CALLS_A_ROUND)));
  }
  let worst = 0;
  for (const part of [0.5, 0.99]) {
    const [alone, among] = [percentile(emptyTimes, part), percentile(crowdedTimes, part)];
    worst = among / alone;
    say(
      `p${part * 100}  empty ${alone.toFixed(3)} ms  crowded ${among.toFixed(3)} ms  ${worst.toFixed(2)} times`,
    );
  }
  for (const connection of crowd) connection.close();
  await Promise.all([empty.stop(), crowded.stop()]);
  process.exitCode = worst < MOST ? 0 : 1;
};

await main();
