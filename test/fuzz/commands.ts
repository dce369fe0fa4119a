import { expect } from 'chai';
import * as fc from 'fast-check';
import type { SignalName } from '../../src/protocol.js';
import { cookie } from '../support/environment.js';
import {
  type Chunk,
  type Command,
  command,
  ends,
  isAll,
  type Model,
  readAll,
  type Real,
  refused,
  unknown,
} from './model.js';

/** How a program is started, and what it does without being told anything. */
type Program = {
  readonly argv: readonly string[];
  readonly tty?: boolean;
  readonly pipeStdin?: boolean;
  readonly prints?: string;
  readonly ends?: number;
};

const programs: Readonly<Record<string, Program>> = {
  cat: { argv: ['cat'], pipeStdin: true },
  terminal: { argv: ['sh', '-c', 'stty raw -echo; printf R; exec cat'], tty: true, prints: 'R' },
  sleep: { argv: ['sleep', '1000'] },
  printf: { argv: ['printf', '%s', 'ü\n\r\0'.slice(0, 3)], prints: 'ü\n\r', ends: 0 },
  false: { argv: ['false'], ends: 1 },
};

const env = { PATH: '/usr/bin:/bin', ...cookie };

const start = (id: string, name: string): Command =>
  command(`start ${name} as ${JSON.stringify(id)}`, async (model, real) => {
    const { argv, tty = false, pipeStdin = false, prints = '', ends: code } = programs[name] ?? { argv: [] };
    const params = { processId: id, argv, cwd: '/', env, tty, pipeStdin };
    const answer = await real.client.call('process/start', params);
    if (argv.length === 0) return refused(answer, -32602, 'argv must not be empty');
    if (model.processes.has(id)) return refused(answer, -32600, `process ${id} already exists`);
    expect(answer.result).to.deep.equal({ processId: id, sandboxType: 'none' });
    const output = Buffer.from(prints);
    const stdinOpen = tty || pipeStdin;
    model.processes.set(id, { tty, running: true, exitCode: null, stdinOpen, output, writes: new Map() });
    if (code !== undefined) await ends(model, real, id, code);
    // the terminal is raw from then on
    else await readAll(real, id, (bytes) => bytes >= output.length);
  });

const startWhatIsNotThere = (id: string): Command =>
  command(`start /nonexistent as ${JSON.stringify(id)}`, async (model, real) => {
    const params = { processId: id, argv: ['/nonexistent'], cwd: '/', env, tty: false };
    const answer = await real.client.call('process/start', params);
    if (model.processes.has(id)) return refused(answer, -32600, `process ${id} already exists`);
    expect(answer.error).to.deep.include({ code: -32603, data: { kind: 'spawnNotFound' } });
  });

const write = (id: string, bytes: Uint8Array, writeId: string | null): Command =>
  command(`write ${bytes.length} bytes to ${JSON.stringify(id)}, writeId ${writeId}`, async (model, real) => {
    const process = model.processes.get(id);
    const chunk = Buffer.from(bytes).toString('base64');
    const answer = await real.client.call('process/write', { processId: id, chunk, writeId });
    const seen = writeId === null ? undefined : process?.writes.get(writeId);
    const now = process === undefined ? 'unknownProcess' : process.stdinOpen ? 'accepted' : 'stdinClosed';
    const status = seen ?? now;
    if (seen === undefined && status === 'accepted' && process !== undefined)
      process.output = Buffer.concat([process.output, bytes]);
    if (writeId !== null) process?.writes.set(writeId, status);
    if (writeId !== null || status === 'accepted')
      expect(answer.result).to.deep.equal({ accepted: status === 'accepted', status });
    else if (process === undefined) unknown(answer, id);
    else refused(answer, -32600, `stdin is closed for process ${id}`);
  });

const read = (id: string): Command =>
  command(`read ${JSON.stringify(id)}`, async (model, real) => {
    const process = model.processes.get(id);
    if (process === undefined) return unknown(await real.client.call('process/read', { processId: id }), id);
    const { output, running, exitCode } = process;
    const result = await readAll(real, id, (bytes, closed) => bytes >= output.length && (running || closed));
    isAll(result.bytes, output);
    expect(result.exitCode).to.equal(exitCode);
  });

const poll = (id: string, bytes: Uint8Array): Command =>
  command(
    `poll ${JSON.stringify(id)}, then write ${bytes.length} bytes`,
    async (model, real) => {
      const process = model.processes.get(id);
      if (process === undefined) throw new Error('no such process in the model');
      const { nextSeq } = await readAll(real, id, (length) => length >= process.output.length);
      const params = { processId: id, afterSeq: nextSeq - 1, waitMs: Number.MAX_SAFE_INTEGER };
      const answers = [
        real.client.request('process/read', params),
        real.client.request('process/read', params),
      ];
      await write(id, bytes, null).run(model, real);
      for (const answer of await Promise.all(answers)) {
        const [first]: Chunk[] = JSON.parse(JSON.stringify(answer['chunks']));
        const got = Buffer.from(first?.chunk ?? '', 'base64');
        expect(first?.seq).to.equal(nextSeq);
        isAll(got, Buffer.from(bytes.subarray(0, got.length)));
      }
    },
    (model) => model.processes.get(id)?.stdinOpen === true,
  );

const closeStdin = (id: string): Command =>
  command(`close stdin of ${JSON.stringify(id)}`, async (model, real) => {
    const process = model.processes.get(id);
    const answer = await real.client.call('process/closeStdin', { processId: id });
    if (process === undefined) return unknown(answer, id);
    expect(answer.result).to.deep.equal({});
    if (!process.stdinOpen) return;
    // a raw terminal has no end of file: it sees Ctrl-D
    if (process.tty) process.output = Buffer.concat([process.output, Buffer.from([4])]);
    else await ends(model, real, id, 0);
  });

const signals: Readonly<Partial<Record<SignalName, number>>> = {
  interrupt: 2,
  terminate: 15,
  hangup: 1,
  kill: 9,
  user1: 10,
  user2: 12,
};

const signal = (id: string, name: string, number: number | undefined): Command =>
  command(`send ${name} to ${JSON.stringify(id)}`, async (model, real) => {
    const answer = await real.client.call('process/signal', { processId: id, signal: name });
    expect(answer.result).to.deep.equal({});
    if (number !== undefined && model.processes.get(id)?.running === true) {
      // what was written and not read yet may be lost with the program
      await endsEarly(model, real, id, 128 + number);
    }
  });

/** It was killed: it has printed what it must, or the beginning of it. */
const endsEarly = async (model: Model, real: Real, id: string, exitCode: number): Promise<void> => {
  const process = model.processes.get(id);
  if (process === undefined || real.evicts) return ends(model, real, id, exitCode);
  const { bytes } = await readAll(real, id, (_bytes, closed) => closed);
  isAll(bytes, process.output.subarray(0, bytes.length));
  process.output = bytes;
  await ends(model, real, id, exitCode);
};

const pause = (id: string): Command =>
  command(`stop ${JSON.stringify(id)}, and let it go on`, async (_model, { client }) => {
    for (const name of ['stop', 'continue'])
      expect((await client.call('process/signal', { processId: id, signal: name })).result).to.deep.equal({});
  });

const terminate = (id: string): Command =>
  command(`terminate ${JSON.stringify(id)}`, async (model, real) => {
    const running = model.processes.get(id)?.running === true;
    const answer = await real.client.call('process/terminate', { processId: id });
    expect(answer.result).to.deep.equal({ running });
    if (running) await endsEarly(model, real, id, 137);
  });

const resize = (id: string): Command =>
  command(`resize ${JSON.stringify(id)}`, async (model, real) => {
    const process = model.processes.get(id);
    const answer = await real.client.call('process/resize', { processId: id, rows: 10, cols: 10_000 });
    if (process === undefined) unknown(answer, id);
    else if (!process.tty) refused(answer, -32600, `process ${id} has no terminal to resize`);
    else expect(answer.result).to.deep.equal({});
  });

const ack = (id: string, bytes: number): Command =>
  command(`acknowledge ${bytes} bytes of ${JSON.stringify(id)}`, async (model, real) => {
    const answer = await real.client.call('process/ack', { processId: id, bytes });
    if (model.processes.has(id)) expect(answer.result).to.deep.equal({});
    else unknown(answer, id);
  });

const list: Command = command('list', async (model, real) => {
  const { processes } = await real.client.request('process/list');
  const listed: { processId: string; pid: unknown }[] = JSON.parse(JSON.stringify(processes));
  const wanted = [...model.processes].map(([processId, { running, tty, exitCode }]) => ({
    processId,
    state: running ? 'running' : 'retained',
    tty,
    exitCode,
  }));
  expect(listed.map(({ pid, ...rest }) => (expect(pid).to.be.a('number'), rest))).to.have.deep.members(
    wanted,
  );
});

const comeBack: Command = command('lose the connection, and come back', async (model, real) => {
  if (real.comeBack === undefined) return;
  real.client = await real.comeBack();
  for (const id of model.processes.keys()) real.client.sequences.adopt(id);
});

/** Few: most requests are to meet a process. */
const id = fc.constantFrom('a', '__proto__', 'a', '__proto__', '');
const bytes = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 100 }) },
  // more than a pipe and the kernel's buffer of a terminal hold
  { weight: 1, arbitrary: fc.constant(new Uint8Array(Buffer.alloc(150_000, 'x'))) },
);

/** Sequences of requests, all of them allowed at any time. */
export const commands = (maxCommands: number): fc.Arbitrary<Iterable<Command>> => {
  const started = fc.tuple(
    id,
    fc.constantFrom(...Object.keys(programs), 'cat', 'cat', 'terminal', 'terminal', 'nothing'),
  );
  const written = fc.tuple(id, bytes, fc.option(fc.constantFrom('1', '__proto__'), { freq: 3 }));
  return fc.commands(
    [
      started.map(([one, name]) => start(one, name)),
      started.map(([one, name]) => start(one, name)),
      id.map(startWhatIsNotThere),
      written.map(([one, data, writeId]) => write(one, data, writeId)),
      written.map(([one, data, writeId]) => write(one, data, writeId)),
      written.map(([one, data, writeId]) => write(one, data, writeId)),
      written.map(([one, data, writeId]) => write(one, data, writeId)),
      written.map(([one, data, writeId]) => write(one, data, writeId)),
      written.map(([one, data, writeId]) => write(one, data, writeId)),
      fc.tuple(id, bytes).map(([one, data]) => poll(one, data)),
      id.map(read),
      id.map(closeStdin),
      fc
        .tuple(id, fc.constantFrom(...Object.entries(signals), ['windowChange', undefined] as const))
        .map(([one, [name, number]]) => signal(one, name, number)),
      id.map(pause),
      id.map(terminate),
      id.map(resize),
      fc.tuple(id, fc.nat()).map(([one, count]) => ack(one, count)),
      fc.constant(list),
      fc.constant(comeBack),
    ],
    { maxCommands, size: 'max' },
  );
};

/** At the start: two that live until they are told otherwise, for the requests to meet. */
export const startSome = async (model: Model, real: Real): Promise<void> => {
  await start('a', 'cat').run(model, real);
  await start('__proto__', 'terminal').run(model, real);
};

/** At the end: all that runs is ended, and has printed what it must. */
export const endAll = async (model: Model, real: Real): Promise<void> => {
  // a Map may lose what it is gone through
  for (const one of model.processes.keys()) {
    await read(one).run(model, real);
    await terminate(one).run(model, real);
  }
  await list.run(model, real);
  expect(real.client.faults).to.deep.equal([]);
  expect(real.client.unanswered).to.deep.equal([]);
};
