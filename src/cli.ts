#!/usr/bin/env node
import os from 'node:os';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { closeInheritedDescriptors } from './cli/descriptors.js';
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
      'development: show every actor in the Stately inspector, through a relay at ws://127.0.0.1:PORT',
  })
  .option('trace', {
    type: 'boolean',
    default: false,
    describe: 'development: a line a transition on stderr',
  })
  .version(version)
  .help()
  .strict()
  .exitProcess(false)
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

const main = async (): Promise<void> => {
  const argv = await parser.parse();
  if (process.argv.includes('--help') || process.argv.includes('--version')) return;
  closeInheritedDescriptors();
  // child_process would add it to every environment, and that is to be exact
  delete process.env['NODE_V8_COVERAGE'];
  const log = createLog(argv.logLevel);
  const retentionMs = argv.retention * 1000;
  const serving = await serve({ listen: argv.listen, log, retentionMs, allowedHosts: argv.allowHost }).catch(
    (error: unknown) => {
      const { status, line } = startFailure(argv.listen, error);
      say(line);
      process.exit(status);
    },
  );
  if (serving.url !== 'stdio://') {
    say(`exec-server listening on ${serving.url}`);
    process.stdout.write(`${serving.url}\n`);
  }

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'ending');
      // the children are killed at once; what is still to be sent has until the next turn of the loop
      void serving.close(signal).finally(() => process.exit(128 + os.constants.signals[signal]));
    });
  }
  await serving.ended;
  await serving.close();
  process.exit(0);
};

await main();
