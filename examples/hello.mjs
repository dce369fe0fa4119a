/**
 * Starts exec-server as a child of its own, speaks to it over stdio, and has it run a program in a
 * terminal. Needs nothing but Node and the built server (`npm install` builds it).
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const server = fileURLToPath(new URL('../dist/src/cli.js', import.meta.url));
const project = fileURLToPath(new URL('..', import.meta.url));

/** uname, tty, stty and ls are real programs; tty and stty fail where there is no terminal. */
const script = 'uname -sm && tty && stty size && ls -m';

/** A machine that is very slow still answers within this time. */
const PATIENCE_MS = 30_000;

const say = (text) => process.stdout.write(`${text}\n`);
const fail = (why) => {
  process.stderr.write(`${why}\n`);
  process.exit(1);
};

if (!existsSync(server)) fail('The server is not built yet: run `npm install` first.');

const child = spawn(process.execPath, [server, '--log-level', 'warn'], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const patience = setTimeout(() => {
  child.kill();
  fail('The server did not answer in time.');
}, PATIENCE_MS);
child.on('error', (error) => fail(`The server could not be started: ${error.message}`));
child.stdin.on('error', () => undefined); // it has gone; 'close' tells

const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);

let exit;
let output = '';
const decoder = new TextDecoder();

/** What to do with the answer to each request, by its id; with a notification, by its method. */
const handlers = {
  1: ({ protocolVersion, environmentInfo }) => {
    say(`exec-server ${environmentInfo.executorVersion} answers; it speaks ${protocolVersion}.`);
    send({ method: 'initialized' });
    send({
      id: 2,
      method: 'process/start',
      params: {
        processId: 'hello',
        argv: ['sh', '-c', script],
        cwd: project,
        env: { PATH: process.env.PATH ?? '/usr/bin:/bin', TERM: 'dumb' },
        tty: true,
      },
    });
  },
  2: () => {
    say(`It runs this in a new terminal:\n\n  $ ${script}\n`);
  },
  'process/output': ({ chunk }) => {
    output += decoder.decode(Buffer.from(chunk, 'base64'), { stream: true });
  },
  'process/exited': (params) => {
    exit = params;
  },
  'process/closed': () => {
    say(output.replaceAll('\r\n', '\n').replaceAll(/^(?=.)/gm, '  '));
    const { exitCode, signal } = exit;
    say(
      signal === null
        ? `The program has ended by itself, with exit code ${exitCode}.`
        : `The program was ended by ${signal}.`,
    );
    child.stdin.end(); // the end of its input ends the server, and every process it still runs
  },
};

createInterface({ input: child.stdout }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (error !== undefined) {
    child.kill();
    fail(`The server refused: ${error.message}`);
  }
  handlers[id ?? method]?.(params ?? result);
});

child.on('close', (code) => {
  clearTimeout(patience);
  if (exit === undefined) fail('The server ended before the program did.');
  say(`The server has ended too, with exit code ${code}.`);
  process.exitCode = exit.exitCode === 0 && code === 0 ? 0 : 1;
});

send({ id: 1, method: 'initialize', params: { clientName: 'hello' } });
