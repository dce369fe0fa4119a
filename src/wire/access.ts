import type http from 'node:http';
import net from 'node:net';
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { Tokens } from '../token.js';
import { FailedAttempts } from './attempts.js';

export type AccessOptions = {
  /** Names for this server that a Host header may have, besides the address and the loopback names. */
  readonly allowedHosts: readonly string[];
  /** Whoever shows one of these is let in. Undefined: everybody is. */
  readonly tokens?: Tokens | undefined;
  /** A token may come as a WebSocket sub-protocol too, for clients that can't set headers. */
  readonly tokenInProtocol?: boolean | undefined;
};

/** Why a request is not served. The reason is for the log and never leaves the server. */
export type Refusal = {
  readonly status: 400 | 401 | 403 | 404 | 429 | 503;
  readonly reason: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** One of many alike: the log has had its line. */
  readonly isRepeated?: boolean;
};

/** Who was let in. */
export type Visitor = {
  /** Opaque: the same for the same token. Undefined: nobody was asked for one. */
  readonly principal: string | undefined;
};

/** A sub-protocol that carries a token, in base64url without padding, begins so. It is never answered. */
export const TOKEN_PROTOCOL = 'exec-server.token.';

export const unwrapped = (host: string): string => host.replace(/^\[|\]$/g, '');

/** The name in a Host header, without its port. */
const hostName = (header: string): string => unwrapped(header.replace(/:\d+$/, '')).toLowerCase();

const isLoopbackName = (name: string): boolean =>
  name === 'localhost' || name === '::1' || (net.isIPv4(name) && name.startsWith('127.'));

/** Without its query. */
export const pathOf = ({ url = '' }: http.IncomingMessage): string => url.replace(/\?.*$/s, '');

/** Who asks whether the server lives: an orchestrator has no token. */
export const isProbe = (request: http.IncomingMessage): boolean =>
  request.method === 'GET' && ['/readyz', '/healthz'].includes(pathOf(request));

/** A WebSocket is opened by GET, at `/`. */
export const mayUpgrade = (request: http.IncomingMessage): Either<Refusal, undefined> => {
  if (request.method !== 'GET') return left({ status: 404, reason: 'its method is not GET' });
  return pathOf(request) === '/' ? right(undefined) : left({ status: 404, reason: 'its path is not /' });
};

/**
 * Browsers send an Origin with every WebSocket and every cross-site request, and nothing else does: no web
 * page may speak to this server.
 */
const originRefusal = ({ headers }: http.IncomingMessage): Refusal | undefined =>
  headers.origin === undefined ? undefined : { status: 403, reason: 'it has an Origin header' };

/** Keeps out a web page that rebound its name to this address. */
const hostRefusal = (
  { headers, socket }: http.IncomingMessage,
  allowedHosts: readonly string[],
): Refusal | undefined => {
  const name = hostName(headers.host ?? '');
  const bound = unwrapped(socket.localAddress ?? '').replace(/^::ffff:/, '');
  if (name === bound || isLoopbackName(name) || allowedHosts.includes(name)) return undefined;
  return { status: 403, reason: 'its Host is not a name of this server' };
};

/** The token that a request shows. A header, right or wrong, goes before a sub-protocol. */
const shownToken = (
  { headers }: http.IncomingMessage,
  { inProtocol }: { readonly inProtocol: boolean },
): string | undefined => {
  if (headers.authorization !== undefined) return /^Bearer +(\S+)$/i.exec(headers.authorization)?.[1];
  if (!inProtocol) return undefined;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  const carrier = offered.find((protocol) => protocol.startsWith(TOKEN_PROTOCOL));
  return carrier === undefined
    ? undefined
    : Buffer.from(carrier.slice(TOKEN_PROTOCOL.length), 'base64url').toString();
};

/** The sub-protocol that is answered: the first that is no token, if there is one. */
export const answeredProtocol = (offered: ReadonlySet<string>): string | false =>
  [...offered].find((protocol) => !protocol.startsWith(TOKEN_PROTOCOL)) ?? false;

/** Who may speak to a listener (docs/protocol.md section 6). */
export class Access {
  readonly #allowedHosts: readonly string[] | undefined;
  readonly #tokens: Tokens | undefined;
  readonly #inProtocol: boolean;
  readonly #failed = new FailedAttempts();

  /** @param checksHost false where there is no name to be rebound: on a Unix socket */
  constructor(
    { allowedHosts, tokens, tokenInProtocol = false }: AccessOptions,
    { checksHost }: { readonly checksHost: boolean },
  ) {
    this.#allowedHosts = checksHost ? allowedHosts.map(hostName) : undefined;
    this.#tokens = tokens;
    this.#inProtocol = tokenInProtocol;
  }

  /**
   * Origin, Host, token, in this order, before anything else is looked at. Who is let in has shown a token,
   * where there is one, except by a probe (`isProbe`).
   */
  admit(request: http.IncomingMessage): Either<Refusal, Visitor> {
    const refusal =
      originRefusal(request) ??
      (this.#allowedHosts === undefined ? undefined : hostRefusal(request, this.#allowedHosts));
    if (refusal !== undefined) return left(refusal);
    if (this.#tokens === undefined || isProbe(request)) return right({ principal: undefined });
    const token = shownToken(request, { inProtocol: this.#inProtocol });
    const principal = token === undefined ? undefined : this.#tokens.principalOf(token);
    if (principal !== undefined) return right({ principal });
    return left(this.#failure(token, request.socket.remoteAddress ?? ''));
  }

  /** A right token is never held off: behind one address there may be many clients, and a bad one. */
  #failure(token: string | undefined, address: string): Refusal {
    const tooMany = this.#failed.add(address);
    if (tooMany === undefined) {
      const reason = token === undefined ? 'it has no token' : 'its token is a wrong one';
      return { status: 401, reason, headers: { 'WWW-Authenticate': 'Bearer' } };
    }
    return {
      status: 429,
      reason: 'too many requests of its address had no right token',
      headers: { 'Retry-After': String(Math.ceil(tooMany.waitMs / 1000)) },
      isRepeated: !tooMany.isNew,
    };
  }
}
