import { type Either, left, right } from 'fp-ts/lib/Either.js';

/** Two slashes after the colon begin a host; without them the path must not begin with two. */
const FILE_URI = /^file:(?:\/\/(?<host>[^/?#]*)|(?!\/\/))(?<path>\/[^?#]*)$/i;

/**
 * The absolute path that a `file:` URI or a path names (docs/protocol.md, process/start). Left: what is
 * wrong, to follow the member's name. By hand, because `fileURLToPath` turns `\` into `/` and drops tabs
 * and newlines, which are good characters of a file name here.
 */
export const absolutePath = (text: string): Either<string, string> => {
  if (text.startsWith('/')) return right(text);
  const { host = '', path } = FILE_URI.exec(text)?.groups ?? {};
  if (path === undefined) return left('expected an absolute path, or a file: URI without query and fragment');
  if (host !== '' && host.toLowerCase() !== 'localhost')
    return left('the host of a file: URI must be localhost');
  if (/%2f/i.test(path)) return left('a file: URI must not hide a / in %2F');
  try {
    const decoded = decodeURIComponent(path);
    return decoded.includes('\0') ? left('expected a path without NUL') : right(decoded);
  } catch {
    return left('the %-sequences of a file: URI must be UTF-8');
  }
};
