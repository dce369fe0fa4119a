import { expect } from 'chai';
import { left, right } from 'fp-ts/lib/Either.js';
import { absolutePath } from '../src/file-uri.js';

const FORM = 'expected an absolute path, or a file: URI without query and fragment';
const HOST = 'the host of a file: URI must be localhost';
const SLASH = 'a file: URI must not hide a / in %2F';
const NUL = 'expected a path without NUL';
const UTF8 = 'the %-sequences of a file: URI must be UTF-8';

describe('absolutePath', () => {
  for (const [text, path] of [
    ['/', '/'],
    ['/tmp/x', '/tmp/x'],
    ['file:///', '/'],
    ['file:///tmp/x', '/tmp/x'],
    ['file:/tmp/x', '/tmp/x'],
    ['file://localhost/tmp', '/tmp'],
    ['file://LocalHost/tmp', '/tmp'],
    ['FILE:///tmp', '/tmp'],
    ['File://LOCALHOST/Tmp', '/Tmp'],
    // percent sequences
    ['file:///a%20b', '/a b'],
    ['file:///a b', '/a b'],
    ['file:///%C3%A9', '/é'],
    ['file:///%c3%a9', '/é'],
    ['file:///é', '/é'],
    ['file:///%F0%9F%98%80', '/😀'],
    ['file:///a%23b%3Fc', '/a#b?c'],
    ['file:///100%25', '/100%'],
    ['file:///%2541', '/%41'],
    ['file:///a%0Ab', '/a\nb'],
    ['file:///a%5Cb', '/a\\b'],
    ['file:///%7Euser', '/~user'],
    // nothing is tidied up
    ['file:///a/../b/./c//d/', '/a/../b/./c//d/'],
    ['file:///a\\b', '/a\\b'],
    ['file:///a\nb', '/a\nb'],
    ['file:///a\tb', '/a\tb'],
    ['file:///a+b', '/a+b'],
    // a path is not decoded
    ['/a%20b', '/a%20b'],
    ['/a?b#c', '/a?b#c'],
    ['/%', '/%'],
    ['/%2F', '/%2F'],
    ['/a\\b\n', '/a\\b\n'],
    ['//host/x', '//host/x'],
    ['file:////host/x', '//host/x'],
  ] as const) {
    it(`${JSON.stringify(text)} is ${JSON.stringify(path)}`, () => {
      expect(absolutePath(text)).to.deep.equal(right(path));
    });
  }

  for (const [text, reason] of [
    ['', FORM],
    ['tmp', FORM],
    ['./tmp', FORM],
    ['~', FORM],
    ['\\tmp', FORM],
    [' /tmp', FORM],
    ['\n/tmp', FORM],
    ['C:\\tmp', FORM],
    ['file:', FORM],
    ['file:tmp', FORM],
    ['file://', FORM],
    ['file://localhost', FORM],
    ['file://example.com', FORM],
    ['file://example.com?a', FORM],
    [' file:///tmp', FORM],
    ['http:///tmp', FORM],
    ['https://localhost/tmp', FORM],
    ['xfile:///tmp', FORM],
    ['file:///tmp?query', FORM],
    ['file:///tmp?', FORM],
    ['file:///tmp#fragment', FORM],
    ['file:///tmp#', FORM],
    ['file:///tmp?a#b', FORM],
    ['file://example.com/tmp', HOST],
    ['file://127.0.0.1/tmp', HOST],
    ['file://localhost.evil.example/tmp', HOST],
    ['file://localhost:80/tmp', HOST],
    ['file://user@localhost/tmp', HOST],
    ['file://%6cocalhost/tmp', HOST],
    ['file://C:/tmp', HOST],
    ['file:///a%2Fb', SLASH],
    ['file:///a%2fb', SLASH],
    ['file:///a%00b', NUL],
    ['file:///%', UTF8],
    ['file:///%4', UTF8],
    ['file:///%zz', UTF8],
    ['file:///%FF', UTF8],
    ['file:///%C3', UTF8],
    ['file:///%C0%AF', UTF8],
    ['file:///%ED%A0%80', UTF8],
  ] as const) {
    it(`${JSON.stringify(text)} is refused`, () => {
      expect(absolutePath(text)).to.deep.equal(left(reason));
    });
  }
});
