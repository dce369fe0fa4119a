import type { InferredOptionTypes } from 'yargs';
import { type Command, type Context, UsageError } from './command.js';
import { DETACH_KEY } from './detach-key.js';
import { play } from './play.js';
import {
  attachWords,
  findProcess,
  type HeldSession,
  inSession,
  processPositional,
  SESSION_EPILOGUE,
  sessionOptions,
  tellDropped,
} from './session.js';
import { Terminal } from './terminal.js';

type Attach = InferredOptionTypes<typeof sessionOptions> & { process: string };

const EPILOGUE = `It begins with the output that is retained. A process in a terminal gets yours, and ${DETACH_KEY} (within a second) leaves it running; one in pipes gets stdin.

${SESSION_EPILOGUE}; otherwise that of the process`;

/** The terminal of this process, if the other one is in a terminal. Throws UsageError. */
const terminalFor = (tty: boolean, stdout: Context['stdout']): Terminal | undefined => {
  if (!tty) return undefined;
  if (!process.stdin.isTTY) {
    throw new UsageError('attach: this process is in a terminal, and stdin is none; watch it with: logs -f');
  }
  return new Terminal(
    process.stdin,
    [stdout, process.stderr].find(({ isTTY }) => isTTY),
  );
};

const attach = async (
  session: HeldSession,
  processId: string,
  stdout: Context['stdout'],
): Promise<number> => {
  const { tty } = await findProcess(session, processId);
  const terminal = terminalFor(tty, stdout);
  const restore = (): void => terminal?.restore(true);
  // also when this process ends by an error of its own
  process.once('exit', restore);
  try {
    const remote = await session.client.attach(processId);
    if (terminal === undefined) tellDropped(remote.droppedBytes);
    else {
      const { rows, cols } = terminal.size;
      // not waited for, so that all output is read from its beginning; refused only if the process is gone
      remote.resize(rows, cols).catch(() => undefined);
    }
    const comeBack = attachWords(session, processId);
    const { exitCode, signal } = await play(remote, stdout, {
      terminal,
      takesStdin: !tty,
      comeBack,
      isGuest: true,
    });
    terminal?.restore(signal !== null);
    return exitCode;
  } finally {
    restore();
  }
};

/** `exec-server attach`: takes a process of a session up again. */
export const attachCommand: Command<Attach> = {
  name: 'attach <process>',
  describe: 'go on with a process of a session: its output, its input, its exit status',
  options: (parser) =>
    parser.positional('process', processPositional).options(sessionOptions).epilogue(EPILOGUE),
  run: (argv, { stdout }) =>
    inSession(argv, { command: 'attach', stdout }, (session) => attach(session, argv.process, stdout)),
};
