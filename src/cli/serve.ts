import type { InferredOptionTypes } from 'yargs';
import type { LogLevel } from '../log.js';
import { type Command, last } from './command.js';
import { limitOptions, limitsOf } from './limits.js';

/** The options of the server, and what holds where they aren't given. */
export const serveOptions = {
  listen: {
    type: 'string',
    default: 'stdio://',
    requiresArg: false,
    coerce: last<string>,
    describe: '`stdio://`, or `ws://IP:PORT` with a literal address (port 0: a free one)',
  },
  'log-level': {
    // those of log.ts, which the other commands need not load
    choices: ['silent', 'error', 'warn', 'info', 'debug'] as const satisfies readonly LogLevel[],
    default: 'info',
    coerce: last<LogLevel>,
    describe: 'what is logged on stderr',
  },
  retention: {
    type: 'number',
    default: 30,
    coerce: last<number>,
    describe: 'seconds for which a closed process stays readable',
  },
  'detached-ttl': {
    type: 'number',
    default: 90,
    coerce: last<number>,
    describe: 'seconds for which a client that can resume is waited for when its connection is lost',
  },
  'external-sandbox': {
    type: 'boolean',
    default: false,
    describe: 'this machine is the sandbox: run what asks for one as it is, instead of refusing it',
  },
  'allow-http': {
    type: 'boolean',
    default: false,
    describe: 'clients may send HTTP requests from this machine, to whatever it can reach',
  },
  'allow-host': {
    type: 'string',
    array: true,
    default: [],
    describe: 'a host name by which clients reach this server, besides its address',
  },
  inspect: {
    type: 'string',
    coerce: last<string>,
    describe:
      'development: show every actor in the Stately inspector, through a relay at `ws://127.0.0.1:PORT` ' +
      '(default: a free port); the picture is drawn by a page of stately.ai in your browser',
  },
  trace: {
    type: 'boolean',
    default: false,
    describe: 'development: a line a transition of every connection and process, on stderr',
  },
  ...limitOptions,
} as const;

export type ServeArguments = InferredOptionTypes<typeof serveOptions>;

export const serveCommand: Command<ServeArguments> = {
  name: ['serve', '$0'],
  describe: 'the server',
  options: (parser) => parser.options(serveOptions),
  run: async (argv, { stdout }) => {
    const { runServer } = await import('./run-server.js');
    return runServer({ ...argv, limits: limitsOf(argv), stdout });
  },
};
