import type { Params } from '../protocol.js';
import { ErrorCode, type RequestId, type RpcError } from '../rpc.js';

/**
 * What is sent to whom. A class with a `toJSON`, so that an inspector sees what kind of request it is: its URL,
 * its headers and its body may hold secrets.
 */
export class Outgoing {
  constructor(
    /** The client's key of the body, if it is streamed. */
    readonly requestId: string,
    readonly isStreamed: boolean,
    /** For all of it, the body of the response too. */
    readonly timeoutMs: number | undefined,
    readonly url: string,
    readonly init: RequestInit,
  ) {}

  toJSON(): object {
    const { requestId, isStreamed, timeoutMs } = this;
    return { requestId, isStreamed, timeoutMs };
  }
}

/** An http/request on its way to the actor that serves it: something to send, or why not. */
export type HttpRequest = { readonly type: 'http.request'; readonly id: RequestId } & (
  { readonly outgoing: Outgoing } | { readonly refusal: RpcError }
);

/** A token of RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Those that fetch sends for nobody: they would make a tunnel, or show a proxy's own headers. */
const FORBIDDEN: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

const refuse = (message: string): { readonly refusal: RpcError } => ({
  refusal: { code: ErrorCode.invalidParams, message },
});

/** Undefined: not a header that HTTP could carry. Repeated ones are joined, as RFC 9110 section 5.3 has it. */
const appended = (headers: Headers, name: string, value: string): Headers | undefined => {
  try {
    headers.append(name, value);
    return headers;
  } catch {
    return undefined; // its message would quote the value
  }
};

/** What is wrong is told in this order: method, URL, headers, body. */
export const outgoing = (
  params: Params<'http/request'>,
): { readonly outgoing: Outgoing } | { readonly refusal: RpcError } => {
  const { method, requestId, timeoutMs, redirectPolicy = 'follow', streamResponse = false } = params;
  if (!TOKEN.test(method) || FORBIDDEN.has(method.toUpperCase())) {
    return refuse('method: expected a method of HTTP other than CONNECT, TRACE and TRACK');
  }
  const url = URL.canParse(params.url) ? new URL(params.url) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    return refuse('url: expected an http: or https: URL');
  }
  if (url.username !== '' || url.password !== '') {
    return refuse('url: expected no credentials; they belong in the header Authorization');
  }
  const headers = new Headers();
  for (const [index, { name, value }] of (params.headers ?? []).entries()) {
    if (appended(headers, name, value) === undefined) {
      return refuse(`headers[${index}]: expected a name and a value that HTTP allows`);
    }
  }
  // it is that of the body here, whatever the client counted
  headers.delete('content-length');
  // fetch would ask for compressed bodies by itself
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity');

  const body = params.bodyBase64?.data;
  const hasBody = body !== undefined && body.length > 0;
  if (hasBody && BODILESS.has(method.toUpperCase())) {
    return refuse('bodyBase64: expected none with GET and HEAD');
  }
  return {
    outgoing: new Outgoing(requestId, streamResponse, timeoutMs, url.href, {
      method,
      headers,
      // a Blob can be sent again after a redirection; of bare bytes undici 6 has given the buffer away by then
      body: hasBody ? new Blob([body]) : null,
      redirect: redirectPolicy === 'follow' ? 'follow' : 'manual',
    }),
  };
};
