/**
 * One session over a WebSocket, every message shown: a shell in a terminal, a line typed into it, its end.
 *
 *     node examples/ws-session.mjs ws://127.0.0.1:8765
 */
import { WebSocket } from 'ws';

const [url = 'ws://127.0.0.1:8765'] = process.argv.slice(2);
const base64 = (text) => Buffer.from(text).toString('base64');

const socket = new WebSocket(url);

const send = (message) => {
  const text = JSON.stringify(message);
  process.stdout.write(`→ ${text}\n`);
  socket.send(text);
};

const start = {
  processId: 'shell',
  argv: ['sh'],
  cwd: '/tmp',
  env: { PATH: '/usr/bin:/bin', TERM: 'dumb', PS1: '> ' },
  tty: true,
};

const typed = { processId: 'shell', chunk: base64('echo $((6 * 7)); exit 3\n'), writeId: 'line 1' };

socket.on('open', () => {
  send({ id: 1, method: 'initialize', params: { clientName: 'ws-session' } });
  send({ method: 'initialized' });
  send({ id: 2, method: 'process/start', params: start });
});

const decoder = new TextDecoder();
let isTyped = false;

socket.on('message', (data) => {
  const text = decoder.decode(data);
  process.stdout.write(`← ${text}\n`);
  const { method, params, error } = JSON.parse(text);
  if (method === 'process/output') {
    const output = Buffer.from(params.chunk, 'base64').toString();
    process.stdout.write(`  that is ${JSON.stringify(output)}\n`);
    // the shell is ready when it has printed its prompt
    if (!isTyped) send({ id: 3, method: 'process/write', params: typed });
    isTyped = true;
  }
  if (method === 'process/closed' || error !== undefined) socket.close();
  if (error !== undefined) process.exitCode = 1;
});

socket.on('error', (error) => {
  process.stderr.write(`no session with ${url}: ${error.message || error.code}\n`);
  process.exitCode = 1;
});
