/**
 * `exec-server.v0` in one table: every method with its parameters and its result, every notification.
 * The single source of types at the edge; docs/protocol.md tells the same in words.
 */
import * as t from 'io-ts';
import {
  base64,
  cString,
  flag,
  list,
  mapOf,
  natural,
  nonEmptyText,
  nothing,
  nullable,
  object,
  oneOf,
  optional,
  struct,
  text,
  wholeNumber,
} from './codecs.js';

export const PROTOCOL_VERSION = 'exec-server.v0';

/** The most that may be retained for one process (docs/protocol.md, process/start). */
export const MAX_OUTPUT_BYTES_CAP = 64 * 1024 * 1024;

/** Beyond this no terminal program works; the kernel's own limit is 65,535. */
const MAX_TERMINAL_SIDE = 10_000;

const stream = oneOf('stdout', 'stderr', 'pty');
const exitCode = wholeNumber(-(2 ** 31), 2 ** 31 - 1);
const terminalSide = wholeNumber(1, MAX_TERMINAL_SIDE);
const terminalSize = struct({ rows: terminalSide, cols: terminalSide }, 'an object with rows and cols');

/** Names in an environment: not empty, no `=`, no NUL; anything else would not come back out of it. */
const environmentName = new t.Type<string>(
  'names that are not empty and hold no = or NUL',
  (value): value is string => typeof value === 'string' && /^[^=\0]+$/.test(value),
  (value, context) =>
    typeof value === 'string' && /^[^=\0]+$/.test(value) ? t.success(value) : t.failure(value, context),
  t.identity,
);

const environmentInfo = struct({
  shell: struct({ name: text, path: text }),
  executorVersion: text,
  cwd: text,
  userHomeDir: text,
  tempDir: text,
  temporaryDirectories: list(text, 'a list of URIs'),
  platformOs: text,
  capabilities: object,
});

const startParams = struct({
  processId: text,
  argv: list(cString, 'a list of strings'),
  cwd: cString,
  env: mapOf('an object of strings', environmentName, cString),
  tty: flag,
  arg0: optional(cString),
  pipeStdin: optional(flag),
  envPolicy: optional(object),
  outputBytesCap: optional(wholeNumber(0, MAX_OUTPUT_BYTES_CAP)),
  outputWindow: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER, 'from 1 to 2^53-1')),
  size: optional(terminalSize),
  sandbox: optional(t.unknown),
  enforceManagedNetwork: optional(flag),
  networkProxy: optional(t.unknown),
});

const processParams = struct({ processId: text });
const writeAnswer = struct({
  accepted: flag,
  status: oneOf('accepted', 'unknownProcess', 'starting', 'stdinClosed'),
});

export const signalNames = [
  'interrupt',
  'terminate',
  'hangup',
  'quit',
  'kill',
  'user1',
  'user2',
  'stop',
  'continue',
  'windowChange',
] as const;

/** Every request: its parameters and its result. */
export const methods = {
  initialize: {
    params: struct({ clientName: text, resumeSessionId: optional(text) }),
    result: struct({ protocolVersion: text, sessionId: text, environmentInfo }),
  },
  'environment/info': { params: nothing, result: environmentInfo },
  'environment/status': { params: nothing, result: struct({ status: text }) },
  'process/start': {
    params: startParams,
    result: struct({ processId: text, sandboxType: optional(text), outputWindow: optional(natural) }),
  },
  'process/read': {
    params: struct({
      processId: text,
      afterSeq: optional(natural),
      maxBytes: optional(natural),
      waitMs: optional(natural),
    }),
    result: struct({
      chunks: list(struct({ seq: natural, stream, chunk: base64 }), 'a list of chunks'),
      nextSeq: natural,
      exited: flag,
      exitCode: nullable(exitCode),
      closed: flag,
      failure: t.null,
      sandboxDenied: flag,
      droppedBytes: natural,
    }),
  },
  'process/write': {
    params: struct({ processId: text, chunk: base64, writeId: optional(text) }),
    result: writeAnswer,
  },
  'process/terminate': { params: processParams, result: struct({ running: flag }) },
  'process/signal': {
    params: struct({ processId: text, signal: oneOf(...signalNames) }),
    result: nothing,
  },
  'process/resize': {
    params: struct({ processId: text, rows: terminalSide, cols: terminalSide }),
    result: nothing,
  },
  'process/closeStdin': { params: processParams, result: nothing },
  'process/ack': { params: struct({ processId: text, bytes: natural }), result: nothing },
  'process/list': {
    params: nothing,
    result: struct({
      processes: list(
        struct({
          processId: text,
          state: oneOf('starting', 'running', 'exited', 'retained'),
          tty: flag,
          pid: nullable(natural),
          exitCode: nullable(exitCode),
        }),
        'a list of processes',
      ),
    }),
  },
  'command/exec': {
    params: startParams,
    result: struct({ processId: text, running: flag, exitCode: t.null, stdout: t.null, stderr: t.null }),
  },
  'command/exec/write': {
    params: struct({ processId: text, chunk: base64 }),
    result: writeAnswer,
  },
  'command/exec/terminate': { params: processParams, result: struct({ running: flag }) },
} as const;

const output = struct({ processId: text, seq: natural, stream, chunk: base64 });
const exited = struct({
  processId: text,
  seq: natural,
  exitCode,
  signal: nullable(nonEmptyText),
  sandboxDenied: flag,
});

/** Every notification that the server sends. */
export const notifications = {
  'process/output': output,
  'process/exited': exited,
  'process/closed': struct({ processId: text, seq: natural }),
  'command/exec/outputDelta': output,
  'command/exec/exited': exited,
} as const;

export type Method = keyof typeof methods;
export type Params<M extends Method> = t.TypeOf<(typeof methods)[M]['params']>;
export type Result<M extends Method> = t.TypeOf<(typeof methods)[M]['result']>;
export type Notification = keyof typeof notifications;
export type NotificationParams<N extends Notification> = t.TypeOf<(typeof notifications)[N]>;

export type StartParams = Params<'process/start'>;
export type EnvironmentInfo = Result<'environment/info'>;
export type SignalName = (typeof signalNames)[number];
export type Stream = t.TypeOf<typeof stream>;
export type WriteStatus = Result<'process/write'>['status'];
export type ProcessSummary = Result<'process/list'>['processes'][number];
