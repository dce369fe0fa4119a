import { expect } from 'chai';
import { lineFraming, MAX_FRAME_BYTES, webSocketFraming } from '../../src/wire/framing.js';

type Frame = {
  readonly fin: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
  readonly headerBytes: number;
};

/** Reads frames as RFC 6455 section 5.2 says, and refuses what a server may not send. */
const parseFrames = (bytes: Buffer): Frame[] => {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length;) {
    const first = bytes.readUInt8(at);
    const second = bytes.readUInt8(at + 1);
    expect(first & 0x70, 'reserved bits').to.equal(0);
    expect(second & 0x80, 'mask').to.equal(0);
    let length = second;
    let headerBytes = 2;
    if (second === 126) {
      length = bytes.readUInt16BE(at + 2);
      headerBytes = 4;
      expect(length, 'the shortest form').to.be.at.least(126);
    } else if (second === 127) {
      length = Number(bytes.readBigUInt64BE(at + 2));
      headerBytes = 10;
      expect(length, 'the shortest form').to.be.at.least(65_536);
    }
    const start = at + headerBytes;
    at = start + length;
    expect(at).to.be.at.most(bytes.length);
    frames.push({
      fin: (first & 0x80) !== 0,
      opcode: first & 0x0f,
      payload: bytes.subarray(start, at),
      headerBytes,
    });
  }
  return frames;
};

const payloadOf = (length: number): Buffer => Buffer.alloc(length, 'abcdefghijk');

const TEXT = 1;
const CONTINUATION = 0;
const MiB = 1024 * 1024;

describe('webSocketFraming', () => {
  it('makes no frame longer than 8 MiB', () => {
    expect(MAX_FRAME_BYTES).to.equal(8 * MiB);
  });

  for (const [length, headerBytes] of [
    [0, 2],
    [1, 2],
    [125, 2],
    [126, 4],
    [127, 4],
    [65_535, 4],
    [65_536, 10],
    [8 * MiB, 10],
  ] as const) {
    it(`sends ${length} bytes as one frame with a header of ${headerBytes}`, () => {
      const payload = payloadOf(length);
      const frames = parseFrames(Buffer.concat(webSocketFraming.frame(payload)));
      expect(frames.map(({ fin, opcode, headerBytes: header }) => [fin, opcode, header])).to.deep.equal([
        [true, TEXT, headerBytes],
      ]);
      expect(frames[0]?.payload.equals(payload)).to.equal(true);
    });
  }

  for (const [length, lengths] of [
    [8 * MiB + 1, [8 * MiB, 1]],
    [16 * MiB, [8 * MiB, 8 * MiB]],
    [20 * MiB + 7, [8 * MiB, 8 * MiB, 4 * MiB + 7]],
  ] as const) {
    it(`sends ${length} bytes as ${lengths.length} frames`, () => {
      const payload = payloadOf(length);
      const frames = parseFrames(Buffer.concat(webSocketFraming.frame(payload)));
      expect(frames.map((frame) => frame.payload.length)).to.deep.equal(lengths);
      expect(frames.map(({ opcode }) => opcode)).to.deep.equal(
        lengths.map((_, index) => (index === 0 ? TEXT : CONTINUATION)),
      );
      expect(frames.map(({ fin }) => fin)).to.deep.equal(
        lengths.map((_, index) => index === lengths.length - 1),
      );
      expect(Buffer.concat(frames.map((frame) => frame.payload)).equals(payload)).to.equal(true);
    });
  }

  it('writes the header alone, anywhere in a buffer', () => {
    for (const length of [0, 125, 126, 65_535, 65_536, 8 * MiB]) {
      const out = Buffer.alloc(20 + length, 0xee);
      const end = webSocketFraming.writeHeader(out, 3, length);
      expect([...out.subarray(0, 3)]).to.deep.equal([0xee, 0xee, 0xee]);
      expect(out[end]).to.equal(0xee);
      const [frame] = parseFrames(out.subarray(3, end + length));
      expect(frame).to.deep.include({ fin: true, opcode: TEXT, headerBytes: end - 3 });
      expect(frame?.payload.length).to.equal(length);
    }
    expect(webSocketFraming.trailer.length).to.equal(0);
  });
});

describe('lineFraming', () => {
  it('ends each message with a newline', () => {
    expect(Buffer.concat(lineFraming.frame(Buffer.from('{}'))).toString()).to.equal('{}\n');
    expect(lineFraming.trailer.toString()).to.equal('\n');
  });

  it('has no header', () => {
    const out = Buffer.alloc(4, 0xee);
    expect(lineFraming.writeHeader(out, 2, 1_000)).to.equal(2);
    expect([...out]).to.deep.equal([0xee, 0xee, 0xee, 0xee]);
  });
});
