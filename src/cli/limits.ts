import { DEFAULT_LIMITS, type Limits } from '../limits.js';
import { last, UsageError } from './command.js';

/** A longer message might not fit into a string of JavaScript, which ends below 512 MiB. */
const LONGEST_MESSAGE = 256 * 1024 * 1024;

const limit = (standard: number, describe: string) =>
  ({
    type: 'number',
    requiresArg: true,
    default: standard,
    group: 'Limits:',
    coerce: last<number>,
    describe,
  }) as const;

/** The options that set the limits of the server. */
export const limitOptions = {
  'max-connections': limit(DEFAULT_LIMITS.connections, 'connections at a time'),
  'max-connections-per-address': limit(
    DEFAULT_LIMITS.connectionsPerAddress,
    'connections from one address at a time',
  ),
  'max-sessions': limit(DEFAULT_LIMITS.sessions, 'sessions, open or waiting for their clients'),
  'max-processes': limit(DEFAULT_LIMITS.processes, 'processes at a time, of all sessions'),
  'max-processes-per-session': limit(
    DEFAULT_LIMITS.processesPerSession,
    'processes at a time, of one session',
  ),
  'max-requests': limit(DEFAULT_LIMITS.requests, 'requests of a connection that are not answered yet'),
  'max-parked-reads': limit(DEFAULT_LIMITS.parkedReads, 'reads of a connection that wait for output'),
  'max-message-bytes': limit(
    DEFAULT_LIMITS.messageBytes,
    'bytes of a message; a longer one ends its connection',
  ),
  'max-json-values': limit(DEFAULT_LIMITS.jsonValues, 'JSON values in a message'),
  'max-retained-bytes': limit(
    DEFAULT_LIMITS.retainedBytes,
    'memory for the output of all processes; beyond it the oldest closed ones lose theirs',
  ),
} as const;

type LimitArguments = {
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly maxSessions: number;
  readonly maxProcesses: number;
  readonly maxProcessesPerSession: number;
  readonly maxRequests: number;
  readonly maxParkedReads: number;
  readonly maxMessageBytes: number;
  readonly maxJsonValues: number;
  readonly maxRetainedBytes: number;
};

const wholeNumber = (flag: string, value: number, most = Number.MAX_SAFE_INTEGER): number => {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw new UsageError(`${flag}: expected a whole number from 1 to ${most}`);
};

/** Throws UsageError where one is no number that it can be. */
export const limitsOf = (argv: LimitArguments): Limits => ({
  connections: wholeNumber('--max-connections', argv.maxConnections),
  connectionsPerAddress: wholeNumber('--max-connections-per-address', argv.maxConnectionsPerAddress),
  sessions: wholeNumber('--max-sessions', argv.maxSessions),
  processes: wholeNumber('--max-processes', argv.maxProcesses),
  processesPerSession: wholeNumber('--max-processes-per-session', argv.maxProcessesPerSession),
  requests: wholeNumber('--max-requests', argv.maxRequests),
  parkedReads: wholeNumber('--max-parked-reads', argv.maxParkedReads),
  messageBytes: wholeNumber('--max-message-bytes', argv.maxMessageBytes, LONGEST_MESSAGE),
  jsonValues: wholeNumber('--max-json-values', argv.maxJsonValues),
  retainedBytes: wholeNumber('--max-retained-bytes', argv.maxRetainedBytes),
});
