import { expect } from 'chai';
import { plainServe } from '../../src/cli/plain-serve.js';
import { DEFAULT_LIMITS } from '../../src/limits.js';

describe('a plain start of the server', () => {
  it('takes the defaults, a URL, a level of the log', () => {
    expect(plainServe([])).to.deep.equal({
      listen: 'stdio://',
      allowTokenInProtocol: false,
      handshakeTimeout: 10,
      logLevel: 'info',
      retention: 30,
      detachedTtl: 90,
      externalSandbox: false,
      allowHttp: false,
      sweep: false,
      allowHost: [],
      trace: false,
      limits: DEFAULT_LIMITS,
    });
    expect(plainServe(['--listen', 'ws://127.0.0.1:0', '--log-level', 'warn'])).to.include({
      listen: 'ws://127.0.0.1:0',
      logLevel: 'warn',
    });
    expect(plainServe(['--listen', 'one', '--listen', ''])).to.include({ listen: '' });
  });

  for (const words of [
    ['serve'],
    ['--help'],
    ['--version'],
    ['--listen'],
    ['--listen=stdio://'],
    ['--log-level', 'loud'],
    ['--listen', 'stdio://', '--trace'],
    ['run', 'true'],
  ]) {
    it(`leaves ${words.join(' ')} to the parser of all commands`, () => {
      expect(plainServe(words)).to.equal(undefined);
    });
  }
});
