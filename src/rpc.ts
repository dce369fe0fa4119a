/**
 * The envelope of docs/protocol.md section 1: JSON-RPC without its version member. No JSON-RPC library
 * does without `"jsonrpc": "2.0"` or gives ids back as they came, so this is our own.
 */
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { isObject } from './codecs.js';

/** The codes of docs/protocol.md section 1. */
export const ErrorCode = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  limitReached: -32001,
  notFound: -32004,
  sessionAttached: -32010,
} as const;

export type RpcError = {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
};

/**
 * An id as the JSON text in which it came and goes back. Text, because a number beyond 2^53 would be
 * rounded, and the answer would carry the id of another request.
 */
export type RequestId = string;

export type Message =
  | { readonly kind: 'request'; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'response' };

/** The id of an answer to something that has no usable id. */
const NO_ID: RequestId = '-1';

const LOWEST_ID = -(2n ** 63n);
const HIGHEST_ID = 2n ** 63n - 1n;

/** The end (exclusive) of the JSON string that opens at `start`. */
const endOfString = (json: string, start: number): number => {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return end + 1;
  }
};

/** Behind a name: the colon and the first word of its value. */
const MEMBER_VALUE = /\s*:\s*([^\s,}]+)/y;

/** How the number of the top-level member `id` is written in this JSON object; JSON.parse took the text already. */
const writtenId = (json: string): string => {
  let found = '';
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const c = json[at];
    if (c === '{' || c === '[') depth++;
    else if (c === '}' || c === ']') depth--;
    else if (c === '"') {
      const end = endOfString(json, at);
      MEMBER_VALUE.lastIndex = end;
      const value = depth === 1 ? MEMBER_VALUE.exec(json) : null;
      // the last one of several counts, as it does for JSON.parse; a key may be written with escapes
      if (value?.[1] !== undefined && JSON.parse(json.slice(at, end)) === 'id') found = value[1];
      at = end - 1;
    }
  }
  return found;
};

/** Nearly every client writes the id first, or last; then there is no need to walk through the text. */
const PLAIN_ID = /^\s*\{\s*"id"\s*:\s*(-?\d+)\s*,|[,{]\s*"id"\s*:\s*(-?\d+)\s*\}\s*$/;

const parseId = (id: unknown, json: string): RequestId | undefined => {
  if (typeof id === 'string') return JSON.stringify(id);
  if (typeof id !== 'number') return undefined;
  const plain = PLAIN_ID.exec(json);
  const written = plain?.[1] ?? plain?.[2];
  if (written === String(id) && Number.isSafeInteger(id)) return written;
  const exact = writtenId(json);
  if (!/^-?\d+$/.test(exact)) return undefined;
  const value = BigInt(exact);
  return value >= LOWEST_ID && value <= HIGHEST_ID ? exact : undefined;
};

/** Reads one message. Left: what is wrong with it, in a sentence that quotes nothing of it. */
export const parseMessage = (json: string): Either<string, Message> => {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return left('the message is not JSON');
  }
  if (!isObject(value)) return left('the message is not a JSON object');
  const member = (name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);
  const method = member('method');
  const hasId = Object.hasOwn(value, 'id');
  const id = hasId ? parseId(value['id'], json) : undefined;
  if (hasId && id === undefined) {
    return left('id: expected a string or an integer from -2^63 to 2^63-1');
  }
  if (method === undefined) {
    return id !== undefined && (Object.hasOwn(value, 'result') || isObject(member('error')))
      ? right({ kind: 'response' })
      : left('method: expected a string');
  }
  if (typeof method !== 'string') return left('method: expected a string');
  const params = member('params');
  return right(
    id === undefined ? { kind: 'notification', method, params } : { kind: 'request', id, method, params },
  );
};

/** The JSON text of a successful answer. */
export const encodeResult = (id: RequestId, result: object): string =>
  `{"id":${id},"result":${JSON.stringify(result)}}`;

/** The JSON text of an error answer. */
export const encodeError = (id: RequestId, error: RpcError): string =>
  `{"id":${id},"error":${JSON.stringify(error)}}`;

/** The id of a message that is not to be parsed, if it is the first member and not too long to be sent back. */
const LEADING_ID =
  /^\s{0,8}\{\s{0,8}"id"\s{0,8}:\s{0,8}(-?(?:0|[1-9]\d{0,17})|"[^"\\\p{Cc}]{0,200}")\s{0,8},/u;

/** The answer to a message that would take too much to be read. */
export const encodeUnread = (json: string, error: RpcError): string =>
  encodeError(LEADING_ID.exec(json)?.[1] ?? NO_ID, error);

/** The answer to a message that has no usable id. */
export const encodeMalformed = (message: string): string =>
  encodeError(NO_ID, { code: ErrorCode.invalidRequest, message });
