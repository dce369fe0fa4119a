import { isLeft } from 'fp-ts/lib/Either.js';
import { DEFAULT_LIMITS } from './limits.js';
import { isLoopback, parseListenUrl } from './listen-url.js';
import { createLog, type Log, type LogLevel } from './log.js';
import { ExecServer, type ServerOptions } from './server.js';
import type { Tokens } from './token.js';
import { Admission } from './wire/admission.js';
import type { RequestOptions } from './wire/listener.js';
import { streamWire } from './wire/stdio.js';

/** A client that has connected opens its session within two round trips: this is for the slowest network. */
export const DEFAULT_HANDSHAKE_TIMEOUT_MS = 10_000;

export type ServeOptions = ServerOptions & {
  /** `stdio://` (default), or `ws://IP:PORT` with a literal address; port 0 takes a free one. */
  readonly listen?: string;
  /** In place of `listen`: the path of a Unix socket, made for its owner alone. */
  readonly unix?: string | undefined;
  /** Who listens anywhere but on a loopback address or a Unix socket must have some. Default: nobody is asked. */
  readonly tokens?: Tokens | undefined;
  /** A token may come as a WebSocket sub-protocol too (docs/protocol.md section 6). Default: by a header only. */
  readonly tokenInProtocol?: boolean;
  /** Who connects and has not opened a session after so many milliseconds is cut off; 0: never. Default: 10,000. */
  readonly handshakeTimeoutMs?: number;
  /** Host names by which clients reach this server, besides its address and the loopback names. */
  readonly allowedHosts?: readonly string[];
  /** Where the log goes; default: stderr, at level `info`. */
  readonly log?: Log;
  readonly logLevel?: LogLevel;
};

export type Serving = {
  /** `ws://IP:PORT`, `ws+unix:PATH`, or `stdio://`. */
  readonly url: string;
  /** Resolves when the server has ended by itself: over stdio, when its client has gone. */
  readonly ended: Promise<void>;
  /** Stops listening, closes every connection, and kills every process of theirs. */
  close(reason?: string): Promise<void>;
};

/** The `--listen` URL cannot be used as it is written, or not without a token. */
export class ListenUrlError extends Error {
  override readonly name = 'ListenUrlError';
}

const needsToken = (host: string): string =>
  `refusing to listen on ${host} without a token, for whoever reaches it could run anything as this user: ` +
  'give one by --token-file PATH, or listen on 127.0.0.1';

/**
 * Starts a server. Rejects with `ListenUrlError`, with the system's error if the address can't be bound, or with
 * a `UnixSocketError`.
 *
 * @example
 * const server = await serve({ listen: 'ws://127.0.0.1:0' });
 * console.error(`listening on ${server.url}`);
 * await server.close();
 */
export const serve = async (options: ServeOptions = {}): Promise<Serving> => {
  const url = parseListenUrl(options.listen ?? 'stdio://');
  if (isLeft(url)) throw new ListenUrlError(url.left);
  const { unix, tokens, handshakeTimeoutMs = DEFAULT_HANDSHAKE_TIMEOUT_MS } = options;
  const place = unix === undefined ? url.right : ({ kind: 'unix', file: unix } as const);
  const log = options.log ?? createLog(options.logLevel ?? 'info');
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const { messageBytes: maxMessageBytes } = limits;

  if (place.kind === 'stdio') {
    const server = new ExecServer(log, options);
    const connection = server.accept(streamWire('stdio', process.stdin, process.stdout, maxMessageBytes));
    const close = (reason = 'the server is closing'): Promise<void> => server.close(reason);
    return { url: 'stdio://', ended: connection.closed, close };
  }

  const isOpen = place.kind === 'ws' && tokens === undefined;
  if (isOpen && !isLoopback(place.host)) throw new ListenUrlError(needsToken(place.host));
  // only a listener pays for http and ws
  const { listen, listenUnix } = await import('./wire/listener.js');
  const { MetricsPage } = await import('./metrics/page.js');
  const server = new ExecServer(log, options);
  const metrics = new MetricsPage(server, log);
  const admission = new Admission(limits);
  const requests: RequestOptions = {
    maxMessageBytes,
    allowedHosts: options.allowedHosts ?? [],
    tokens,
    tokenInProtocol: options.tokenInProtocol,
    handshakeTimeoutMs: handshakeTimeoutMs > 0 ? handshakeTimeoutMs : undefined,
    admit: (address) => admission.refusal(address),
    onWire: (wire, address) => {
      admission.opened(address);
      void server.accept(wire).closed.then(() => admission.closed(address));
    },
    onRefused: (status, reason, address) => {
      server.metrics.refusals.add(String(status));
      log.warn({ status, reason, address }, 'request refused');
    },
    onFailed: (error) => log.error({ err: error }, 'the listener failed'),
    pages: new Map([['/metrics', () => metrics.scrape()]]),
  };
  const listener = await (place.kind === 'ws'
    ? listen({ ...requests, ...place })
    : listenUnix({ ...requests, ...place }));
  if (isOpen) log.warn('there is no token: whoever runs a program on this machine can run any as this user');
  return {
    url: listener.url,
    ended: listener.closed,
    close: async (reason = 'the server is closing') => {
      await Promise.all([listener.close(), server.close(reason)]);
      await metrics.close();
    },
  };
};
