import { expect } from 'chai';
import { left, right } from 'fp-ts/lib/Either.js';
import { parseListenUrl } from '../src/listen-url.js';

describe('parseListenUrl', () => {
  for (const url of ['stdio', 'stdio://']) {
    it(`${url} is stdio`, () => {
      expect(parseListenUrl(url)).to.deep.equal(right({ kind: 'stdio' }));
    });
  }

  for (const [url, host, port] of [
    ['ws://127.0.0.1:0', '127.0.0.1', 0],
    ['ws://127.0.0.1:8080', '127.0.0.1', 8080],
    ['ws://0.0.0.0:65535', '0.0.0.0', 65_535],
    ['ws://[::1]:1', '[::1]', 1],
    ['ws://[::]:0', '[::]', 0],
    ['ws://[2001:db8::7]:443', '[2001:db8::7]', 443],
    ['ws://[::ffff:127.0.0.1]:80', '[::ffff:127.0.0.1]', 80],
  ] as const) {
    it(`${url} is ${host} and ${port}`, () => {
      expect(parseListenUrl(url)).to.deep.equal(right({ kind: 'ws', host, port }));
    });
  }

  for (const url of [
    '',
    'http://127.0.0.1:80',
    'wss://127.0.0.1:80',
    'WS://127.0.0.1:80',
    'STDIO',
    'stdio:',
    'stdio:///',
    'stdio://x',
    'unix:///run/x',
    '127.0.0.1:80',
    ' ws://127.0.0.1:80',
  ]) {
    it(`${JSON.stringify(url)} is unsupported`, () => {
      expect(parseListenUrl(url)).to.deep.equal(
        left(`unsupported --listen URL \`${url}\`; expected \`stdio://\` or \`ws://IP:PORT\``),
      );
    });
  }

  for (const url of [
    'ws://',
    'ws://:80',
    'ws://127.0.0.1',
    'ws://127.0.0.1:',
    'ws://127.0.0.1:65536',
    'ws://127.0.0.1:99999',
    'ws://127.0.0.1:100000',
    'ws://127.0.0.1:-1',
    'ws://127.0.0.1:+1',
    'ws://127.0.0.1:8o',
    'ws://127.0.0.1:80 ',
    'ws://127.0.0.1:80\n',
    'ws://127.0.0.1:80/',
    'ws://127.0.0.1:80/x',
    'ws://127.0.0.1:80?x',
    'ws://127.0.0.1:80#x',
    'ws://user@127.0.0.1:80',
    'ws://256.0.0.1:80',
    'ws://127.1:80',
    'ws://127.0.0.01:80',
    'ws://2130706433:80',
    'ws://localhost:80',
    'ws://example.com:80',
    'ws://::1:80',
    'ws://[::1:80',
    'ws://::1]:80',
    'ws://[127.0.0.1]:80',
    'ws://[]:80',
    'ws://[::1]',
    'ws://[::1]80',
    'ws://[::g]:80',
  ]) {
    it(`${JSON.stringify(url)} is invalid`, () => {
      expect(parseListenUrl(url)).to.deep.equal(
        left(`invalid websocket --listen URL \`${url}\`; expected \`ws://IP:PORT\``),
      );
    });
  }
});
