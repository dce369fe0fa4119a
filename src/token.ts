import { createHash, timingSafeEqual } from 'node:crypto';
import fs from 'node:fs';
import { type Either, left, right } from 'fp-ts/lib/Either.js';

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** What an Authorization header holds without quoting: printable ASCII, no blank. */
const isToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);

/**
 * The tokens that open a server, known by their SHA-256 digests alone. Digests are of one length and compared
 * in constant time, each of them for every text that is shown: how long that takes tells nothing.
 */
export class Tokens {
  readonly #digests: readonly Buffer[];

  private constructor(digests: readonly Buffer[]) {
    this.#digests = digests;
  }

  static of(tokens: readonly string[]): Tokens {
    return new Tokens(tokens.map(sha256));
  }

  /** @param hex of one token's SHA-256; undefined if it isn't of 64 hex digits */
  static ofDigest(hex: string): Tokens | undefined {
    return /^[0-9a-f]{64}$/i.test(hex) ? new Tokens([Buffer.from(hex, 'hex')]) : undefined;
  }

  /** Who shows this: an opaque name, the same for the same token. Undefined: it is none of the tokens. */
  principalOf(shown: string): string | undefined {
    const digest = sha256(shown);
    const [known] = this.#digests.filter((other) => timingSafeEqual(other, digest));
    return known?.toString('hex');
  }
}

/** One token that came as a text, without the newline that its file or command ended it with. */
export const parseToken = (text: string): Either<string, string> => {
  const token = text.replace(/\r?\n$/, '');
  if (token === '') return left('is empty');
  return isToken(token) ? right(token) : left('holds a blank, or what is not ASCII: a token has neither');
};

/** One a line; blank lines, and those that begin with `#`, are none. */
const parseTokens = (text: string): Either<string, readonly string[]> => {
  const lines = text.split('\n').map((line, at) => ({ token: line.replace(/\r$/, ''), at: at + 1 }));
  const written = lines.filter(({ token }) => /\S/.test(token) && !token.startsWith('#'));
  if (written.length === 0) return left('holds no token');
  const bad = written.find(({ token }) => !isToken(token));
  if (bad !== undefined)
    return left(`holds a blank in line ${bad.at}, or what is not ASCII: a token has neither`);
  return right(written.map(({ token }) => token));
};

/** Group and others: read, write, execute. */
const OTHERS = 0o077;

/**
 * The tokens in a file, at least one. Left: why it can't be used, as what follows its name in a sentence; what
 * is in it is never told. The mode is that of the file that was opened, not of one that has taken its name.
 */
export const readTokenFile = (path: string): Either<string, readonly string[]> => {
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(path, 'r');
    const { mode } = fs.fstatSync(descriptor);
    if ((mode & OTHERS) !== 0) {
      return left(`is open to others than its owner; make it yours alone: chmod 600 ${path}`);
    }
    return parseTokens(fs.readFileSync(descriptor, 'utf8'));
  } catch (error) {
    return left(`can't be read: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
};
