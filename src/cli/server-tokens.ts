import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import { parseToken, readTokenFile, Tokens } from '../token.js';

/** The tokens can't be had as it was asked for; the message is the line that says so. */
export class ServerTokenError extends Error {
  override readonly name = 'ServerTokenError';
}

type Sources = {
  readonly tokenFile?: string | undefined;
  readonly tokenSha256?: string | undefined;
  /** Where clients are listened for; a server over stdio has one, which has started it. */
  readonly isListener: boolean;
};

const orThrow = <T>(source: string, value: Either<string, T>): T => {
  if (isLeft(value)) throw new ServerTokenError(`${source} ${value.left}`);
  return value.right;
};

/**
 * The tokens of the server; undefined: it has none. Throws ServerTokenError, which never quotes a token.
 *
 * @param variable what EXEC_SERVER_TOKEN held; that of a server over stdio was meant for another
 */
export const serverTokens = (
  { tokenFile, tokenSha256, isListener }: Sources,
  variable: string | undefined,
): Tokens | undefined => {
  const given = [
    ...(tokenFile === undefined ? [] : ['--token-file']),
    ...(tokenSha256 === undefined ? [] : ['--token-sha256']),
    ...(variable === undefined || !isListener ? [] : ['EXEC_SERVER_TOKEN']),
  ];
  if (given.length > 0 && !isListener) {
    throw new ServerTokenError(`${given.join(' and ')}: only for --listen ws://IP:PORT and --unix PATH`);
  }
  if (given.length > 1) {
    throw new ServerTokenError(`${given.join(' and ')} exclude each other: give one of them`);
  }
  if (tokenFile !== undefined) {
    return Tokens.of(orThrow(`--token-file ${tokenFile}`, readTokenFile(tokenFile)));
  }
  if (tokenSha256 !== undefined) {
    const tokens = Tokens.ofDigest(tokenSha256);
    if (tokens !== undefined) return tokens;
    throw new ServerTokenError(
      '--token-sha256 must be 64 hex digits, as they are printed by: printf %s TOKEN | sha256sum',
    );
  }
  if (variable === undefined || !isListener) return undefined;
  return Tokens.of([orThrow('EXEC_SERVER_TOKEN', parseToken(variable))]);
};
