/**
 * A network that swallows everything, for real: takes two minutes, and root. CONTRIBUTING.md has the command.
 *
 * In a network namespace of its own a server listens on loopback. Two clients start a process each; then the
 * packet filter drops all packets of their connections, so that neither side is told anything. The server
 * must notice by its pings: the session of the client that can resume is detached and can be taken up on
 * another connection, the processes of the other one are killed. A third client is served all the time.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { TestClient } from '../support/client.js';
import { EXEC_SERVER } from '../support/environment.js';

/** Two pings are missed, and the third time the peer is dropped: 90 s, and something for the clock of this machine. */
const NOTICED_MS = 100_000;

const run = (command: string): void => {
  const [program = '', ...words] = command.split(' ');
  execFileSync(program, words, { stdio: 'inherit' });
};

const say = (line: string): void => {
  process.stderr.write(`${(performance.now() / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
};

const check = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(`not so: ${what}`);
  say(`so it is: ${what}`);
};

const portOf = (socket: WebSocket): number => {
  const tcp: unknown = Reflect.get(socket, '_socket');
  const port: unknown = typeof tcp === 'object' && tcp !== null ? Reflect.get(tcp, 'localPort') : undefined;
  if (typeof port !== 'number') throw new Error('no port');
  return port;
};

const connect = async (
  url: string,
  initialize: object,
): Promise<{ client: TestClient; sessionId: unknown; port: number }> => {
  const socket = new WebSocket(url);
  const client = new TestClient(
    { send: (text) => socket.send(text), close: () => socket.terminate() },
    undefined,
  );
  socket.on('message', (data: Buffer) => client.receive(data.toString()));
  socket.on('error', () => undefined); // the filter's work
  socket.on('close', () => client.end());
  await once(socket, 'open');
  const { sessionId } = await client.initialize(initialize);
  return { client, sessionId, port: portOf(socket) };
};

const CHATTY = 'echo $$; read line; echo "got $line"; sleep 1000';

const startChatty = async (client: TestClient): Promise<number> => {
  await client.start('p', ['sh', '-c', CHATTY], { pipeStdin: true });
  return Number(await client.waitOutput('p', '\n'));
};

run('ip link set lo up');
const server = spawn(process.execPath, [...EXEC_SERVER, '--listen', 'ws://127.0.0.1:0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [url]: string[] = await once(createInterface({ input: server.stdout }), 'line');
  if (url === undefined) throw new Error('no URL');
  const resumable = await connect(url, { resumeSessionId: null });
  const other = await connect(url, {});
  const witness = await connect(url, {});
  const kept = await startChatty(resumable.client);
  const killed = await startChatty(other.client);

  run('nft add table inet swallow');
  run('nft add chain inet swallow input { type filter hook input priority 0 ; }');
  for (const { port } of [resumable, other]) {
    run(`nft add rule inet swallow input tcp sport ${port} drop`);
    run(`nft add rule inet swallow input tcp dport ${port} drop`);
  }
  say('two connections are swallowed');
  const begun = performance.now();
  while (fs.existsSync(`/proc/${killed}`) && performance.now() - begun < NOTICED_MS) {
    await sleep(100);
    await witness.client.request('environment/status');
  }
  check(!fs.existsSync(`/proc/${killed}`), 'the processes of the client that cannot resume are gone');
  say(`noticed after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  check(fs.existsSync(`/proc/${kept}`), 'the process of the client that can resume runs');
  check(!resumable.client.closed && !other.client.closed, 'neither client was told anything');
  const resumed = await connect(url, { resumeSessionId: resumable.sessionId });
  check(resumed.sessionId === resumable.sessionId, 'its session is taken up on another connection');
  await resumed.client.write('p', 'hello\n');
  await resumed.client.waitOutput('p', 'got hello\n');
  say('so it is: its process reads and writes');
  for (const { client } of [resumable, other, witness, resumed]) await client.close();
} finally {
  server.kill('SIGTERM');
  await once(server, 'exit');
}
say('all as it should be');
