import { expect } from 'chai';
import { Bytes, decodeBase64, encodeBase64 } from '../src/base64.js';

describe('decodeBase64', () => {
  for (const [text, bytes] of [
    ['', []],
    ['AA==', [0]],
    ['/w==', [255]],
    ['AAE=', [0, 1]],
    ['+/+/', [251, 255, 191]],
    ['AAECAwQ=', [0, 1, 2, 3, 4]],
  ] as const) {
    it(`decodes «${text}»`, () => {
      expect([...(decodeBase64(text) ?? [])]).to.deep.equal(bytes);
      expect(encodeBase64(Uint8Array.from(bytes))).to.equal(text);
    });
  }

  for (const [name, text] of [
    ['the URL-safe -', '-/-/'],
    ['the URL-safe _', 'AA_A'],
    ['no padding', 'AA'],
    ['half the padding', 'AA='],
    ['too much padding', 'AAAA===='],
    ['padding alone', '===='],
    ['one = alone', '='],
    ['padding inside', 'AA==AAAA'],
    ['a symbol alone', 'A==='],
    ['a space', 'AA AA==='],
    ['a leading space', ' AAA'],
    ['a trailing space', 'AAA '],
    ['a newline at the end', 'AAAA\n'],
    ['newlines to a multiple of four', 'AAAA\n\n\n\n'],
    ['a line break inside', 'AA\r\nAA=='],
    ['stray bits before ==', 'AB=='],
    ['stray bits before =', 'AAB='],
    ['a character of no alphabet', 'AA*A'],
    ['a NUL', 'AAA\0'],
    ['letters beyond ASCII', 'ÀÀÀÀ'],
    ['a full-width letter', 'AAAＡ'],
    ['a data URL', 'data:;base64,AAA'],
  ] as const) {
    it(`refuses ${name}`, () => {
      expect(decodeBase64(text)).to.equal(undefined);
    });
  }

  it('decodes every byte at every offset', () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    for (let start = 0; start < 4; start++) {
      const bytes = all.subarray(start);
      expect(Buffer.from(decodeBase64(encodeBase64(bytes)) ?? []).equals(bytes)).to.equal(true);
    }
  });

  it('decodes 40 MB, and finds one wrong character at their end', () => {
    const text = 'QUJD'.repeat(10_000_000);
    expect(decodeBase64(text)?.length).to.equal(30_000_000);
    expect(decodeBase64(`${text.slice(0, -1)}-`)).to.equal(undefined);
  });
});

describe('encodeBase64', () => {
  it('encodes a view of a larger buffer as that view', () => {
    expect(encodeBase64(new Uint8Array([9, 0, 1, 9]).subarray(1, 3))).to.equal('AAE=');
  });
});

describe('Bytes', () => {
  it('shows as JSON how many there are, never what they are', () => {
    const json = JSON.stringify({ chunk: new Bytes(Buffer.from('canary')) });
    expect(json).to.equal('{"chunk":{"byteLength":6}}');
  });
});
