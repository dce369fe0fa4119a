import fs from 'node:fs';
import { expect } from 'chai';
import { type ExecServerClient, OutputLostError, type RemoteProcess } from '../../src/client/index.js';
import { collect, connectInProcess, env, rejection } from '../support/clients.js';
import { connectFake, type FakeServer, page } from '../support/fake-server.js';

/** What the client lets be on its way, and the longest chunk (docs/protocol.md, process/start and Output). */
const WINDOW = 1024 * 1024;
const CHUNK = 64 * 1024;

/** What it keeps for who reads late. */
const HELD = 256 * 1024;

const text = (data: Uint8Array): string => Buffer.from(data).toString();

/** A process of a fake server, that runs. */
const startFake = async (
  more: object = {},
): Promise<{ server: FakeServer; client: ExecServerClient; process: RemoteProcess; id: string }> => {
  const { client, server } = await connectFake();
  const starting = client.start({ argv: ['true'] });
  const id = await server.starts(more);
  return { server, client, id, process: await starting };
};

/** Some 5 MB, in which every line tells its place. */
const LINES = 700_000;
const numbers = ['seq', '1', String(LINES)];
const numbered = (): string => {
  let all = '';
  for (let line = 1; line <= LINES; line++) all += `${line}\n`;
  return all;
};

describe('the output of a RemoteProcess', () => {
  it('is all that it prints, in order, or one stream of it, as often as it is read', async () => {
    const { server, process, id } = await startFake();
    server.output(id, 1, 'one');
    server.output(id, 2, 'two', 'stderr');
    server.output(id, 3, 'three');
    server.exited(id, 4);
    server.closes(id, 5);
    for (let times = 1; times <= 2; times++) {
      const chunks: unknown[] = [];
      for await (const { seq, stream, data } of process.output) chunks.push([seq, stream, text(data)]);
      expect(chunks).to.deep.equal([
        [1, 'stdout', 'one'],
        [2, 'stderr', 'two'],
        [3, 'stdout', 'three'],
      ]);
      expect(await collect(process.stdout.text())).to.equal('onethree');
      expect(await collect(process.stderr.text())).to.equal('two');
    }
  });

  it('comes as it is printed', async () => {
    const client = await connectInProcess();
    const process = await client.start({ argv: ['cat'], env, pipeStdin: true });
    const output = process.stdout.text();
    for (const line of ['ping\n', 'pong\n']) {
      await process.write(line);
      expect((await output.next()).value).to.equal(line);
    }
    await process.end();
    expect(await output.next()).to.deep.equal({ done: true, value: undefined });
  });

  it('is whole characters as text, however they were cut', async () => {
    const { server, process, id } = await startFake();
    const bytes = Buffer.from('ä€😀\uFEFF!');
    bytes.forEach((byte, at) => server.output(id, at + 1, Uint8Array.of(byte)));
    server.output(id, bytes.length + 1, Uint8Array.of(0xf0, 0x9f));
    server.closes(id, bytes.length + 2);
    const texts: string[] = [];
    for await (const part of process.stdout.text()) texts.push(part);
    expect(texts).to.deep.equal(['ä', '€', '😀', '\uFEFF', '!', '\uFFFD']);
  });

  it('can be asked for by several calls at a time', async () => {
    const { server, process, id } = await startFake();
    const output = process.output[Symbol.asyncIterator]();
    const calls = [output.next(), output.next(), output.next()];
    server.output(id, 1, 'a');
    server.output(id, 2, 'b');
    server.closes(id, 3);
    const results = await Promise.all(calls);
    expect(results.map(({ done, value }) => (done === true ? 'done' : value?.seq))).to.deep.equal([
      1,
      2,
      'done',
    ]);
  });
});

describe('output that is missed', () => {
  it('waits for what overtook it, and is put in order', async () => {
    const { server, process, id } = await startFake();
    server.output(id, 2, 'b');
    server.output(id, 1, 'a');
    server.output(id, 1, 'again');
    server.answer(
      await server.requested('process/read'),
      page(
        [
          [1, 'a'],
          [2, 'b'],
        ],
        { nextSeq: 3 },
      ),
    );
    server.closes(id, 3);
    expect(await collect(process.stdout.text())).to.equal('ab');
  });

  it('is got by process/read, page after page', async () => {
    const { server, process, id } = await startFake();
    server.output(id, 1, 'a');
    server.output(id, 4, 'd');
    const first = await server.requested('process/read');
    expect(first.params).to.deep.equal({ processId: id, afterSeq: 1, maxBytes: WINDOW });
    server.exited(id, 5, 3);
    server.closes(id, 6);
    server.answer(first, page([[2, 'b']], { nextSeq: 3 }));
    const second = await server.requested('process/read', 2);
    expect(second.params).to.deep.equal({ processId: id, afterSeq: 2, maxBytes: WINDOW });
    server.answer(
      second,
      page(
        [
          [3, 'c'],
          [4, 'd'],
        ],
        { nextSeq: 5 },
      ),
    );
    expect(await collect(process.stdout.text())).to.equal('abcd');
    expect(await process.exit).to.deep.equal({ exitCode: 3, signal: null, reason: null });
    await process.closed;
    expect(server.requestsOf('process/read')).to.have.lengthOf(2);
  });

  it('may be the exit', async () => {
    const { server, process, id } = await startFake();
    server.output(id, 1, 'a');
    server.closes(id, 3);
    server.answer(await server.requested('process/read'), page([], { nextSeq: 4, exitCode: 9 }));
    expect(await process.exit).to.deep.equal({ exitCode: 9, signal: null, reason: null });
    await process.closed;
    expect(await collect(process.stdout.text())).to.equal('a');
  });

  const lost: readonly (readonly [title: string, answer: (server: FakeServer) => Promise<void>])[] = [
    [
      'the server has dropped it',
      async (server) => {
        const answer = page([[4, 'd']], { nextSeq: 6, exitCode: 0 });
        server.answer(await server.requested('process/read'), answer);
      },
    ],
    [
      'the server does not know the process any more',
      async (server) =>
        server.refuse(await server.requested('process/read'), {
          code: -32600,
          message: 'unknown process id',
        }),
    ],
  ];
  for (const [title, answer] of lost) {
    it(`rejects the readers with OutputLostError if ${title}, and the exit is told all the same`, async () => {
      const { server, process, id } = await startFake();
      server.output(id, 1, 'a');
      server.output(id, 4, 'd');
      server.exited(id, 5);
      server.closes(id, 6);
      await answer(server);
      await process.closed;
      expect(await process.exit).to.deep.equal({ exitCode: 0, signal: null, reason: null });
      const got: string[] = [];
      const reading = (async () => {
        for await (const part of process.stdout.text()) got.push(part);
      })();
      expect(await rejection(reading, OutputLostError)).to.include({
        code: 'OUTPUT_LOST',
        message: `output of ${id} up to number 3 was lost on the way`,
      });
      expect(got).to.deep.equal(['a']);
    });
  }
});

describe('the flow of output', () => {
  it('a reader that waits makes the process wait, loses nothing, and holds up nobody else', async () => {
    const client = await connectInProcess();
    let received = 0;
    let peak = 0;
    let consumed = 0;
    const full = new Promise<void>((resolve) => {
      client.rpc.on('output', ({ processId, chunk }) => {
        if (processId !== 'numbers') return;
        received += chunk.data.length;
        peak = Math.max(peak, received - consumed);
        if (received >= WINDOW) resolve();
      });
    });
    const process = await client.start({ argv: numbers, env, processId: 'numbers' });
    let all = '';
    for await (const data of process.stdout) {
      if (consumed === 0) {
        await full;
        // much later than the rest would have come
        for (let times = 0; times < 5; times++) await client.run(['true'], { env });
        const { processes } = await client.rpc.call('process/list', {});
        const pid = processes.find(({ processId }) => processId === 'numbers')?.pid;
        const written = Number(/^wchar: (\d+)$/m.exec(fs.readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
        // what the client holds, what the server holds, what the pipe holds: each bounded
        expect(written).to.be.within(WINDOW, WINDOW + HELD + 10 * CHUNK);
      }
      consumed += data.length;
      all += text(data);
    }
    expect(peak).to.be.within(WINDOW, WINDOW + HELD + 2 * CHUNK);
    expect(all === numbered()).to.equal(true);
    expect(await process.exit).to.deep.equal({ exitCode: 0, signal: null, reason: 'exited' });
  });

  it('a reader that leaves holds up nothing', async () => {
    const client = await connectInProcess();
    const process = await client.start({ argv: numbers, env });
    for await (const data of process.stdout) {
      expect(data.length).to.be.greaterThan(0);
      break;
    }
    expect(await process.exit).to.deep.equal({ exitCode: 0, signal: null, reason: 'exited' });
    await process.closed;
  });

  it('nobody has to read', async () => {
    const client = await connectInProcess();
    const process = await client.start({ argv: numbers, env });
    expect(await process.exit).to.deep.equal({ exitCode: 0, signal: null, reason: 'exited' });
    await process.closed;
  });

  it('two readers see all, the slow one too', async () => {
    const client = await connectInProcess();
    const process = await client.start({ argv: numbers, env });
    const slowly = async (): Promise<string> => {
      let all = '';
      for await (const part of process.stdout.text()) {
        await client.rpc.call('environment/status', {});
        all += part;
      }
      return all;
    };
    const [fast, slow] = await Promise.all([collect(process.stdout.text()), slowly()]);
    const expected = numbered();
    expect([fast === expected, slow === expected]).to.deep.equal([true, true]);
  });

  it('a reader that comes late gets the beginning from the server', async () => {
    const client = await connectInProcess();
    const argv = ['head', '-c', '900000', '/dev/zero'];
    const process = await client.start({ argv, env });
    await process.closed;
    const { length } = await collect(process.stdout.text());
    expect(length).to.equal(900_000);
  });

  it('or OutputLostError, if the server has no more of it', async () => {
    const client = await connectInProcess();
    const argv = ['head', '-c', '900000', '/dev/zero'];
    const process = await client.start({ argv, env, outputBytesCap: 300_000 });
    await process.closed;
    const error = await rejection(collect(process.stdout.text()), OutputLostError);
    expect(error.message).to.equal(
      'the beginning of the output is not kept any more: read it from the start of the process on',
    );
  });

  it('is acknowledged when the readers have taken it, a quarter of the window at a time', async () => {
    const { server, client, process, id } = await startFake();
    const output = process.output[Symbol.asyncIterator]();
    const first = output.next();
    for (let seq = 1; seq <= 4; seq++) server.output(id, seq, Buffer.alloc(CHUNK));
    expect((await first).value?.seq).to.equal(1);
    for (let seq = 2; seq <= 3; seq++) expect((await output.next()).value?.seq).to.equal(seq);
    expect(server.requestsOf('process/ack')).to.deep.equal([]);
    expect((await output.next()).value?.seq).to.equal(4);
    const { params } = await server.requested('process/ack');
    expect(params).to.deep.equal({ processId: id, bytes: 4 * CHUNK });
    const start = await server.requested('process/start');
    expect(start.params['outputWindow']).to.equal(WINDOW);
    expect(client.rpc.ended).to.equal(undefined);
  });

  it('is not acknowledged to a server that has no window', async () => {
    const { server, process, id } = await startFake({ outputWindow: undefined });
    for (let seq = 1; seq <= 40; seq++) server.output(id, seq, Buffer.alloc(CHUNK));
    server.exited(id, 41);
    server.closes(id, 42);
    await process.closed;
    expect(server.requestsOf('process/ack')).to.deep.equal([]);
  });
});
