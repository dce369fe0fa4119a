import { expect } from 'chai';
import { Bytes } from '../../src/base64.js';
import { Block } from '../../src/output/blocks.js';
import {
  commandNames,
  encodeAround,
  NotificationEncoder,
  type NotificationNames,
  processNames,
} from '../../src/output/encode.js';
import type { Chunk } from '../../src/output/record.js';
import { methods, notifications, type Stream } from '../../src/protocol.js';
import { lineFraming } from '../../src/wire/framing.js';

const processIds: Readonly<Record<string, string>> = {
  plain: 'p-1',
  empty: '',
  quotes: '"\\\'`',
  'control characters': '\0\n\r\t\u001f\u007f\u2028',
  emoji: '😀 é ß 漢字',
  'half a surrogate pair': 'a\ud800b\udc00',
  __proto__: '__proto__',
  long: 'lang… '.repeat(3_334).slice(0, 20_000),
};

const lengths = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255, 256, 257, 4_095, 4_096, 32_769, 65_533, 65_534, 65_535, 65_536,
];

/** Every byte there is, from somewhere inside a block. */
const chunkOf = (seq: number, stream: Stream, length: number): Chunk => {
  const start = 5;
  const bytes = Buffer.from(Array.from({ length: start + length + 3 }, (_, at) => (at * 7 + seq) % 256));
  return { kind: 'chunk', seq, stream, block: new Block(bytes), start, length };
};

const bytesOf = ({ block, start, length }: Chunk): Bytes =>
  new Bytes(block.bytes.subarray(start, start + length));

const byCodec = (processId: string, names: NotificationNames, chunk: Chunk): string => {
  const { seq, stream } = chunk;
  const params = notifications[names.output].encode({ processId, seq, stream, chunk: bytesOf(chunk) });
  return JSON.stringify({ method: names.output, params });
};

describe('NotificationEncoder', () => {
  for (const [name, processId] of Object.entries(processIds)) {
    it(`writes output as JSON.stringify and the codec do: processId ${name}`, () => {
      for (const names of [processNames, commandNames]) {
        const encoder = new NotificationEncoder(processId, names);
        for (const length of lengths) {
          for (const [seq, stream] of [
            [1, 'stdout'],
            [10, 'stderr'],
            [Number.MAX_SAFE_INTEGER, 'pty'],
          ] as const) {
            const chunk = chunkOf(seq, stream, length);
            const out = Buffer.alloc(7 + encoder.sizeOf(chunk), 0xee);
            const end = encoder.encodeOutput(chunk, lineFraming, out, 7);
            expect(out.toString('utf8', 7, end)).to.equal(`${byCodec(processId, names, chunk)}\n`);
            expect(end).to.be.at.most(out.length);
            expect(encoder.encode(chunk)).to.equal(byCodec(processId, names, chunk));
          }
        }
      }
    });

    it(`writes the ends as JSON.stringify and the codecs do: processId ${name}`, () => {
      for (const names of [processNames, commandNames]) {
        const encoder = new NotificationEncoder(processId, names);
        for (const [exitCode, signal, reason] of [
          [0, null, 'exited'],
          [255, null, 'terminated'],
          [137, 'SIGKILL', 'signalled'],
        ] as const) {
          const params = notifications[names.exited].encode({
            processId,
            seq: 12,
            exitCode,
            signal,
            sandboxDenied: false,
            reason,
          });
          expect(encoder.encode({ kind: 'exited', seq: 12, exitCode, signal, reason })).to.equal(
            JSON.stringify({ method: names.exited, params }),
          );
        }
      }
      const closed = { kind: 'closed', seq: 13 } as const;
      expect(new NotificationEncoder(processId, processNames).encode(closed)).to.equal(
        JSON.stringify({
          method: 'process/closed',
          params: notifications['process/closed'].encode({ processId, seq: 13 }),
        }),
      );
      expect(new NotificationEncoder(processId, commandNames).encode(closed)).to.equal(undefined);
    });
  }
});

describe('encodeAround', () => {
  it('writes the chunks of an answer as JSON.stringify and the codec do', () => {
    const chunks = lengths.map((length, index) =>
      chunkOf(index + 1, index % 2 === 0 ? 'stdout' : 'pty', length),
    );
    const result = methods['process/read'].result.encode({
      chunks: chunks.map((chunk) => ({ seq: chunk.seq, stream: chunk.stream, chunk: bytesOf(chunk) })),
      nextSeq: 1,
      exited: false,
      exitCode: null,
      signal: undefined,
      reason: undefined,
      closed: false,
      failure: null,
      sandboxDenied: false,
      droppedBytes: 0,
    });
    expect(encodeAround('[', chunks, ']').toString()).to.equal(JSON.stringify(result.chunks));
  });

  it('writes nothing for nothing', () => {
    expect(encodeAround('é[', [], ']é').toString()).to.equal('é[]é');
  });
});
