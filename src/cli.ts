#!/usr/bin/env node
import os from 'node:os';
import { isLeft } from 'fp-ts/lib/Either.js';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { closeInheritedDescriptors } from './cli/descriptors.js';
import type { Inspector } from './inspect.js';
import { traceTransitions } from './inspect/trace.js';
import { parseListenUrl } from './listen-url.js';
import { createLog, logLevels } from './log.js';
import { errorCode } from './process/launch.js';
import { ListenUrlError, serve } from './serve.js';
import { version } from './version.js';

/** The words on the command line can't be used. */
const USAGE = 2;

const parser = yargs(hideBin(process.argv))
  .scriptName('exec-server')
  .usage('$0 [options]\n\nRuns and controls processes for a client, over stdio or a WebSocket.')
  .option('listen', {
    type: 'string',
    default: 'stdio://',
    requiresArg: false,
    describe: '`stdio://`, or `ws://IP:PORT` with a literal address (port 0: a free one)',
  })
  .option('log-level', { choices: logLevels, default: 'info' as const, describe: 'what is logged on stderr' })
  .option('retention', {
    type: 'number',
    default: 30,
    describe: 'seconds for which a closed process stays readable',
  })
  .option('allow-host', {
    type: 'string',
    array: true,
    default: [],
    describe: 'a host name by which clients reach this server, besides its address',
  })
  .option('inspect', {
    type: 'string',
    describe:
      'development: show every actor in the Stately inspector, through a relay at `ws://127.0.0.1:PORT` ' +
      '(default: a free port); the picture is drawn by a page of stately.ai in your browser',
  })
  .option('trace', {
    type: 'boolean',
    default: false,
    describe: 'development: a line a transition of every connection and process, on stderr',
  })
  .version(version)
  .help()
  .strict()
  .fail((message, error) => {
    process.stderr.write(`exec-server: ${message ?? error.message}\nTry exec-server --help.\n`);
    process.exit(USAGE);
  });

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** Why a server could not start, in one line. */
const startFailure = (url: string, error: unknown): { status: number; line: string } => {
  if (error instanceof ListenUrlError) return { status: USAGE, line: error.message };
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'the address is in use; choose another port, or 0 for a free one',
    EACCES: 'permission denied; ports below 1024 are for root',
    EADDRNOTAVAIL: 'this machine has no such address',
  };
  const reason = reasons[errorCode(error)] ?? (error instanceof Error ? error.message : String(error));
  return { status: 1, line: `exec-server: cannot listen on ${url}: ${reason}` };
};

/** To be called with what a start at this URL threw: ends this process with a line on stderr. */
const failAt =
  (url: string) =>
  (error: unknown): never => {
    const { status, line } = startFailure(url, error);
    say(line);
    process.exit(status);
  };

/** Starts what `--inspect` asks for, and says where it is. */
const inspectAt = async (url: string): Promise<Inspector> => {
  const relay = parseListenUrl(url === '' ? 'ws://127.0.0.1:0' : url);
  if (isLeft(relay) || relay.right.kind !== 'ws' || relay.right.host !== '127.0.0.1') {
    throw new ListenUrlError(`invalid --inspect URL \`${url}\`; expected \`ws://127.0.0.1:PORT\``);
  }
  const { startInspector } = await import('./inspect.js').catch((error: unknown) => {
    if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    say(
      'exec-server: --inspect needs the package @statelyai/inspect; ' +
        'install it beside exec-server: npm install @statelyai/inspect',
    );
    process.exit(1);
  });
  const inspector = await startInspector(relay.right.port);
  say(`exec-server inspector: open ${inspector.pageUrl} (relay ${inspector.url})`);
  say(
    'exec-server inspector: the picture is drawn by a page of stately.ai in your browser, which sees the events',
  );
  return inspector;
};

const main = async (): Promise<void> => {
  const argv = await parser.parse();
  closeInheritedDescriptors();
  // child_process would add it to every environment, and that is to be exact
  delete process.env['NODE_V8_COVERAGE'];
  const log = createLog(argv.logLevel);
  const retentionMs = argv.retention * 1000;
  // whoever read the trace is gone: no reason to end the children
  if (argv.trace) process.stderr.on('error', () => undefined);
  const inspector =
    argv.inspect === undefined ? undefined : await inspectAt(argv.inspect).catch(failAt(argv.inspect));
  const inspect = [
    ...(argv.trace ? [traceTransitions(say)] : []),
    ...(inspector === undefined ? [] : [inspector.observer]),
  ];
  const serving = await serve({
    listen: argv.listen,
    log,
    retentionMs,
    allowedHosts: argv.allowHost,
    inspect,
  }).catch(failAt(argv.listen));
  if (serving.url !== 'stdio://') {
    say(`exec-server listening on ${serving.url}`);
    process.stdout.write(`${serving.url}\n`);
  }

  let status = 0;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'ending');
      status = 128 + os.constants.signals[signal];
      void serving.close(signal);
    });
  }
  await serving.ended;
  await serving.close();
  await inspector?.close();
  process.exit(status);
};

await main();
