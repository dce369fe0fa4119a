import { expect } from 'chai';
import { LineSplitter } from '../../src/wire/lines.js';

/** What a splitter makes of these pieces; in capitals what it says of a line that it doesn't give. */
const split = (
  pieces: readonly (string | Buffer)[],
  { maxBytes = 1_000, end = true }: { maxBytes?: number; end?: boolean } = {},
): string[] => {
  const lines: string[] = [];
  const splitter = new LineSplitter(maxBytes, {
    line: (text) => void lines.push(text),
    notUtf8: () => void lines.push('NOT UTF-8'),
    tooLong: () => void lines.push('TOO LONG'),
  });
  for (const piece of pieces) splitter.push(Buffer.from(piece));
  if (end) splitter.end();
  return lines;
};

const bytewise = (text: string): Buffer[] => [...Buffer.from(text)].map((byte) => Buffer.from([byte]));

describe('LineSplitter', () => {
  for (const [name, text, lines] of [
    ['lines', 'one\ntwo\n', ['one', 'two']],
    ['lines that end with CRLF', 'one\r\ntwo\r\n', ['one', 'two']],
    ['both kinds', 'one\r\ntwo\nthree\r\n', ['one', 'two', 'three']],
    ['characters of two, three and four bytes', 'é\n漢\n😀\n', ['é', '漢', '😀']],
    ['a last line that nothing ends', 'one\ntwo', ['one', 'two']],
    ['a last line that ends with CR', 'one\ntwo\r', ['one', 'two']],
    ['blank lines', '\n\none\n\r\n \t \n\ntwo\n\n', ['one', 'two']],
    ['nothing but blank lines', '\n\r\n\n   ', []],
    ['long lines of white space', `${' '.repeat(100)}\n${'\t'.repeat(17)}\r\none\n`, ['one']],
    ['white space around a line', '  one \t\n', ['  one \t']],
    ['a CR inside a line', 'a\rb\r\r\n', ['a\rb\r']],
    ['line ends of Unicode, which are none', 'a\u2028b\u0085c\n', ['a\u2028b\u0085c']],
    ['NUL', 'a\0b\n', ['a\0b']],
    ['nothing', '', []],
  ] as const) {
    it(`cuts ${name}`, () => {
      expect(split([text])).to.deep.equal(lines);
    });

    it(`cuts ${name}, byte by byte`, () => {
      expect(split(bytewise(text))).to.deep.equal(lines);
    });
  }

  it('gives a line as soon as it has ended, and no sooner', () => {
    expect(split(['one\ntw'], { end: false })).to.deep.equal(['one']);
    expect(split(['one\ntw', 'o'], { end: false })).to.deep.equal(['one']);
    expect(split(['one\ntw', 'o\n'], { end: false })).to.deep.equal(['one', 'two']);
  });

  it('says which line is no UTF-8, and goes on', () => {
    const bytes = [Buffer.from('one\n\xe9\n', 'latin1'), Buffer.from([0xf0, 0x9f, 0x98, 0x0a]), 'two\n'];
    const expected = ['one', 'NOT UTF-8', 'NOT UTF-8', 'two'];
    expect(split(bytes)).to.deep.equal(expected);
    expect(split([Buffer.concat(bytes.map((piece) => Buffer.from(piece)))])).to.deep.equal(expected);
  });

  it('puts a line together that comes in thousands of pieces, short and long', () => {
    const line = Array.from({ length: 3_000 }, (_, at) =>
      at % 700 < 500 ? 'é' : `${at},`.repeat(1_000),
    ).join('');
    const pieces: Buffer[] = [];
    const bytes = Buffer.from(`${line}\nnext\n`);
    for (let at = 0, length = 1; at < bytes.length; at += length) {
      length = pieces.length % 2_000 < 1_000 ? 1 : 3_000;
      pieces.push(bytes.subarray(at, at + length));
    }
    expect(pieces.length).to.be.greaterThan(1_000);
    expect(split(pieces, { maxBytes: bytes.length })).to.deep.equal([line, 'next']);
  });

  it('takes a line of exactly the limit', () => {
    for (const end of ['\n', '']) {
      expect(split([`${'x'.repeat(10)}${end}`], { maxBytes: 10 })).to.deep.equal(['x'.repeat(10)]);
      expect(split(bytewise(`${'x'.repeat(10)}${end}`), { maxBytes: 10 })).to.deep.equal(['x'.repeat(10)]);
    }
  });

  it('takes a line of exactly the limit that ends with CRLF', () => {
    expect(split([`${'x'.repeat(10)}\r\ny\n`], { maxBytes: 10 })).to.deep.equal(['x'.repeat(10), 'y']);
    expect(split(bytewise(`${'x'.repeat(10)}\r\ny\n`), { maxBytes: 10 })).to.deep.equal([
      'x'.repeat(10),
      'y',
    ]);
  });

  it('counts bytes, not characters', () => {
    expect(split(['éé\n'], { maxBytes: 4 })).to.deep.equal(['éé']);
    expect(split(['éé\n'], { maxBytes: 3 })).to.deep.equal(['TOO LONG']);
  });

  it('says once that a line is too long, and gives nothing after it', () => {
    const text = `one\n${'x'.repeat(11)}\ntwo\n${'y'.repeat(11)}\n`;
    expect(split([text], { maxBytes: 10 })).to.deep.equal(['one', 'TOO LONG']);
    expect(split(bytewise(text), { maxBytes: 10 })).to.deep.equal(['one', 'TOO LONG']);
  });

  it('says so before the line has ended', () => {
    const line = 'x'.repeat(10);
    expect(split([`${line}x`], { maxBytes: 10, end: false })).to.deep.equal(['TOO LONG']);
    // this may be the CR of a CRLF
    expect(split([`${line}\r`], { maxBytes: 10, end: false })).to.deep.equal([]);
    expect(split([`${line}\r`, 'y'], { maxBytes: 10, end: false })).to.deep.equal(['TOO LONG']);
  });
});
