import type { ConnectionEvent } from '../../machines/connection.js';
import type { ProcessRequest } from '../../machines/process.js';
import { Bytes } from '../../src/base64.js';
import { type HttpRequest, Outgoing } from '../../src/http/request.js';
import { NotificationEncoder, processNames } from '../../src/output/encode.js';
import { OutputLog } from '../../src/output/log.js';
import { Launch } from '../../src/process/launch.js';
import type { SignalName } from '../../src/protocol.js';
import type { RpcError } from '../../src/rpc.js';

/** A program in a pipe with an open stdin, where nothing else is said. */
export const launch = (members: Partial<Omit<Launch, 'toJSON'>> = {}): Launch =>
  new Launch({
    argv: ['true'],
    cwd: '/',
    env: new Map(),
    tty: false,
    arg0: undefined,
    pipeStdin: true,
    size: { rows: 24, cols: 80 },
    timeoutMs: 0,
    idleTimeoutMs: 0,
    ...members,
  });

export const outputLog = (processId: string, cap = 1024 * 1024): OutputLog =>
  new OutputLog(cap, new NotificationEncoder(processId, processNames));

export const initialize = (
  id: string,
  { resumable = false, refusal }: { resumable?: boolean; refusal?: RpcError } = {},
): ConnectionEvent => ({
  type: 'initialize',
  id,
  params: { clientName: 'test', resumeSessionId: undefined },
  resumable,
  ...(refusal === undefined ? {} : { refusal }),
});

/** What process/start is answered in these tests. */
export const started = (processId: string): object => ({ processId, sandboxType: 'none' });

export const startEvent = (
  processId: string,
  { id = `start ${processId}`, log = outputLog(processId), ...members }: StartOptions = {},
): ConnectionEvent => ({
  type: 'process.start',
  id,
  processId,
  result: started(processId),
  start: { launch: launch(members), log },
});

export type StartOptions = Partial<Omit<Launch, 'toJSON'>> & {
  readonly id?: string;
  readonly log?: OutputLog;
};

export const read = (
  id: string,
  processId: string,
  params: { readonly afterSeq?: number; readonly maxBytes?: number; readonly waitMs?: number } = {},
): ProcessRequest => ({
  type: 'process.read',
  id,
  params: { processId, afterSeq: undefined, maxBytes: undefined, waitMs: undefined, ...params },
});

export const write = (id: string, processId: string, text: string, writeId?: string): ProcessRequest => ({
  type: 'process.write',
  id,
  params: { processId, chunk: new Bytes(Buffer.from(text)), writeId },
});

export const terminate = (
  id: string,
  processId: string,
  ladder: { readonly signal?: SignalName; readonly graceMs?: number } = {},
): ProcessRequest => ({
  type: 'process.terminate',
  id,
  params: { processId, signal: undefined, graceMs: undefined, ...ladder },
});

export const ack = (id: string, processId: string, bytes: number): ProcessRequest => ({
  type: 'process.ack',
  id,
  params: { processId, bytes },
});

export const closeStdin = (id: string, processId: string): ProcessRequest => ({
  type: 'process.closeStdin',
  id,
  params: { processId },
});

export const signal = (id: string, processId: string): ProcessRequest => ({
  type: 'process.signal',
  id,
  params: { processId, signal: 'interrupt' },
});

export const resize = (id: string, processId: string): ProcessRequest => ({
  type: 'process.resize',
  id,
  params: { processId, rows: 50, cols: 100 },
});

export const fileRequest = (id: string): ConnectionEvent => ({
  type: 'fs.canonicalize',
  id,
  params: { path: '/', sandbox: undefined },
});

export const httpRequest = (id: string): HttpRequest => ({
  type: 'http.request',
  id,
  outgoing: new Outgoing('r', false, undefined, 'http://127.0.0.1/', {}),
});

/** -32600, as an answer. */
export const refused = (id: string, message: string): object => ({ id, error: { code: -32600, message } });

/** A result, as an answer. */
export const answered = (id: string, result: object): object => ({ id, result });
