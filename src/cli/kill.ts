import type { InferredOptionTypes } from 'yargs';
import type { SignalName } from '../protocol.js';
import { type Command, last, UsageError } from './command.js';
import { NoProcessError } from './failure.js';
import { findProcess, inSession, processPositional, SESSION_EPILOGUE, sessionOptions } from './session.js';

/** As kill(1) calls them, and as the protocol does. */
const signals: ReadonlyMap<string, SignalName> = new Map([
  ['INT', 'interrupt'],
  ['TERM', 'terminate'],
  ['HUP', 'hangup'],
  ['QUIT', 'quit'],
  ['KILL', 'kill'],
  ['USR1', 'user1'],
  ['USR2', 'user2'],
  ['STOP', 'stop'],
  ['CONT', 'continue'],
  ['WINCH', 'windowChange'],
]);

const options = {
  ...sessionOptions,
  signal: {
    type: 'string',
    alias: 's',
    requiresArg: true,
    default: 'TERM',
    coerce: last<string>,
    describe: [...signals.keys()].join(', '),
  },
  grace: {
    type: 'number',
    requiresArg: true,
    coerce: last<number>,
    describe: 'seconds after which it is killed if it has not ended',
  },
} as const;

type Kill = InferredOptionTypes<typeof options> & { process: string };

/** Throws UsageError. */
const signalOf = (name: string): SignalName => {
  const signal = signals.get(name.toUpperCase().replace(/^SIG/, ''));
  if (signal === undefined) {
    throw new UsageError(`--signal \`${name}\` is none of ${[...signals.keys()].join(', ')}`);
  }
  return signal;
};

/** `exec-server kill`: a signal to the process group of a process of a session. */
export const killCommand: Command<Kill> = {
  name: 'kill <process>',
  describe: 'send a signal to a process of a session, and to its process group',
  options: (parser) =>
    parser.positional('process', processPositional).options(options).epilogue(SESSION_EPILOGUE),
  run: (argv, { stdout }) => {
    const signal = signalOf(argv.signal);
    const { grace } = argv;
    if (grace !== undefined && !(grace >= 0)) {
      throw new UsageError('--grace must be a number of seconds, 0 or more');
    }
    return inSession(argv, { command: 'kill', stdout }, async (session) => {
      const { processId, exitCode } = await findProcess(session, argv.process);
      if (exitCode !== null)
        throw new NoProcessError(`process ${processId} has exited already, with ${exitCode}`);
      const { rpc } = session.client;
      if (grace === undefined) await rpc.call('process/signal', { processId, signal });
      else await rpc.call('process/terminate', { processId, signal, graceMs: Math.ceil(grace * 1000) });
      return 0;
    });
  },
};
