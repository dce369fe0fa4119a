#!/usr/bin/env node
import yargs, { type ArgumentsCamelCase } from 'yargs';
import { hideBin } from 'yargs/helpers';
import { type Command, UsageError } from './cli/command.js';
import { ExitStatus } from './cli/exit-status.js';
import { attachCommand } from './cli/attach.js';
import { killCommand } from './cli/kill.js';
import { logsCommand } from './cli/logs.js';
import { pingCommand } from './cli/ping.js';
import { psCommand } from './cli/ps.js';
import { runCommand, splitProgram } from './cli/run.js';
import { schemaCommand } from './cli/schema.js';
import { serveCommand } from './cli/serve.js';
import { version } from './version.js';

const words = hideBin(process.argv);
const [name = ''] = words;
// what comes after the program's name is not for this parser
const { own, program } = name === 'run' ? splitProgram(words) : { own: words, program: [] };

let status: number | undefined;

const parser = yargs(own)
  .scriptName('exec-server')
  .usage('$0 [options]\n\nRuns and controls processes for a client, over stdio or a WebSocket.')
  .version(version)
  .help()
  .strict()
  .completion('completion', 'print a script for bash or zsh that completes these words')
  .fail((message, error) => {
    throw error ?? new UsageError(message);
  });

const add = <A>(command: Command<A>): void => {
  parser.command(command.name, command.describe, command.options, async (argv: ArgumentsCamelCase<A>) => {
    status = await command.run(argv, { stdout: process.stdout, program });
  });
};

add(serveCommand);
add(runCommand);
add(psCommand);
add(attachCommand);
add(logsCommand);
add(killCommand);
add(pingCommand);
add(schemaCommand);

try {
  await parser.parseAsync();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  const help = ['run', 'ps', 'attach', 'logs', 'kill', 'ping'].includes(name)
    ? `exec-server ${name} --help`
    : 'exec-server --help';
  process.stderr.write(`exec-server: ${error.message}\nTry ${help}.\n`);
  status = ExitStatus.usage;
}
// without a status there is only output that may still be on its way
if (status !== undefined) process.exit(status);
