/**
 * `exec-server.v0` in one table: every method with its parameters and its result, every notification.
 * The single source of types at the edge, and of docs/schema.json; docs/protocol.md tells the same in words.
 */
import type * as t from 'io-ts';
import {
  anything,
  base64,
  cString,
  flag,
  list,
  mapOf,
  matching,
  natural,
  nil,
  nonEmptyText,
  nothing,
  nullable,
  object,
  oneOf,
  optional,
  struct,
  text,
  textUpTo,
  wholeNumber,
} from './codecs.js';

export const PROTOCOL_VERSION = 'exec-server.v0';

/** The most that may be retained for one process (docs/protocol.md, process/start). */
export const MAX_OUTPUT_BYTES_CAP = 64 * 1024 * 1024;

/** Beyond this no terminal program works; the kernel's own limit is 65,535. */
const MAX_TERMINAL_SIDE = 10_000;

const processId = text.describe("The client's key of a process.");
const seq = natural.describe('Numbers output, exit and close of one process, from 1 and without gaps.');
const stream = oneOf('stdout', 'stderr', 'pty').describe('pty: all output of a terminal.');
const exitCode = wholeNumber(-(2 ** 31), 2 ** 31 - 1).describe(
  'The exit code, or 128 + the number of the signal that killed the process.',
);
const exitSignal = nonEmptyText.describe('The signal that killed the process, like SIGKILL.');
const terminalSide = wholeNumber(1, MAX_TERMINAL_SIDE);
const terminalSize = struct({ rows: terminalSide, cols: terminalSide }, 'an object with rows and cols');

/** Names in an environment: not empty, no `=`, no NUL; anything else would not come back out of it. */
const environmentName = matching('names that are not empty and hold no = or NUL', /^[^=\0]+$/);

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

/** All five members are required: a client decides on each. */
const environmentPolicy = struct({
  inherit: oneOf('all', 'core', 'none'),
  ignoreDefaultExcludes: flag,
  exclude: list(text, 'a list of patterns'),
  set: mapOf('an object of strings', environmentName, cString),
  includeOnly: list(text, 'a list of patterns'),
});

const startParams = struct({
  processId,
  argv: list(cString, 'a list of strings').describe('The program and its arguments; not empty.'),
  cwd: cString.describe('An absolute path or a file: URI of a directory that exists.'),
  env: mapOf('an object of strings', environmentName, cString).describe(
    'Exactly the environment of the process: nothing is added, nothing inherited.',
  ),
  tty: flag.describe('true: a terminal (PTY). false: pipes.'),
  arg0: optional(cString).describe('What the process sees as its argv[0].'),
  pipeStdin: optional(flag).describe('Without a tty: stdin is a pipe for process/write, not at end of file.'),
  envPolicy: optional(environmentPolicy).describe(
    "What the process inherits of the server's environment, below env. Default: nothing.",
  ),
  outputBytesCap: optional(wholeNumber(0, MAX_OUTPUT_BYTES_CAP)).describe(
    'Bytes of output retained for this process. Default: 1 MiB.',
  ),
  timeoutMs: optional(natural).describe(
    'Milliseconds after its start at which the process is killed. Default and 0: never.',
  ),
  idleTimeoutMs: optional(natural).describe(
    'Milliseconds without output and input after which the process is killed. Default and 0: never.',
  ),
  outputWindow: optional(wholeNumber(1, MAX_OUTPUT_BYTES_CAP)).describe(
    'Bytes of output that may be on their way before process/ack. Default: no limit.',
  ),
  size: optional(terminalSize).describe(
    'The size of the terminal at the start. Default: 24 rows, 80 columns.',
  ),
  sandbox: optional(anything).describe('Anything but null is refused, unless the machine is the sandbox.'),
  enforceManagedNetwork: optional(flag).describe('true is refused.'),
  networkProxy: optional(anything).describe('Anything but null is refused.'),
});

const processParams = struct({ processId });
const writeAnswer = struct({
  accepted: flag,
  status: oneOf('accepted', 'unknownProcess', 'starting', 'stdinClosed'),
});

const path = cString.describe('An absolute path or a file: URI.');
const uri = text.describe('A file: URI.');
const sandbox = optional(anything).describe(
  'Refused if it restricts the file system, unless the machine is the sandbox.',
);
const followSymlinks = optional(flag).describe(
  'false: a symbolic link in the path is an error. Default: true.',
);
const httpHeaders = list(struct({ name: text, value: text }), 'a list of headers');
const httpRequestId = text.describe("The client's key of a streamed body.");

const handleId = textUpTo(32).describe("The client's key of an open file.");

/** Why a process ended, as far as the server had a part in it (docs/protocol.md, Exit). */
export const endReasons = ['exited', 'signalled', 'terminated', 'timeout', 'idle', 'disconnected'] as const;

const endReason = oneOf(...endReasons).describe(
  'exited, signalled: by itself. terminated: by a request. timeout, idle: by timeoutMs, idleTimeoutMs. ' +
    'disconnected: with its session.',
);
const processSummary = {
  processId,
  state: oneOf('starting', 'running', 'exited', 'retained'),
  tty: flag,
  pid: nullable(natural),
  exitCode: nullable(exitCode),
} as const;

const serverSummary = struct({
  version: text,
  uptimeMs: natural.describe('Milliseconds since the server was started.'),
  attachedSessions: natural.describe('Sessions whose client is connected, this one among them.'),
  detachedSessions: natural.describe('Sessions that wait for their client.'),
  processes: natural.describe('Processes of all sessions.'),
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
    result: struct({ processId, sandboxType: optional(text), outputWindow: optional(natural) }),
  },
  'process/read': {
    params: struct({
      processId,
      afterSeq: optional(natural).describe('Only output with a seq above it. Default: 0.'),
      maxBytes: optional(natural).describe(
        'The most bytes to return, but at least one chunk. Default: 32 MiB.',
      ),
      waitMs: optional(natural).describe('Milliseconds to wait for something new. Default: 0.'),
    }),
    result: struct({
      chunks: list(struct({ seq, stream, chunk: base64 }), 'a list of chunks'),
      nextSeq: natural.describe('nextSeq - 1 is the afterSeq that reads on.'),
      exited: flag,
      exitCode: nullable(exitCode),
      signal: optional(exitSignal),
      reason: optional(endReason),
      closed: flag.describe('Nothing will follow.'),
      failure: nil,
      sandboxDenied: flag,
      droppedBytes: natural.describe('Bytes of this process that are no longer retained.'),
    }),
  },
  'process/write': {
    params: struct({
      processId,
      chunk: base64,
      writeId: optional(text).describe('Makes the write safe to repeat; not empty.'),
    }),
    result: writeAnswer,
  },
  'process/terminate': {
    params: struct({
      processId,
      signal: optional(oneOf(...signalNames)).describe(
        'Sent first; the group is killed when graceMs are over. Default: it is killed at once, or with graceMs: terminate.',
      ),
      graceMs: optional(natural).describe(
        'Milliseconds between signal and kill. Default with signal: 5,000.',
      ),
    }),
    result: struct({
      running: flag,
      survivors: optional(natural).describe(
        'With --sweep: processes of its tree that are left. The answer waits for the sweep.',
      ),
    }),
  },
  'process/signal': {
    params: struct({ processId, signal: oneOf(...signalNames) }),
    result: nothing,
  },
  'process/resize': {
    params: struct({ processId, rows: terminalSide, cols: terminalSide }),
    result: nothing,
  },
  'process/closeStdin': { params: processParams, result: nothing },
  'process/ack': {
    params: struct({
      processId,
      bytes: natural.describe('Bytes of its output that were taken so far, in all.'),
    }),
    result: nothing,
  },
  'process/list': {
    params: nothing,
    result: struct({
      processes: list(struct(processSummary), 'a list of processes'),
    }),
  },
  'server/state': {
    params: nothing,
    result: struct({
      server: serverSummary,
      session: struct({
        clientName: nullable(text),
        processes: list(
          struct({
            ...processSummary,
            program: text.describe('argv[0] of its start.'),
            ageMs: natural.describe('Milliseconds since it was asked for.'),
            outputBytes: natural.describe('Bytes that it has printed.'),
            droppedBytes: natural.describe('Those of them that are no longer retained.'),
          }),
          'a list of processes',
        ),
      }),
    }),
  },
  'fs/readFile': {
    params: struct({ path, followSymlinks, sandbox }),
    result: struct({ dataBase64: base64 }),
  },
  'fs/writeFile': {
    params: struct({ path, dataBase64: base64, followSymlinks, sandbox }),
    result: nothing,
  },
  'fs/createDirectory': {
    params: struct({
      path,
      recursive: optional(flag).describe('Makes parents too, and minds no directory. Default: true.'),
      followSymlinks,
      sandbox,
    }),
    result: nothing,
  },
  'fs/getMetadata': {
    params: struct({ path, followSymlinks, sandbox }),
    result: struct({
      isDirectory: flag,
      isFile: flag,
      isSymlink: flag.describe('The path itself is a link; the rest describes its target.'),
      size: natural,
      createdAtMs: natural.describe('Milliseconds since 1970; 0: not known.'),
      modifiedAtMs: natural,
    }),
  },
  'fs/canonicalize': { params: struct({ path, sandbox }), result: struct({ path: uri }) },
  'fs/readDirectory': {
    params: struct({ path, sandbox }),
    result: struct({
      entries: list(struct({ fileName: text, isDirectory: flag, isFile: flag }), 'a list of entries'),
    }),
  },
  'fs/walk': {
    params: struct({
      path,
      options: struct({
        maxDepth: wholeNumber(0, 64).describe('0: what is in the directory itself.'),
        maxDirectories: wholeNumber(1, 10_000).describe('Directories that are read, the first one too.'),
        maxEntries: wholeNumber(1, 50_000).describe('Entries and errors in the answer.'),
        followDirectorySymlinks: flag,
        pruneHiddenDirectories: optional(flag).describe(
          'Directories with a dot in front are listed, and not read. Default: false.',
        ),
      }),
      sandbox,
    }),
    result: struct({
      entries: list(struct({ path: uri, kind: oneOf('file', 'directory') }), 'a list of entries'),
      errors: list(struct({ path: uri, message: text }), 'a list of errors'),
      truncated: flag.describe('There is more than is listed.'),
    }),
  },
  'fs/remove': {
    params: struct({
      path,
      recursive: optional(flag).describe('Directories with all that they hold. Default: true.'),
      force: optional(flag).describe('A missing path is fine. Default: true.'),
      followSymlinks,
      sandbox,
    }),
    result: nothing,
  },
  'fs/copy': {
    params: struct({ sourcePath: path, destinationPath: path, recursive: flag, sandbox }),
    result: nothing,
  },
  'fs/open': { params: struct({ handleId, path, sandbox }), result: struct({ handleId }) },
  'fs/readBlock': {
    params: struct({ handleId, offset: natural, len: wholeNumber(1, 1_048_576), sandbox }),
    result: struct({ chunk: base64, eof: flag.describe('There were fewer bytes than asked for.') }),
  },
  'fs/close': { params: struct({ handleId, sandbox }), result: nothing },
  'http/request': {
    params: struct({
      method: text.describe('Any but CONNECT, TRACE and TRACK.'),
      url: text.describe('An http: or https: URL without credentials.'),
      headers: optional(httpHeaders),
      bodyBase64: optional(base64),
      timeoutMs: optional(natural).describe(
        'Milliseconds for all of it, the body of the response too. Default: no limit.',
      ),
      redirectPolicy: optional(oneOf('follow', 'stop')).describe(
        'stop: a redirection is the response. Default: follow.',
      ),
      requestId: httpRequestId,
      streamResponse: optional(flag).describe('The body comes by http/request/bodyDelta. Default: false.'),
    }),
    result: struct({
      status: wholeNumber(100, 599),
      headers: httpHeaders,
      bodyBase64: base64.describe('Empty when the body is streamed.'),
    }),
  },
  'command/exec': {
    params: startParams,
    result: struct({ processId, running: flag, exitCode: nil, stdout: nil, stderr: nil }),
  },
  'command/exec/write': {
    params: struct({ processId, chunk: base64 }),
    result: writeAnswer,
  },
  'command/exec/terminate': { params: processParams, result: struct({ running: flag }) },
} as const;

const output = struct({ processId, seq, stream, chunk: base64 });
const exited = struct({
  processId,
  seq,
  exitCode,
  signal: nullable(exitSignal),
  sandboxDenied: flag,
  reason: optional(endReason),
});

/** Every notification that the server sends. */
export const notifications = {
  'process/output': output,
  'process/exited': exited,
  'process/closed': struct({ processId, seq }),
  'http/request/bodyDelta': struct({
    requestId: httpRequestId,
    seq: natural.describe('From 1 and without gaps.'),
    deltaBase64: base64,
    done: flag.describe('Nothing will follow.'),
    error: optional(text).describe('Why the body is not complete.'),
  }),
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
export type EndReason = (typeof endReasons)[number];
export type Stream = t.TypeOf<typeof stream>;
export type WriteStatus = Result<'process/write'>['status'];
export type ProcessSummary = Result<'process/list'>['processes'][number];
export type ServerSummary = t.TypeOf<typeof serverSummary>;
export type ProcessState = Result<'server/state'>['session']['processes'][number];
