/**
 * What no server in Node can be faster than, on this machine: `npm run bench:limits [-- ROUNDS]`. Medians of some
 * rounds, of which each measures all.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { MIB } from './meter.js';
import { median } from './statistics.js';

const KIB = 1024;
const PIPED_BYTES = 256 * MIB;
const BASE64_ROUNDS = 4_000;
const FORKS = 20;

/** MiB/s of a pipe that is read into one buffer, and not looked at. */
const rawPipe = async (): Promise<number> => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-limits-'));
  const name = path.join(directory, 'pipe');
  execFileSync('mkfifo', [name]);
  const reader = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  const writer = fs.openSync(name, fs.constants.O_WRONLY);
  fs.rmSync(directory, { recursive: true });
  const from = performance.now();
  const child = spawn('head', ['-c', String(PIPED_BYTES), '/dev/zero'], {
    stdio: ['ignore', writer, 'ignore'],
  });
  fs.closeSync(writer);
  let bytes = 0;
  const options: net.SocketConstructorOpts & net.ConnectOpts = {
    fd: reader,
    readable: true,
    writable: false,
    onread: {
      buffer: Buffer.alloc(64 * KIB),
      callback: (length) => {
        bytes += length;
        return true;
      },
    },
  };
  const socket = new net.Socket(options);
  socket.resume();
  await Promise.all([once(socket, 'close'), once(child, 'exit')]);
  if (bytes !== PIPED_BYTES) throw new Error(`${bytes} of ${PIPED_BYTES} bytes came`);
  return PIPED_BYTES / MIB / ((performance.now() - from) / 1000);
};

/** MiB/s of what is encoded, 64 KiB at a time, into a buffer that is used again. */
const base64 = (): number => {
  const source = Buffer.alloc(64 * KIB);
  const target = Buffer.alloc(128 * KIB);
  const from = performance.now();
  for (let round = 0; round < BASE64_ROUNDS; round++) target.write(source.toString('base64'), 0, 'latin1');
  return (BASE64_ROUNDS * 64 * KIB) / MIB / ((performance.now() - from) / 1000);
};

/** Milliseconds that a fork keeps the loop, and until the program has ended. */
const fork = async (): Promise<readonly [blocked: number, ended: number]> => {
  const times: [number, number][] = [];
  for (let run = 0; run < FORKS; run++) {
    const from = performance.now();
    const child = spawn('true', { stdio: 'ignore' });
    const blocked = performance.now() - from;
    await once(child, 'exit');
    times.push([blocked, performance.now() - from]);
  }
  return [median(times.map(([blocked]) => blocked)), median(times.map(([, ended]) => ended))];
};

/** Milliseconds until a Node that does nothing else has said something. */
const bareNode = async (): Promise<number> => {
  const from = performance.now();
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("x")'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  const ms = performance.now() - from;
  await once(child, 'exit');
  return ms;
};

const limits = {
  'a pipe, read and thrown away, MiB/s': [] as number[],
  'base64, MiB/s': [] as number[],
  'a fork, ms of the loop': [] as number[],
  'a fork until the end of `true`, ms': [] as number[],
  'the start of a bare Node, ms': [] as number[],
};
for (let round = 0; round < Number(process.argv[2] ?? 5); round++) {
  limits['a pipe, read and thrown away, MiB/s'].push(await rawPipe());
  limits['base64, MiB/s'].push(base64());
  const [blocked, ended] = await fork();
  limits['a fork, ms of the loop'].push(blocked);
  limits['a fork until the end of `true`, ms'].push(ended);
  limits['the start of a bare Node, ms'].push(await bareNode());
}
for (const [name, values] of Object.entries(limits)) {
  process.stdout.write(`${name.padEnd(40)} ${median(values).toPrecision(4)}\n`);
}
