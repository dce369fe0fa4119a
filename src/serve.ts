import { isLeft } from 'fp-ts/lib/Either.js';
import { DEFAULT_LIMITS } from './limits.js';
import { parseListenUrl } from './listen-url.js';
import { createLog, type Log, type LogLevel } from './log.js';
import { ExecServer, type ServerOptions } from './server.js';
import { Admission } from './wire/admission.js';
import { streamWire } from './wire/stdio.js';

export type ServeOptions = ServerOptions & {
  /** `stdio://` (default), or `ws://IP:PORT` with a literal address; port 0 takes a free one. */
  readonly listen?: string;
  /** Host names by which clients reach this server, besides its address and the loopback names. */
  readonly allowedHosts?: readonly string[];
  /** Where the log goes; default: stderr, at level `info`. */
  readonly log?: Log;
  readonly logLevel?: LogLevel;
};

export type Serving = {
  /** `ws://IP:PORT`, or `stdio://`. */
  readonly url: string;
  /** Resolves when the server has ended by itself: over stdio, when its client has gone. */
  readonly ended: Promise<void>;
  /** Stops listening, closes every connection, and kills every process of theirs. */
  close(reason?: string): Promise<void>;
};

/** The `--listen` URL cannot be used as it is written. */
export class ListenUrlError extends Error {
  override readonly name = 'ListenUrlError';
}

/**
 * Starts a server. Rejects with `ListenUrlError`, or with the system's error if the address can't be bound.
 *
 * @example
 * const server = await serve({ listen: 'ws://127.0.0.1:0' });
 * console.error(`listening on ${server.url}`);
 * await server.close();
 */
export const serve = async (options: ServeOptions = {}): Promise<Serving> => {
  const url = parseListenUrl(options.listen ?? 'stdio://');
  if (isLeft(url)) throw new ListenUrlError(url.left);
  const log = options.log ?? createLog(options.logLevel ?? 'info');
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const { messageBytes: maxMessageBytes } = limits;

  if (url.right.kind === 'stdio') {
    const server = new ExecServer(log, options);
    const connection = server.accept(streamWire('stdio', process.stdin, process.stdout, maxMessageBytes));
    const close = (reason = 'the server is closing'): Promise<void> => server.close(reason);
    return { url: 'stdio://', ended: connection.closed, close };
  }

  // only a listener pays for http and ws
  const { listen } = await import('./wire/listener.js');
  const { MetricsPage } = await import('./metrics/page.js');
  const server = new ExecServer(log, options);
  const metrics = new MetricsPage(server, log);
  const admission = new Admission(limits);
  const listener = await listen({
    ...url.right,
    maxMessageBytes,
    allowedHosts: options.allowedHosts ?? [],
    admit: (address) => admission.refusal(address),
    onWire: (wire, address) => {
      admission.opened(address);
      void server.accept(wire).closed.then(() => admission.closed(address));
    },
    onRefused: (status, reason) => {
      server.metrics.refusals.add(String(status));
      log.warn({ status, reason }, 'request refused');
    },
    pages: new Map([['/metrics', () => metrics.scrape()]]),
  });
  return {
    url: listener.url,
    ended: listener.closed,
    close: async (reason = 'the server is closing') => {
      await Promise.all([listener.close(), server.close(reason)]);
      await metrics.close();
    },
  };
};
