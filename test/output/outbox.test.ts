import { expect } from 'chai';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BUFFER_BYTES } from '../../src/output/buffers.js';
import { commandNames, NotificationEncoder, processNames } from '../../src/output/encode.js';
import { OutputLog } from '../../src/output/log.js';
import { Outbox } from '../../src/output/outbox.js';
import { lineFraming, webSocketFraming } from '../../src/wire/framing.js';
import type { Framing, Wire } from '../../src/wire/wire.js';

const KiB = 1024;

/** A wire that takes no more than it is told to, and watches the buffers that it keeps. */
class SlowWire implements Wire {
  readonly canResume = false;
  readonly name = 'slow';
  readonly writes: Buffer[] = [];
  /** Answer of the next writes. */
  takes = true;
  #kept: Buffer | undefined;

  constructor(readonly framing: Framing = lineFraming) {}

  write(bytes: Buffer): boolean {
    expect(this.#kept, 'written to while it was blocked').to.equal(undefined);
    this.writes.push(Buffer.from(bytes));
    if (!this.takes) this.#kept = bytes;
    return this.takes;
  }

  /** What was written last has gone; it must still be what it was. */
  release(): void {
    const last = this.writes.at(-1);
    if (this.#kept !== undefined && last !== undefined) {
      expect(this.#kept.equals(last), 'the buffer was used again').to.equal(true);
    }
    this.#kept = undefined;
  }

  get text(): string {
    return Buffer.concat(this.writes).toString();
  }

  get messages(): Sent[] {
    return this.text
      .split('\n')
      .slice(0, -1)
      .map((line): Sent => JSON.parse(line));
  }

  open(): void {}
  pause(): void {}
  resume(): void {}
  close(): void {}
}

type Sent = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly processId: string; readonly seq: number; readonly chunk?: string };
};

/** `a 1 <text>`: what a message is about, for comparing. */
const shown = ({ id, method, params }: Sent): string => {
  if (params === undefined) return `answer ${id}`;
  const { processId, seq, chunk } = params;
  return `${processId} ${seq} ${chunk === undefined ? method : Buffer.from(chunk, 'base64').toString()}`;
};

const open = (framing?: Framing): { wire: SlowWire; outbox: Outbox } => {
  const wire = new SlowWire(framing);
  return { wire, outbox: new Outbox(wire) };
};

const logFor = (outbox: Outbox, processId: string, names = processNames): OutputLog => {
  const log = new OutputLog(0, new NotificationEncoder(processId, names));
  log.attach(outbox);
  return log;
};

const append = (log: OutputLog, data: string | Buffer): void => {
  const bytes = Buffer.from(data);
  log.append('stdout', bytes, bytes.length);
};

const answer = (id: number): string => `{"id":${id},"result":{}}`;

/** Lets the wire take one write after the other until nothing comes. */
const drainAll = (wire: SlowWire, outbox: Outbox): void => {
  for (let before = -1; before !== wire.writes.length;) {
    before = wire.writes.length;
    wire.release();
    outbox.drained();
  }
};

/** Bytes of output that came so far, by process. */
const shares = (messages: readonly Sent[]): Map<string, number> => {
  const bytes = new Map<string, number>();
  for (const { params } of messages) {
    if (params?.chunk === undefined) continue;
    const length = Buffer.from(params.chunk, 'base64').length;
    bytes.set(params.processId, (bytes.get(params.processId) ?? 0) + length);
  }
  return bytes;
};

describe('Outbox', () => {
  it('lets a little output that follows other wait to be joined by more', async () => {
    const stopped = performance.now();
    mock.method(performance, 'now', () => stopped);
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { wire, outbox } = open();
      const log = logFor(outbox, 'a');
      append(log, '1');
      await nextTurn();
      for (const text of ['2', '3', '4']) {
        append(log, text);
        await nextTurn();
      }
      expect(wire.messages.map(shown)).to.deep.equal(['a 1 1']);
      mock.timers.tick(1);
      expect(wire.messages.map(shown)).to.deep.equal(['a 1 1', 'a 2 234']);
    } finally {
      mock.timers.reset();
      mock.restoreAll();
    }
  });

  it('lets no answer to input, no exit, and nothing large wait', async () => {
    for (const follow of [
      (log: OutputLog) => {
        log.noteInput();
        append(log, 'echo');
      },
      (log: OutputLog) => log.exited(0, null, 'exited'),
      (log: OutputLog) => append(log, Buffer.alloc(64 * KiB)),
    ]) {
      const { wire, outbox } = open();
      const log = logFor(outbox, 'a');
      append(log, '1');
      await nextTurn();
      follow(log);
      await nextTurn();
      expect(wire.writes).to.have.lengthOf(2);
    }
  });

  it('writes all of one turn of the loop together, answers first', async () => {
    const { wire, outbox } = open();
    const log = logFor(outbox, 'a');
    append(log, 'one');
    outbox.send(answer(1));
    append(log, ' two');
    outbox.send(answer(2));
    log.exited(0, null, 'exited');
    log.closed();
    expect(wire.writes).to.deep.equal([]);
    await nextTurn();
    expect(wire.messages.map(shown)).to.deep.equal([
      'answer 1',
      'answer 2',
      'a 1 one two',
      'a 2 process/exited',
      'a 3 process/closed',
    ]);
    expect(wire.writes).to.have.length(2);
    expect(outbox.isEmpty).to.equal(true);
  });

  it('writes nothing while the wire is blocked, and nothing is lost', async () => {
    const { wire, outbox } = open();
    const log = logFor(outbox, 'a');
    wire.takes = false;
    append(log, 'one');
    await nextTurn();
    expect(wire.writes).to.have.length(1);
    append(log, 'two');
    outbox.send(answer(1));
    outbox.flush();
    await nextTurn();
    expect(wire.writes).to.have.length(1);
    expect(outbox.isEmpty).to.equal(false);
    drainAll(wire, outbox);
    expect(wire.messages.map(shown)).to.deep.equal(['a 1 one', 'answer 1', 'a 2 two']);
    expect(outbox.isEmpty).to.equal(true);
  });

  it('tells who sent a message when the wire has taken it, and not before', () => {
    const { wire, outbox } = open();
    const taken: string[] = [];
    outbox.send(answer(1), () => taken.push('first'));
    expect(taken).to.deep.equal([]);
    outbox.flush();
    expect(taken).to.deep.equal(['first']);
    wire.takes = false;
    outbox.send(answer(2), () => taken.push('second'));
    outbox.flush();
    outbox.send(answer(3), () => taken.push('third'));
    outbox.flush();
    expect(taken).to.deep.equal(['first']);
    wire.release();
    outbox.drained();
    expect(taken).to.deep.equal(['first', 'second']);
    expect(wire.messages.map(shown)).to.deep.equal(['answer 1', 'answer 2', 'answer 3']);
    outbox.close();
    wire.release();
    outbox.drained();
    expect(taken).to.deep.equal(['first', 'second']);
  });

  it('does not use a buffer again before the wire has let go of it', () => {
    const { wire, outbox } = open();
    wire.takes = false;
    const logs = ['a', 'b', 'c'].map((processId) => logFor(outbox, processId));
    for (const log of logs) append(log, Buffer.alloc(300 * KiB, 'o'));
    outbox.flush();
    for (let count = 0; count < 20; count++) {
      for (const log of logs) append(log, Buffer.alloc(KiB, count));
      outbox.send(answer(count));
      outbox.flush();
      wire.release();
      outbox.drained();
    }
    drainAll(wire, outbox);
    expect(wire.messages.filter(({ id }) => id !== undefined)).to.have.length(20);
    expect([...shares(wire.messages).values()]).to.deep.equal([320 * KiB, 320 * KiB, 320 * KiB]);
  });

  it('sends an answer before output that waited longer', () => {
    const { wire, outbox } = open();
    wire.takes = false;
    const log = logFor(outbox, 'a');
    append(log, Buffer.alloc(2048 * KiB));
    outbox.flush();
    outbox.send(answer(7));
    wire.release();
    outbox.drained();
    expect(wire.writes[1]?.toString()).to.equal(`${answer(7)}\n`);
    drainAll(wire, outbox);
  });

  it('sends little output before much', () => {
    const { wire, outbox } = open();
    const flood = logFor(outbox, 'flood');
    const quick = logFor(outbox, 'quick');
    wire.takes = false;
    append(flood, Buffer.alloc(1024 * KiB));
    outbox.flush();
    append(quick, Buffer.alloc(4 * KiB, 'k'));
    wire.release();
    outbox.drained();
    const second: Sent = JSON.parse(wire.writes[1]?.toString().split('\n')[0] ?? '');
    expect(second.params).to.include({ processId: 'quick', seq: 1 });
    drainAll(wire, outbox);
    expect(shares(wire.messages).get('flood')).to.equal(1024 * KiB);
  });

  it('keeps the order of each process, whatever waits', () => {
    const { wire, outbox } = open();
    wire.takes = false;
    const logs = Array.from({ length: 7 }, (_, index) => logFor(outbox, `p${index}`));
    for (let round = 0; round < 40; round++) {
      for (const [index, log] of logs.entries())
        append(log, Buffer.alloc((index * 7_919 + round * 131) % 50_000));
      if (round % 3 === 0) {
        wire.release();
        outbox.drained();
      }
    }
    for (const log of logs) {
      log.exited(0, null, 'exited');
      log.closed();
    }
    drainAll(wire, outbox);
    for (let index = 0; index < 7; index++) {
      const seqs = wire.messages.flatMap(({ params }) =>
        params?.processId === `p${index}` ? [params.seq] : [],
      );
      expect(seqs).to.deep.equal(Array.from({ length: (logs[index]?.nextSeq ?? 0) - 1 }, (_, at) => at + 1));
    }
  });

  describe('is fair', () => {
    // a turn is about 64 KiB of output
    const TWO_TURNS = 128 * KiB;

    for (const [count, sizeKiB] of [
      [2, 64],
      [3, 64],
      [4, 64],
      [50, 64],
      [50, 20],
      [50, 47],
    ] as const) {
      it(`to ${count} processes with chunks of ${sizeKiB} KiB: never more than two turns apart`, () => {
        const { wire, outbox } = open();
        wire.takes = false;
        const logs = new Map(
          Array.from({ length: count }, (_, index) => [`p${index}`, logFor(outbox, `p${index}`)]),
        );
        const fill = (): void => {
          for (const log of logs.values()) {
            while (log.unsentBytes <= 128 * KiB) append(log, Buffer.alloc(sizeKiB * KiB));
          }
        };
        fill();
        // a write has room for three turns: enough writes for some rounds
        for (let writes = 0; writes < count * 4; writes++) {
          outbox.flush();
          wire.release();
          outbox.drained();
          fill();
        }
        const bytes = shares(wire.messages);
        const all = [...logs.keys()].map((processId) => bytes.get(processId) ?? 0);
        expect(Math.max(...all) - Math.min(...all)).to.be.at.most(TWO_TURNS);
      });
    }
  });

  it('takes no more out of the logs than one write, while the wire is blocked', () => {
    const { wire, outbox } = open();
    wire.takes = false;
    const logs = Array.from({ length: 10 }, (_, index) => logFor(outbox, `p${index}`));
    for (const log of logs) append(log, Buffer.alloc(1024 * KiB));
    outbox.flush();
    const unsent = logs.reduce((sum, log) => sum + log.unsentBytes, 0);
    expect(wire.writes).to.have.length(1);
    expect(unsent).to.be.at.least(10 * 1024 * KiB - BUFFER_BYTES);
    for (let count = 0; count < 10; count++) outbox.flush();
    expect(logs.reduce((sum, log) => sum + log.unsentBytes, 0)).to.equal(unsent);
    drainAll(wire, outbox);
    expect(Math.max(...wire.writes.map(({ length }) => length))).to.be.at.most(BUFFER_BYTES);
    expect([...shares(wire.messages).values()]).to.deep.equal(logs.map(() => 1024 * KiB));
  });

  it('sends a message that is longer than its buffer', () => {
    const { wire, outbox } = open();
    const processId = 'x'.repeat(400_000);
    const log = logFor(outbox, processId);
    const other = logFor(outbox, 'other');
    append(other, 'before');
    append(log, Buffer.alloc(200 * KiB, 'o'));
    log.exited(0, null, 'exited');
    log.closed();
    append(other, ' and after');
    outbox.flush();
    expect(outbox.isEmpty).to.equal(true);
    expect(shares(wire.messages).get(processId)).to.equal(200 * KiB);
    const seqs = wire.messages.flatMap(({ params }) => (params?.processId === processId ? [params.seq] : []));
    expect(seqs).to.deep.equal(Array.from({ length: log.nextSeq - 1 }, (_, at) => at + 1));
    expect(shares(wire.messages).get('other')).to.equal(16);
  });

  it('cuts a notification beyond 8 MiB into frames of at most 8 MiB', () => {
    const { wire, outbox } = open(webSocketFraming);
    const log = logFor(outbox, 'x'.repeat(9 * 1024 * KiB));
    append(log, 'o');
    outbox.flush();
    const bytes = Buffer.concat(wire.writes);
    // RFC 6455: 127 says that the length follows in 8 bytes
    expect(bytes[1]).to.equal(127);
    expect(Number(bytes.readBigUInt64BE(2))).to.be.at.most(8 * 1024 * KiB);
  });

  it('leaves out the close of a process that has no such notification', () => {
    const { wire, outbox } = open();
    const log = logFor(outbox, 'a', commandNames);
    append(log, 'o');
    log.exited(1, null, 'exited');
    log.closed();
    outbox.flush();
    expect(wire.messages.map(({ method }) => method)).to.deep.equal([
      'command/exec/outputDelta',
      'command/exec/exited',
    ]);
    expect(outbox.isEmpty).to.equal(true);
  });

  it('goes on to the next process after one that has nothing to say', async () => {
    const { wire, outbox } = open();
    const silent = logFor(outbox, 'silent', commandNames);
    const other = logFor(outbox, 'other');
    silent.closed();
    append(other, 'o');
    await nextTurn();
    expect(wire.messages.map(shown)).to.deep.equal(['other 1 o']);
    expect(outbox.isEmpty).to.equal(true);
  });

  it('lets nobody wait for it after it is closed', async () => {
    const { wire, outbox } = open();
    wire.takes = false;
    const log = logFor(outbox, 'a');
    const told: string[] = [];
    log.throttle({ pause: () => told.push('pause'), resume: () => told.push('resume') });
    append(log, Buffer.alloc(1024 * KiB));
    expect(told).to.deep.equal(['pause']);
    outbox.close();
    expect(told).to.deep.equal(['pause', 'resume']);
    append(log, Buffer.alloc(1024 * KiB));
    outbox.send(answer(1));
    outbox.flush();
    await nextTurn();
    expect(wire.writes).to.deep.equal([]);
    expect(told.at(-1)).to.equal('resume');
    expect(log.hasUnsent).to.equal(false);
  });

  it('tells when the wire has taken everything', () => {
    const { wire, outbox } = open();
    wire.takes = false;
    let calls = 0;
    outbox.send(answer(1));
    outbox.flush();
    outbox.send(answer(2));
    outbox.onEmpty(() => calls++);
    wire.release();
    outbox.drained();
    expect(calls).to.equal(0);
    wire.release();
    outbox.drained();
    expect(calls).to.equal(1);
    expect(wire.messages.map(shown)).to.deep.equal(['answer 1', 'answer 2']);
  });
});
