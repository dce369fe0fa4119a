import { isLeft } from 'fp-ts/lib/Either.js';
import type { Inspector } from '../inspect.js';
import { traceTransitions } from '../inspect/trace.js';
import type { Limits } from '../limits.js';
import { parseListenUrl } from '../listen-url.js';
import { createLog, type Log, type LogLevel } from '../log.js';
import { errorCode } from '../process/launch.js';
import { ListenUrlError, serve } from '../serve.js';
import type { Tokens } from '../token.js';
import { closeInheritedDescriptors } from './descriptors.js';
import { ServerTokenError, serverTokens } from './server-tokens.js';
import { takeTokenVariable } from './token-variable.js';
import { ExitStatus, signalStatus } from './exit-status.js';

export type RunServerOptions = {
  readonly listen: string;
  readonly unix?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly tokenSha256?: string | undefined;
  readonly allowTokenInProtocol: boolean;
  /** Seconds. */
  readonly handshakeTimeout: number;
  readonly logLevel: LogLevel;
  /** Seconds. */
  readonly retention: number;
  /** Seconds. */
  readonly detachedTtl: number;
  readonly externalSandbox: boolean;
  readonly allowHttp: boolean;
  readonly sweep: boolean;
  readonly allowHost: readonly string[];
  /** Empty: at a free port. */
  readonly inspect?: string | undefined;
  readonly trace: boolean;
  readonly limits: Limits;
  /** For the URL of a listener. */
  readonly stdout: NodeJS.WriteStream;
};

/** It did not come up. */
class StartError extends Error {
  override readonly name = 'StartError';

  constructor(
    readonly status: number,
    line: string,
  ) {
    super(line);
  }
}

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** Why a server could not start, in one line; to be called with what a start at this URL threw. */
const startErrorAt =
  (url: string) =>
  (error: unknown): never => {
    if (error instanceof StartError) throw error;
    if (error instanceof ListenUrlError) throw new StartError(ExitStatus.usage, error.message);
    const reasons: Readonly<Record<string, string>> = {
      EADDRINUSE: 'the address is in use; choose another port, or 0 for a free one',
      EACCES: 'permission denied; ports below 1024 are for root',
      EADDRNOTAVAIL: 'this machine has no such address',
    };
    const reason = reasons[errorCode(error)] ?? (error instanceof Error ? error.message : String(error));
    throw new StartError(1, `exec-server: cannot listen on ${url}: ${reason}`);
  };

const placeOf = ({ listen, unix }: RunServerOptions): string =>
  unix === undefined ? listen : `ws+unix:${unix}`;

const isListener = ({ listen, unix }: RunServerOptions): boolean =>
  unix !== undefined || !listen.startsWith('stdio');

/** Starts what `--inspect` asks for, and says where it is. */
const inspectAt = async (url: string, log: Log): Promise<Inspector> => {
  const relay = parseListenUrl(url === '' ? 'ws://127.0.0.1:0' : url);
  if (isLeft(relay) || relay.right.kind !== 'ws' || relay.right.host !== '127.0.0.1') {
    throw new ListenUrlError(`invalid --inspect URL \`${url}\`; expected \`ws://127.0.0.1:PORT\``);
  }
  const { startInspector } = await import('../inspect.js');
  const inspector = await startInspector(relay.right.port, log);
  const { viewerUrl, stately } = inspector;
  say(`exec-server inspector: open ${viewerUrl}`);
  if (stately === undefined) {
    say('exec-server inspector: Stately has a page too: npm install @statelyai/inspect beside exec-server');
  } else {
    say(`exec-server inspector: or in Stately's viewer ${stately.pageUrl} (relay ${stately.url})`);
    say(
      "exec-server inspector: Stately's is drawn by a page of stately.ai in your browser, which sees the events",
    );
  }
  return inspector;
};

/** Serves until it is told to end, or over stdio until its client has gone. */
const serveToTheEnd = async (options: RunServerOptions, tokens: Tokens | undefined): Promise<number> => {
  const log = createLog(options.logLevel);
  const inspector =
    options.inspect === undefined
      ? undefined
      : await inspectAt(options.inspect, log).catch(startErrorAt(options.inspect));
  const serving = await serve({
    listen: options.listen,
    unix: options.unix,
    tokens,
    tokenInProtocol: options.allowTokenInProtocol,
    handshakeTimeoutMs: options.handshakeTimeout * 1000,
    log,
    retentionMs: options.retention * 1000,
    detachedTtlMs: options.detachedTtl * 1000,
    externalSandbox: options.externalSandbox,
    allowHttp: options.allowHttp,
    sweep: options.sweep,
    allowedHosts: options.allowHost,
    limits: options.limits,
    inspect: options.trace ? [traceTransitions(say)] : [],
    ...(inspector === undefined ? {} : { onSession: inspector.onSession }),
  }).catch(startErrorAt(placeOf(options)));
  // before anybody knows that it is here, and may tell it to end
  let status = 0;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'ending');
      status = signalStatus(signal);
      void serving.close(signal);
    });
  }
  if (serving.url !== 'stdio://') {
    say(`exec-server listening on ${serving.url}`);
    // nobody reads it: clients may know the address all the same
    options.stdout.on('error', (error) => log.warn({ err: error }, 'cannot write the URL to stdout'));
    options.stdout.write(`${serving.url}\n`);
  }
  await serving.ended;
  await serving.close();
  await inspector?.close();
  return status;
};

/** The server as a process of its own. Resolves with its exit status; says what it has to on stderr. */
export const runServer = async (options: RunServerOptions): Promise<number> => {
  // first: nothing that is started, shown or thrown may have it
  const tokenVariable = takeTokenVariable();
  let tokens: Tokens | undefined;
  try {
    // before the descriptors are closed: the file may be one of them, `<(pass show exec-server)`
    tokens = serverTokens({ ...options, isListener: isListener(options) }, tokenVariable);
  } catch (error) {
    if (!(error instanceof ServerTokenError)) throw error;
    say(`exec-server: ${error.message}`);
    return ExitStatus.usage;
  }
  closeInheritedDescriptors();
  // child_process would add it to every environment, and that is to be exact
  delete process.env['NODE_V8_COVERAGE'];
  // whoever read it is gone, or its disk is full: no reason to end the children
  process.stderr.on('error', () => undefined);
  try {
    return await serveToTheEnd(options, tokens);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    say(error.message);
    return error.status;
  }
};
