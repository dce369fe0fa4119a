/**
 * The pieces that each chunk and each request go through, alone: `npm run bench:micro [-- NAME…]`. From the
 * sources, in this process; what they add up to is measured by `npm run bench`.
 */
import { Bench } from 'tinybench';
import { hasMoreValues } from '../src/json-values.js';
import { createLog } from '../src/log.js';
import { DEFAULT_LIMITS } from '../src/limits.js';
import { NotificationEncoder, processNames } from '../src/output/encode.js';
import { OutputLog } from '../src/output/log.js';
import type { Chunk } from '../src/output/record.js';
import { routeRequest } from '../src/routes.js';
import { parseMessage } from '../src/rpc.js';
import { ExecServer } from '../src/server.js';
import { directWire } from '../src/wire/direct.js';
import { lineFraming, webSocketFraming } from '../src/wire/framing.js';

const KIB = 1024;
const SETTINGS = { externalSandbox: false, allowHttp: false };
const encoder = new NotificationEncoder('p', processNames);

/** Blocks grow up to 64 KiB; those before the first of that size hold so much together. */
const SMALL_BLOCKS = 60 * KIB;

/** Retained output of that length in one chunk. */
const chunkOf = (length: number): Chunk => {
  const log = new OutputLog(1024 * KIB, encoder);
  log.append('stderr', new Uint8Array(SMALL_BLOCKS), SMALL_BLOCKS);
  log.append('stdout', new Uint8Array(length), length);
  const chunk = log.page(0, Infinity, false).chunks.at(-1);
  if (chunk?.length !== length) throw new Error('not in one chunk');
  return chunk;
};

const bench = new Bench({ time: 300 });
const out = Buffer.allocUnsafe(256 * KIB);

for (const [name, length] of [
  ['80 B', 80],
  ['64 KiB', 64 * KIB],
] as const) {
  const chunk = chunkOf(length);
  bench.add(`encodeOutput ${name}, line`, () => {
    encoder.encodeOutput(chunk, lineFraming, out, 0);
  });
  bench.add(`encodeOutput ${name}, WebSocket`, () => {
    encoder.encodeOutput(chunk, webSocketFraming, out, 0);
  });
}

for (const [name, length] of [
  ['80 B', 80],
  ['64 KiB', 64 * KIB],
] as const) {
  const log = new OutputLog(1024 * KIB, encoder);
  log.attach({ onUnsent: () => undefined });
  const bytes = new Uint8Array(length);
  bench.add(`OutputLog.append ${name}, and sent`, () => {
    log.append('stdout', bytes, length);
    for (let record = log.peekUnsent(); record !== undefined; record = log.peekUnsent()) log.takeUnsent();
    log.sent();
  });
}

const write = JSON.stringify({
  id: 1,
  method: 'process/write',
  params: { processId: 'p', writeId: 'w1', chunk: 'eA==' },
});
bench.add('parseMessage, process/write', () => {
  parseMessage(write);
});
bench.add('parseMessage and routeRequest, process/write', () => {
  const message = parseMessage(write);
  if (message._tag === 'Left' || message.right.kind !== 'request') throw new Error('no request');
  routeRequest(message.right.method, message.right.id, message.right.params, SETTINGS);
});

const answer = Buffer.alloc(80, 'a');
bench.add('frame of 80 B, line', () => {
  lineFraming.frame(answer);
});
bench.add('frame of 80 B, WebSocket', () => {
  webSocketFraming.frame(answer);
});

const many = JSON.stringify({ id: 1, method: 'process/start', params: { argv: Array(200_000).fill('a') } });
bench.add('hasMoreValues, 800 KB of short values', () => {
  hasMoreValues(many, DEFAULT_LIMITS.jsonValues);
});
const long = JSON.stringify({ id: 1, method: 'process/write', params: { chunk: 'A'.repeat(KIB * KIB) } });
bench.add('hasMoreValues, 1 MiB in one value', () => {
  hasMoreValues(long, DEFAULT_LIMITS.jsonValues);
});

let answered: () => void = () => undefined;
const server = new ExecServer(createLog('silent'));
const { wire, peer } = directWire({ message: () => answered(), closed: () => undefined });
const ask = (method: string, params: object): Promise<void> =>
  new Promise((resolve) => {
    answered = resolve;
    peer.send(JSON.stringify({ id: 1, method, params }));
  });
server.accept(wire);
await ask('initialize', { clientName: 'bench' });
peer.send('{"method":"initialized"}');
bench.add('a request and its answer, through the actors', () => ask('process/list', {}));
await ask('process/start', {
  processId: 'p',
  argv: ['sleep', '600'],
  cwd: '/',
  env: process.env,
  tty: false,
});
bench.add('the same of a process', () => ask('process/read', { processId: 'p' }));

await bench.run();
for (const { name, result } of bench.tasks) {
  if (!('latency' in result)) throw new Error(`${name} failed`);
  const { p50, p99 } = result.latency;
  process.stdout.write(
    `${name.padEnd(50)} p50 ${(p50 * 1000).toFixed(2).padStart(8)} µs   p99 ${(p99 * 1000).toFixed(2).padStart(8)} µs\n`,
  );
}
await server.close('measured');
