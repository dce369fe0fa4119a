import type { InferredOptionTypes } from 'yargs';
import type { ProcessSummary } from '../client/index.js';
import type { Command } from './command.js';
import { inSession, SESSION_EPILOGUE, sessionOptions } from './session.js';
import { write } from './streams.js';

const options = {
  ...sessionOptions,
  json: { type: 'boolean', default: false, describe: 'one JSON array on stdout' },
} as const;

const HEAD = ['ID', 'STATE', 'PID', 'TTY', 'EXIT'] as const;

const rowOf = ({ processId, state, pid, tty, exitCode }: ProcessSummary): readonly string[] => [
  // an id is any text of its client; it must not break the line, or speak to the terminal
  /[^\x21-\x7e]/.test(processId) || processId === '' ? JSON.stringify(processId) : processId,
  state,
  String(pid ?? '-'),
  tty ? 'yes' : 'no',
  String(exitCode ?? '-'),
];

/** Columns as wide as their widest cell, two blanks between them. */
const table = (rows: readonly (readonly string[])[]): string => {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
};

/** `exec-server ps`: what runs in a session, and what has ended there. */
export const psCommand: Command<InferredOptionTypes<typeof options>> = {
  name: 'ps',
  describe: 'list the processes of a session',
  options: (parser) => parser.options(options).epilogue(SESSION_EPILOGUE),
  run: (argv, { stdout }) =>
    inSession(argv, { command: 'ps', stdout }, async ({ client }) => {
      const processes = await client.list();
      await write(
        stdout,
        argv.json ? `${JSON.stringify(processes)}\n` : table([HEAD, ...processes.map(rowOf)]),
      );
      return 0;
    }),
};
