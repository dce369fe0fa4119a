import { encodeBase64 } from '../base64.js';

/** Codings that fetch undoes. */
const UNDONE: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br']);

const isDecoded = ({ body, headers }: Response): boolean => {
  const codings = headers.get('content-encoding')?.toLowerCase().split(',') ?? [];
  return body !== null && codings.length > 0 && codings.every((coding) => UNDONE.has(coding.trim()));
};

/** Headers that tell of the body as it was on its way. */
const OF_THE_CODING: ReadonlySet<string> = new Set(['content-encoding', 'content-length']);

/** The result of http/request as JSON. The names of headers are in lower case, and sorted. */
export const encodeResponse = (response: Response, body: Uint8Array): string => {
  const decoded = isDecoded(response);
  const headers = [...response.headers]
    .filter(([name]) => !(decoded && OF_THE_CODING.has(name)))
    .map(([name, value]) => ({ name, value }));
  return `{"status":${response.status},"headers":${JSON.stringify(headers)},"bodyBase64":"${encodeBase64(body)}"}`;
};

/** A part of a body; with `end` the last word about it, an error or none. */
export type BodyDelta = {
  readonly requestId: string;
  readonly seq: number;
  readonly data: Uint8Array;
  readonly end?: { readonly error?: string };
};

/** The notification as JSON. */
export const encodeDelta = ({ requestId, seq, data, end }: BodyDelta): string => {
  const error = end?.error === undefined ? '' : `,"error":${JSON.stringify(end.error)}`;
  return (
    `{"method":"http/request/bodyDelta","params":{"requestId":${JSON.stringify(requestId)},"seq":${seq},` +
    `"deltaBase64":"${encodeBase64(data)}","done":${end !== undefined}${error}}}`
  );
};
