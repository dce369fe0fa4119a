import type { InferredOptionTypes } from 'yargs';
import type { ProcessState, ProcessSummary, ServerSummary } from '../client/index.js';
import type { Command } from './command.js';
import { inSession, SESSION_EPILOGUE, sessionOptions } from './session.js';
import { write } from './streams.js';

const options = {
  ...sessionOptions,
  long: {
    alias: 'l',
    type: 'boolean',
    default: false,
    describe: 'program, age in seconds and bytes of output too, and how the server is',
  },
  json: { type: 'boolean', default: false, describe: 'JSON on stdout, in one line' },
} as const;

const HEAD = ['ID', 'STATE', 'PID', 'TTY', 'EXIT'] as const;
const LONG_HEAD = [...HEAD, 'SECONDS', 'OUTPUT', 'PROGRAM'] as const;

/** A word of a client is any text; it must not break the line, or speak to the terminal. */
const shown = (word: string): string =>
  /[^\x21-\x7e]/.test(word) || word === '' ? JSON.stringify(word) : word;

const rowOf = ({ processId, state, pid, tty, exitCode }: ProcessSummary): readonly string[] => [
  shown(processId),
  state,
  String(pid ?? '-'),
  tty ? 'yes' : 'no',
  String(exitCode ?? '-'),
];

const longRowOf = (process: ProcessState): readonly string[] => [
  ...rowOf(process),
  String(Math.floor(process.ageMs / 1000)),
  String(process.outputBytes),
  shown(process.program),
];

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

const serverLine = ({
  version,
  uptimeMs,
  attachedSessions,
  detachedSessions,
  processes,
}: ServerSummary): string =>
  `exec-server ${version}, up ${Math.floor(uptimeMs / 1000)} s: ` +
  `${counted(attachedSessions, 'session', 'sessions')} with a client, ${detachedSessions} without, ` +
  `${counted(processes, 'process', 'processes')}\n`;

/** Columns as wide as their widest cell, two blanks between them. */
const table = (rows: readonly (readonly string[])[]): string => {
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
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
      if (argv.long) {
        const state = await client.rpc.call('server/state', {});
        const text = `${table([LONG_HEAD, ...state.session.processes.map(longRowOf)])}${serverLine(state.server)}`;
        await write(stdout, argv.json ? `${JSON.stringify(state)}\n` : text);
      } else {
        const processes = await client.list();
        const text = table([HEAD, ...processes.map(rowOf)]);
        await write(stdout, argv.json ? `${JSON.stringify(processes)}\n` : text);
      }
      return 0;
    }),
};
