import yargs, { type ArgumentsCamelCase } from 'yargs';
import { type Command, UsageError } from './command.js';
import { ExitStatus } from './exit-status.js';
import { attachCommand } from './attach.js';
import { killCommand } from './kill.js';
import { logsCommand } from './logs.js';
import { pingCommand } from './ping.js';
import { psCommand } from './ps.js';
import { runCommand, splitProgram } from './run.js';
import { schemaCommand } from './schema.js';
import { serveCommand } from './serve.js';
import { version } from '../version.js';

/** The commands whose usage errors point to a help of their own. */
const WITH_HELP = ['run', 'ps', 'attach', 'logs', 'kill', 'ping'];

/**
 * Reads the words of the command line and runs the command that they name.
 *
 * @returns its exit status; undefined if there is only output that may still be on its way
 */
export const runCommandLine = async (
  words: readonly string[],
  stdout: NodeJS.WriteStream,
): Promise<number | undefined> => {
  const [name = ''] = words;
  // what comes after the program's name is not for this parser
  const { own, program } = name === 'run' ? splitProgram(words) : { own: words, program: [] };
  let status: number | undefined;

  const parser = yargs([...own])
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
      status = await command.run(argv, { stdout, program });
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
    const help = WITH_HELP.includes(name) ? `exec-server ${name} --help` : 'exec-server --help';
    process.stderr.write(`exec-server: ${error.message}\nTry ${help}.\n`);
    return ExitStatus.usage;
  }
  return status;
};
