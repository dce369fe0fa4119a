import { expect } from 'chai';
import { NotificationEncoder, processNames } from '../../src/output/encode.js';
import { type LogReader, MAX_CHUNK_BYTES, OutputLog, type Page } from '../../src/output/log.js';
import type { Chunk } from '../../src/output/record.js';
import type { Stream } from '../../src/protocol.js';

const KiB = 1024;
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

const newLog = (cap = 1024 * KiB): OutputLog =>
  new OutputLog(cap, new NotificationEncoder('p', processNames));

/** Does nothing by itself: a client that is attached, and reads when the test says so. */
const attached = (cap?: number): OutputLog => {
  const log = newLog(cap);
  log.attach({ onUnsent: () => undefined });
  return log;
};

const append = (log: OutputLog, text: string | Buffer, stream: Stream = 'stdout'): void => {
  const bytes = Buffer.from(text);
  log.append(stream, bytes, bytes.length);
};

type Seen = { readonly seq: number; readonly stream: Stream; readonly bytes: Buffer };

const seen = ({ seq, stream, block, start, length }: Chunk): Seen => ({
  seq,
  stream,
  bytes: Buffer.from(block.bytes.subarray(start, start + length)),
});

/** Sends one record, as the outbox does. */
const sendOne = (log: OutputLog): Seen | string | undefined => {
  const record = log.peekUnsent();
  if (record === undefined) return undefined;
  const sent = record.kind === 'chunk' ? seen(record) : `${record.seq} ${record.kind}`;
  log.takeUnsent();
  log.sent();
  return sent;
};

const shown = (record: Seen | string): string =>
  typeof record === 'string' ? record : `${record.seq} ${record.stream} ${record.bytes.toString()}`;

const sendAll = (log: OutputLog): string[] => {
  const sent: string[] = [];
  for (let record = sendOne(log); record !== undefined; record = sendOne(log)) sent.push(shown(record));
  return sent;
};

const page = (log: OutputLog, afterSeq = 0, maxBytes?: number): { chunks: string[]; nextSeq: number } => {
  const { chunks, nextSeq }: Page = log.page(afterSeq, maxBytes ?? NO_LIMIT, maxBytes !== undefined);
  return { chunks: chunks.map((chunk) => shown(seen(chunk))), nextSeq };
};

const retainedBytes = (log: OutputLog): number =>
  log.page(0, NO_LIMIT, false).chunks.reduce((sum, { length }) => sum + length, 0);

/** A valve that tells what it was told. */
const recordingValve = (log: OutputLog): string[] => {
  const told: string[] = [];
  log.throttle({ pause: () => told.push('pause'), resume: () => told.push('resume') });
  return told;
};

/** Chunks of 2, 3 and 4 bytes with the numbers 1, 2 and 4; exited is 3, closed is 5. */
const sample = (): OutputLog => {
  const log = attached();
  append(log, 'aa');
  append(log, 'bbb', 'stderr');
  log.exited(0, null, 'exited');
  append(log, 'cccc');
  log.closed();
  sendAll(log);
  return log;
};

describe('OutputLog', () => {
  describe('joins output', () => {
    it('while it is unsent and unread: many writes, one number', () => {
      const log = attached();
      for (const text of ['a', 'b', 'c']) append(log, text);
      expect(sendAll(log)).to.deep.equal(['1 stdout abc']);
      expect(log.nextSeq).to.equal(2);
    });

    it('until it is sent', () => {
      const log = attached();
      append(log, 'a');
      expect(sendAll(log)).to.deep.equal(['1 stdout a']);
      append(log, 'b');
      append(log, 'c');
      expect(sendAll(log)).to.deep.equal(['2 stdout bc']);
    });

    it('until it is read', () => {
      const log = attached();
      append(log, 'a');
      expect(page(log)).to.deep.equal({ chunks: ['1 stdout a'], nextSeq: 2 });
      append(log, 'b');
      expect(page(log)).to.deep.equal({ chunks: ['1 stdout a', '2 stdout b'], nextSeq: 3 });
      expect(sendAll(log)).to.deep.equal(['1 stdout a', '2 stdout b']);
    });

    it('also when a read brought other chunks only', () => {
      const log = attached();
      append(log, 'a');
      append(log, 'b', 'stderr');
      expect(page(log, 0, 1)).to.deep.equal({ chunks: ['1 stdout a'], nextSeq: 2 });
      append(log, 'c', 'stderr');
      expect(sendAll(log)).to.deep.equal(['1 stdout a', '2 stderr bc']);
    });

    it('of one stream only', () => {
      const log = attached();
      append(log, 'a');
      append(log, 'b', 'stderr');
      append(log, 'c');
      append(log, 'd', 'pty');
      expect(sendAll(log)).to.deep.equal(['1 stdout a', '2 stderr b', '3 stdout c', '4 pty d']);
    });

    it('not across an exit', () => {
      const log = attached();
      append(log, 'a');
      log.exited(0, null, 'exited');
      append(log, 'b');
      log.closed();
      expect(sendAll(log)).to.deep.equal(['1 stdout a', '2 exited', '3 stdout b', '4 closed']);
    });

    it('not across a new reader', () => {
      const log = newLog();
      append(log, 'a');
      log.attach({ onUnsent: () => undefined });
      append(log, 'b');
      expect(sendAll(log)).to.deep.equal(['2 stdout b']);
    });

    it('up to 64 KiB, exactly', () => {
      const log = attached(1024 * KiB);
      // so that the blocks have their full size
      append(log, Buffer.alloc(256 * KiB));
      sendAll(log);
      const first = log.nextSeq;
      for (let count = 0; count < 300; count++) append(log, Buffer.alloc(1000, count));
      const lengths: number[] = [];
      for (let sent = sendOne(log); sent !== undefined; sent = sendOne(log)) {
        if (typeof sent !== 'string') lengths.push(sent.bytes.length);
      }
      expect(Math.max(...lengths)).to.be.at.most(MAX_CHUNK_BYTES);
      expect(lengths.reduce((sum, length) => sum + length, 0)).to.equal(300_000);
      expect(log.nextSeq).to.equal(first + lengths.length);
    });
  });

  it('cuts one large write into chunks of at most 64 KiB, numbered without gaps', () => {
    const log = attached(64 * 1024 * KiB);
    const bytes = Buffer.from(Array.from({ length: 1_000_003 }, (_, at) => at % 251));
    append(log, bytes);
    const chunks: Seen[] = [];
    for (let sent = sendOne(log); sent !== undefined; sent = sendOne(log)) {
      if (typeof sent !== 'string') chunks.push(sent);
    }
    expect(Buffer.concat(chunks.map((chunk) => chunk.bytes)).equals(bytes)).to.equal(true);
    expect(chunks.map(({ seq }) => seq)).to.deep.equal(chunks.map((_, at) => at + 1));
    expect(Math.max(...chunks.map((chunk) => chunk.bytes.length))).to.equal(64 * KiB);
  });

  it('takes the length it is told, from a buffer that is used again', () => {
    const log = attached();
    const buffer = Buffer.from('abc---');
    log.append('stdout', buffer, 3);
    buffer.fill('x');
    log.append('stdout', buffer, 0);
    expect(sendAll(log)).to.deep.equal(['1 stdout abc']);
  });

  it('tells its reader of all that it gets, and of nothing that is empty', () => {
    const log = newLog();
    let told = 0;
    const reader: LogReader = {
      onUnsent: (teller) => {
        expect(teller).to.equal(log);
        told++;
      },
    };
    log.attach(reader);
    append(log, 'a');
    append(log, '');
    log.exited(0, null, 'exited');
    log.closed();
    expect(told).to.equal(3);
  });

  it('calls back once, at the next append', () => {
    for (const cause of [
      (log: OutputLog) => append(log, 'a'),
      (log: OutputLog) => log.exited(0, null, 'exited'),
      (log: OutputLog) => log.closed(),
    ]) {
      const log = attached();
      let calls = 0;
      append(log, 'before');
      log.onNextAppend(() => calls++);
      append(log, '');
      expect(calls).to.equal(0);
      cause(log);
      append(log, 'after');
      expect(calls).to.equal(1);
    }
  });

  describe('retains', () => {
    it('the newest under its cap: whole chunks go, the oldest first', () => {
      const log = attached(10);
      for (const text of ['aaaa', 'bbbb', 'cccc', 'dd']) {
        append(log, text);
        sendAll(log);
      }
      expect(page(log)).to.deep.equal({
        chunks: ['2 stdout bbbb', '3 stdout cccc', '4 stdout dd'],
        nextSeq: 5,
      });
      expect(log.droppedBytes).to.equal(4);
      append(log, 'e');
      sendAll(log);
      expect(page(log)).to.deep.equal({ chunks: ['3 stdout cccc', '4 stdout dd', '5 stdout e'], nextSeq: 6 });
      expect(log.droppedBytes).to.equal(8);
    });

    it('nothing with a cap of 0, once it is sent', () => {
      const log = attached(0);
      append(log, 'a');
      expect(page(log)).to.deep.equal({ chunks: ['1 stdout a'], nextSeq: 2 });
      expect(sendAll(log)).to.deep.equal(['1 stdout a']);
      expect(page(log)).to.deep.equal({ chunks: [], nextSeq: 2 });
      expect(log.droppedBytes).to.equal(1);
    });

    it('nothing with a cap of 0 and no reader', () => {
      const log = newLog(0);
      append(log, 'abc');
      expect(page(log)).to.deep.equal({ chunks: [], nextSeq: 2 });
      expect(log.droppedBytes).to.equal(3);
    });

    it('all that is unsent, though the cap is smaller', () => {
      const log = attached(5);
      for (const stream of ['stdout', 'stderr', 'stdout'] as const) append(log, 'abcdefgh', stream);
      expect(log.droppedBytes).to.equal(0);
      expect(page(log).chunks).to.have.length(3);
      expect(sendAll(log)).to.deep.equal(['1 stdout abcdefgh', '2 stderr abcdefgh', '3 stdout abcdefgh']);
      expect(log.droppedBytes).to.equal(24);
      expect(page(log)).to.deep.equal({ chunks: [], nextSeq: 4 });
    });

    it('50,000 chunks and no more, however small', () => {
      const log = attached(64 * 1024 * KiB);
      for (let count = 1; count <= 50_003; count++) {
        append(log, 'x');
        log.takeUnsent();
        log.sent();
      }
      const { chunks, nextSeq } = log.page(0, NO_LIMIT, false);
      expect(chunks).to.have.length(50_000);
      expect(chunks[0]?.seq).to.equal(4);
      expect(nextSeq).to.equal(50_004);
      expect(log.droppedBytes).to.equal(3);
    });

    it('a chunk as large as the cap, exactly', () => {
      const log = attached(4);
      append(log, 'abcd');
      sendAll(log);
      expect(page(log).chunks).to.deep.equal(['1 stdout abcd']);
      append(log, 'e');
      sendAll(log);
      expect(page(log).chunks).to.deep.equal(['2 stdout e']);
    });
  });

  describe('pages', () => {
    const [A, B, C] = ['1 stdout aa', '2 stderr bbb', '4 stdout cccc'];

    for (const [afterSeq, maxBytes, chunks, nextSeq] of [
      [0, undefined, [A, B, C], 6],
      [1, undefined, [B, C], 6],
      [2, undefined, [C], 6],
      [3, undefined, [C], 6],
      [4, undefined, [], 6],
      [5, undefined, [], 6],
      [NO_LIMIT, undefined, [], 6],
      // the first chunk always comes whole
      [0, 0, [A], 2],
      [0, 1, [A], 2],
      [1, 0, [B], 3],
      [0, 2, [A], 2],
      [0, 3, [A], 2],
      [0, 4, [A], 2],
      [0, 5, [A, B], 3],
      [0, 8, [A, B], 3],
      [0, 9, [A, B, C], 5],
      [0, NO_LIMIT, [A, B, C], 5],
      [2, 4, [C], 5],
      // nothing to return: the next unused number
      [4, 0, [], 6],
      [4, 9, [], 6],
      [NO_LIMIT, 1, [], 6],
    ] as const) {
      it(`afterSeq ${afterSeq}, maxBytes ${maxBytes}: ${chunks.length} chunks, nextSeq ${nextSeq}`, () => {
        expect(page(sample(), afterSeq, maxBytes)).to.deep.equal({ chunks, nextSeq });
      });
    }

    it('say where to read on when a limit of the server cut them', () => {
      const { chunks, nextSeq } = sample().page(0, 5, false);
      expect(chunks.map(({ seq }) => seq)).to.deep.equal([1, 2]);
      expect(nextSeq).to.equal(3);
    });

    it('of an empty log are empty', () => {
      expect(page(newLog())).to.deep.equal({ chunks: [], nextSeq: 1 });
      expect(page(newLog(), 7, 0)).to.deep.equal({ chunks: [], nextSeq: 1 });
    });

    it('begin at the oldest retained', () => {
      const log = attached(6);
      for (const text of ['aaa', 'bbb', 'ccc']) {
        append(log, text);
        sendAll(log);
      }
      expect(page(log, 0, 3)).to.deep.equal({ chunks: ['2 stdout bbb'], nextSeq: 3 });
    });
  });

  describe('knows whether something came after a number', () => {
    it('output, an exit and the close', () => {
      const log = attached();
      expect(log.hasEventAfter(0)).to.equal(false);
      append(log, 'a');
      expect([0, 1].map((seq) => log.hasEventAfter(seq))).to.deep.equal([true, false]);
      log.exited(0, null, 'exited');
      expect([1, 2].map((seq) => log.hasEventAfter(seq))).to.deep.equal([true, false]);
      log.closed();
      expect([2, 3].map((seq) => log.hasEventAfter(seq))).to.deep.equal([true, false]);
    });

    it('not output that is dropped', () => {
      const log = newLog(0);
      append(log, 'a');
      expect(log.hasEventAfter(0)).to.equal(false);
    });

    it('an exit, though the output around it is dropped', () => {
      const log = newLog(0);
      append(log, 'a');
      log.exited(0, null, 'exited');
      append(log, 'b');
      expect(log.hasEventAfter(1)).to.equal(true);
    });
  });

  describe('makes its sources wait', () => {
    it('above 128 KiB unsent, and until less than 64 KiB are left', () => {
      const log = attached();
      const told = recordingValve(log);
      for (let kib = 0; kib < 128; kib++) append(log, Buffer.alloc(KiB));
      expect(told).to.deep.equal([]);
      append(log, 'x');
      expect(told).to.deep.equal(['pause']);
      append(log, Buffer.alloc(KiB));
      expect(told).to.deep.equal(['pause']);
      while (log.unsentBytes >= 64 * KiB) {
        expect(told).to.deep.equal(['pause']);
        sendOne(log);
      }
      expect(told).to.deep.equal(['pause', 'resume']);
      sendAll(log);
      expect(told).to.deep.equal(['pause', 'resume']);
    });

    it('and a source that comes late', () => {
      const log = attached();
      append(log, Buffer.alloc(128 * KiB + 1));
      expect(recordingValve(log)).to.deep.equal(['pause']);
    });

    it('never without a reader', () => {
      const log = newLog();
      const told = recordingValve(log);
      append(log, Buffer.alloc(4096 * KiB));
      expect(told).to.deep.equal([]);
      expect(log.unsentBytes).to.equal(0);
    });
  });

  it('detached: nothing is unsent, the oldest is dropped, and the sources go on', () => {
    const log = attached(10);
    const told = recordingValve(log);
    append(log, Buffer.alloc(200 * KiB));
    append(log, 'tail', 'stderr');
    log.detach();
    expect(told).to.deep.equal(['pause', 'resume']);
    expect(log).to.include({ unsentBytes: 0, hasUnsent: false });
    expect(log.droppedBytes).to.equal(200 * KiB);
    const last = log.nextSeq - 1;
    expect(page(log).chunks).to.deep.equal([`${last} stderr tail`]);
    append(log, Buffer.alloc(1024 * KiB));
    expect(told).to.deep.equal(['pause', 'resume']);
    expect(log).to.include({ unsentBytes: 0, hasUnsent: false });
  });

  it('detached and attached again: new output is sent, with the numbers going on', () => {
    const log = attached();
    append(log, 'a');
    log.detach();
    append(log, 'b');
    log.attach({ onUnsent: () => undefined });
    append(log, 'c');
    const sent = sendAll(log);
    expect(sent).to.have.length(1);
    expect(sent[0]).to.match(/^\d+ stdout c$/);
    const { chunks } = log.page(0, NO_LIMIT, false);
    expect(Buffer.concat(chunks.map((chunk) => seen(chunk).bytes)).toString()).to.equal('abc');
    expect(chunks.map(({ seq }) => seq)).to.deep.equal(chunks.map((_, at) => at + 1));
  });

  it('released: gives up what is sent, sends what is not, and takes no more', () => {
    const log = attached();
    append(log, 'a');
    sendAll(log);
    append(log, 'b');
    log.exited(0, null, 'exited');
    log.release();
    append(log, 'c');
    expect(page(log).chunks).to.deep.equal(['2 stdout b']);
    expect(sendAll(log)).to.deep.equal(['2 stdout b', '3 exited']);
    expect(page(log).chunks).to.deep.equal([]);
    expect(retainedBytes(log)).to.equal(0);
  });

  it('gives exited and closed the numbers after all output before them', () => {
    const log = attached();
    log.exited(137, 'SIGKILL', 'signalled');
    expect(log.peekUnsent()).to.deep.equal({
      kind: 'exited',
      seq: 1,
      exitCode: 137,
      signal: 'SIGKILL',
      reason: 'signalled',
    });
    log.takeUnsent();
    log.closed();
    expect(log.peekUnsent()).to.deep.equal({ kind: 'closed', seq: 2 });
    expect(log.nextSeq).to.equal(3);
  });

  it('shows as JSON its counts, never its bytes', () => {
    const log = attached();
    append(log, 'canary');
    expect(JSON.parse(JSON.stringify(log))).to.deep.equal({
      nextSeq: 2,
      retainedBytes: 6,
      unsentBytes: 6,
      droppedBytes: 0,
    });
  });
});

/** Mulberry32: the same numbers for the same seed, from 0 up to (not including) `below`. */
const randomFrom = (seed: number): ((below: number) => number) => {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
};

/** All that a process wrote, and what the client has got of it; kept as plainly as can be. */
class Model {
  /** A letter for each byte: its stream. */
  streams = '';
  written = Buffer.alloc(0);
  /** Every chunk ever seen, by sending or reading: it must never change. */
  readonly known = new Map<number, Seen>();
  readonly sent: Seen[] = [];

  write(stream: Stream, bytes: Buffer): void {
    this.written = Buffer.concat([this.written, bytes]);
    this.streams += stream.slice(3, 4).repeat(bytes.length);
  }

  see(chunk: Seen): void {
    const before = this.known.get(chunk.seq);
    if (before !== undefined) {
      expect(chunk.stream).to.equal(before.stream);
      expect(chunk.bytes.equals(before.bytes), `chunk ${chunk.seq} has changed`).to.equal(true);
    }
    expect(chunk.bytes.length).to.be.within(1, MAX_CHUNK_BYTES);
    this.known.set(chunk.seq, chunk);
  }

  checkSent(): void {
    expect(this.sent.map(({ seq }) => seq)).to.deep.equal(this.sent.map((_, at) => at + 1));
    const bytes = Buffer.concat(this.sent.map((chunk) => chunk.bytes));
    expect(bytes.equals(this.written.subarray(0, bytes.length)), 'the bytes sent').to.equal(true);
    const streams = this.sent
      .map(({ stream, bytes: { length } }) => stream.slice(3, 4).repeat(length))
      .join('');
    expect(streams === this.streams.slice(0, streams.length), 'their streams').to.equal(true);
  }
}

/** The rules of process/read, applied to what is retained. */
const expectedPage = (retained: readonly Seen[], afterSeq: number, maxBytes: number): number[] => {
  const seqs: number[] = [];
  let sum = 0;
  for (const { seq, bytes } of retained.filter((chunk) => chunk.seq > afterSeq)) {
    if (seqs.length > 0 && (sum >= maxBytes || sum + bytes.length > maxBytes)) break;
    seqs.push(seq);
    sum += bytes.length;
  }
  return seqs;
};

describe('OutputLog against a naive model', () => {
  for (let seed = 1; seed <= 12; seed++) {
    it(`seed ${seed}`, () => {
      const random = randomFrom(seed);
      const cap = [0, 1, 100, 5_000, 100_000, 1_000_000][random(6)] ?? 0;
      const log = attached(cap);
      const told = recordingValve(log);
      const model = new Model();
      const longest = [3, 300, 10_000, 200_000][random(4)] ?? 3;

      const send = (): void => {
        const sent = sendOne(log);
        if (sent === undefined || typeof sent === 'string') return;
        model.see(sent);
        model.sent.push(sent);
      };
      const all = (): Seen[] => log.page(0, NO_LIMIT, false).chunks.map(seen);
      const read = (): void => {
        const afterSeq = random(log.nextSeq + 2);
        const maxBytes = random(2) === 0 ? random(50) : random(longest * 3);
        const { chunks, nextSeq } = log.page(afterSeq, maxBytes, true);
        const got = chunks.map(seen);
        for (const chunk of got) model.see(chunk);
        expect(nextSeq).to.equal(got.length > 0 ? (got.at(-1)?.seq ?? 0) + 1 : log.nextSeq);
        expect(got.map(({ seq }) => seq)).to.deep.equal(expectedPage(all(), afterSeq, maxBytes));
      };

      for (let step = 0; step < 400 && model.written.length < 3_000_000; step++) {
        const choice = random(10);
        if (choice < 5) {
          const bytes = Buffer.alloc(1 + random(longest), random(256));
          const stream = random(4) === 0 ? 'stderr' : 'stdout';
          model.write(stream, bytes);
          append(log, bytes, stream);
        } else if (choice < 9) {
          send();
        } else {
          read();
        }
        // full or not, as the two marks say
        if (log.unsentBytes > 128 * KiB) expect(told.at(-1)).to.equal('pause');
        if (log.unsentBytes < 64 * KiB) expect(told.at(-1) ?? 'resume').to.equal('resume');
        expect(log.unsentBytes).to.equal(
          model.written.length - model.sent.reduce((sum, { bytes }) => sum + bytes.length, 0),
        );
      }
      while (log.hasUnsent) send();

      model.checkSent();
      expect(model.sent.reduce((sum, { bytes }) => sum + bytes.length, 0)).to.equal(model.written.length);
      // retained: the longest tail of whole chunks that the cap allows
      const tail: number[] = [];
      let sum = 0;
      for (const { seq, bytes } of model.sent.toReversed()) {
        sum += bytes.length;
        if (sum > cap) break;
        tail.unshift(seq);
      }
      const retained = all();
      expect(retained.map(({ seq }) => seq)).to.deep.equal(tail);
      for (const chunk of retained) model.see(chunk);
      expect(log.droppedBytes + retainedBytes(log)).to.equal(model.written.length);
    });
  }
});
