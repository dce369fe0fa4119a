import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { left, right } from 'fp-ts/lib/Either.js';
import { parseToken, readTokenFile, Tokens } from '../src/token.js';
import { temporaryDirectory } from './support/files.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const file = (text: string, mode = 0o600): string => {
  const name = path.join(temporaryDirectory(), 'tokens');
  fs.writeFileSync(name, text);
  fs.chmodSync(name, mode);
  return name;
};

describe('Tokens', () => {
  const tokens = Tokens.of(['first-token', 'second-token']);

  it('know each of theirs, and keep them apart', () => {
    expect(tokens.principalOf('first-token')).to.equal(sha256('first-token'));
    expect(tokens.principalOf('second-token')).to.equal(sha256('second-token'));
  });

  for (const [what, shown] of [
    ['an empty one', ''],
    ['a shorter one', 'first-toke'],
    ['a longer one', 'first-token '],
    ['one of the same length', 'first-tokem'],
    ['one in other case', 'First-Token'],
    ['the digest', sha256('first-token')],
    ['one of a megabyte', 'x'.repeat(1_000_000)],
    ['both', 'first-token,second-token'],
  ] as const) {
    it(`do not know ${what}`, () => {
      expect(tokens.principalOf(shown)).to.equal(undefined);
    });
  }

  it('are known by a digest, in either case', () => {
    for (const hex of [sha256('first-token'), sha256('first-token').toUpperCase()]) {
      expect(Tokens.ofDigest(hex)?.principalOf('first-token')).to.equal(sha256('first-token'));
    }
    for (const hex of ['', 'f'.repeat(63), 'f'.repeat(65), 'g'.repeat(64), `${'f'.repeat(64)}\n`]) {
      expect(Tokens.ofDigest(hex), hex).to.equal(undefined);
    }
  });

  it('show nothing of themselves', () => {
    const known = Tokens.of(['canary-token']);
    expect(JSON.stringify(known) + inspect(known, { showHidden: true, depth: null })).to.not.match(
      /canary|[0-9a-f]{64}/,
    );
  });
});

describe('parseToken', () => {
  it('takes off the newline that ended it, and no more', () => {
    for (const text of ['a-token', 'a-token\n', 'a-token\r\n'])
      expect(parseToken(text)).to.deep.equal(right('a-token'));
  });

  it('refuses what no header can hold', () => {
    for (const text of ['', '\n']) expect(parseToken(text)).to.deep.equal(left('is empty'));
    for (const text of ['a b', 'a\n\n', ' a', 'a\tb', 'ä', 'a\0']) {
      expect(parseToken(text), JSON.stringify(text)).to.deep.equal(
        left('holds a blank, or what is not ASCII: a token has neither'),
      );
    }
  });
});

describe('readTokenFile', () => {
  it('reads one token a line, without blank lines and comments', () => {
    expect(readTokenFile(file('one\n'))).to.deep.equal(right(['one']));
    expect(readTokenFile(file('one'))).to.deep.equal(right(['one']));
    expect(readTokenFile(file('# of Ann\none\r\n\n \n#two\nthree', 0o400))).to.deep.equal(
      right(['one', 'three']),
    );
  });

  for (const mode of [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666, 0o777]) {
    it(`refuses one of mode ${mode.toString(8)}`, () => {
      const name = file('one\n', mode);
      expect(readTokenFile(name)).to.deep.equal(
        left(`is open to others than its owner; make it yours alone: chmod 600 ${name}`),
      );
    });
  }

  it('looks at the mode of the file that a link leads to', () => {
    const name = file('one\n', 0o644);
    fs.symlinkSync(name, `${name}.link`);
    expect(readTokenFile(`${name}.link`))
      .to.have.property('left')
      .that.includes('is open to others');
  });

  it('refuses one that holds none, or what can be none, without quoting it', () => {
    for (const text of ['', '\n\n', '# canary\n']) {
      expect(readTokenFile(file(text))).to.deep.equal(left('holds no token'));
    }
    expect(readTokenFile(file('one\n\ncanary token\n'))).to.deep.equal(
      left('holds a blank in line 3, or what is not ASCII: a token has neither'),
    );
  });

  it('tells why it cannot be read', () => {
    const directory = temporaryDirectory();
    fs.chmodSync(directory, 0o700);
    expect(readTokenFile(directory))
      .to.have.property('left')
      .that.matches(/^can't be read: EISDIR/);
    expect(readTokenFile(`${directory}/none`))
      .to.have.property('left')
      .that.matches(/^can't be read: ENOENT/);
  });
});
