import type { InferredOptionTypes } from 'yargs';
import type { LogLevel } from '../log.js';
import { type Command, last, MAX_TIMEOUT_S, UsageError } from './command.js';
import { limitOptions, limitsOf } from './limits.js';

/** Where a server listens that isn't told. */
export const DEFAULT_LISTEN = 'stdio://';

/** The options of the server, and what holds where they aren't given. */
export const serveOptions = {
  listen: {
    type: 'string',
    // no default: it has to be known whether it was given
    defaultDescription: DEFAULT_LISTEN,
    requiresArg: false,
    coerce: last<string>,
    describe: '`stdio://`, or `ws://IP:PORT` with a literal address (port 0: a free one)',
  },
  unix: {
    type: 'string',
    requiresArg: true,
    coerce: last<string>,
    describe: 'in place of --listen: the path of a Unix socket, which is made for you alone',
  },
  'token-file': {
    type: 'string',
    requiresArg: true,
    coerce: last<string>,
    describe:
      'clients must show a token that is in this file, one a line, which only its owner may read; ' +
      'or put one into EXEC_SERVER_TOKEN',
  },
  'token-sha256': {
    type: 'string',
    requiresArg: true,
    coerce: last<string>,
    describe: 'clients must show the token whose SHA-256 this is, in 64 hex digits',
  },
  'allow-token-in-protocol': {
    type: 'boolean',
    default: false,
    describe: 'a token may come as the WebSocket sub-protocol `exec-server.token.BASE64URL` too',
  },
  'handshake-timeout': {
    type: 'number',
    default: 10,
    requiresArg: true,
    coerce: last<number>,
    describe: 'seconds in which a client of a listener must open its session; 0: no limit',
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
  sweep: {
    type: 'boolean',
    default: false,
    describe:
      'kill what has left its process group, too (Linux): adds EXEC_SERVER_PROCESS to every environment',
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
      'development: a page that shows every connection and process live, at a path of `ws://127.0.0.1:PORT` that ' +
      'stderr tells (default: a free port); and the same in the Stately inspector, whose picture is drawn by a page ' +
      'of stately.ai in your browser',
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
    const { listen, unix, handshakeTimeout, retention, detachedTtl } = argv;
    if (listen !== undefined && unix !== undefined) {
      throw new UsageError('--listen and --unix exclude each other: give one of them');
    }
    if (!(handshakeTimeout >= 0 && handshakeTimeout <= MAX_TIMEOUT_S)) {
      throw new UsageError('--handshake-timeout must be a number of seconds from 0 to 2000000');
    }
    for (const [flag, value] of Object.entries({ '--retention': retention, '--detached-ttl': detachedTtl })) {
      if (!(value >= 0)) throw new UsageError(`${flag} must be a number of seconds, 0 or more`);
    }
    const { runServer } = await import('./run-server.js');
    return runServer({ ...argv, listen: listen ?? DEFAULT_LISTEN, limits: limitsOf(argv), stdout });
  },
};
