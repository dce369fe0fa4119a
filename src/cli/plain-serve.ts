import { DEFAULT_LIMITS } from '../limits.js';
import type { RunServerOptions } from './run-server.js';
import { DEFAULT_LISTEN, serveOptions } from './serve.js';

type PlainOptions = Omit<RunServerOptions, 'stdout'>;

const isLogLevel = (word: string): word is RunServerOptions['logLevel'] =>
  serveOptions['log-level'].choices.some((level) => level === word);

/** What one option means; undefined: that is for yargs to say. */
const read = (option: string, value: string): Partial<PlainOptions> | undefined => {
  if (option === '--listen') return { listen: value };
  return option === '--log-level' && isLogLevel(value) ? { logLevel: value } : undefined;
};

/**
 * The options of a server that is started as clients start one: with no words, or with `--listen URL` and
 * `--log-level LEVEL`. Undefined for anything else, which yargs has to read: loading it takes a third of the
 * time until a server over stdio answers.
 */
export const plainServe = (words: readonly string[]): PlainOptions | undefined => {
  let options: PlainOptions = {
    listen: DEFAULT_LISTEN,
    allowTokenInProtocol: serveOptions['allow-token-in-protocol'].default,
    handshakeTimeout: serveOptions['handshake-timeout'].default,
    logLevel: serveOptions['log-level'].default,
    retention: serveOptions.retention.default,
    detachedTtl: serveOptions['detached-ttl'].default,
    externalSandbox: serveOptions['external-sandbox'].default,
    allowHttp: serveOptions['allow-http'].default,
    sweep: serveOptions.sweep.default,
    allowHost: serveOptions['allow-host'].default,
    trace: serveOptions.trace.default,
    limits: DEFAULT_LIMITS,
  };
  for (let at = 0; at < words.length; at += 2) {
    const [option = '', value] = words.slice(at, at + 2);
    const meant = value === undefined ? undefined : read(option, value);
    if (meant === undefined) return undefined;
    options = { ...options, ...meant };
  }
  return options;
};
