import { type Either, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type * as t from 'io-ts';
import type { ConnectionEvent, StartRequest } from '../machines/connection.js';
import { decode } from './codecs.js';
import { commandNames, NotificationEncoder, type NotificationNames, processNames } from './output/encode.js';
import { OutputLog } from './output/log.js';
import { type Method, methods, type StartParams } from './protocol.js';
import { ErrorCode, type RequestId, type RpcError } from './rpc.js';
import { DEFAULT_OUTPUT_BYTES_CAP, toLaunch } from './start.js';

/** A request on its way to the connection actor. */
export type Routed = {
  readonly event: ConnectionEvent;
  /** The process it is about. */
  readonly processId?: string;
  /** Bytes of input that it carries. */
  readonly inputBytes?: number;
};

type Route = (id: RequestId, params: unknown) => Either<string, Routed>;

const route =
  <P>(
    method: { readonly params: t.Type<P, unknown> },
    toRouted: (id: RequestId, params: P) => Routed,
  ): Route =>
  (id, params) =>
    pipe(
      decode(method.params, params),
      map((decoded) => toRouted(id, decoded)),
    );

const start = (id: RequestId, params: StartParams, names: NotificationNames, result: object): Routed => {
  const { processId, outputWindow } = params;
  const launch = toLaunch(params);
  const cap = params.outputBytesCap ?? DEFAULT_OUTPUT_BYTES_CAP;
  const event: StartRequest = {
    type: 'process.start',
    id,
    processId,
    result,
    start: isLeft(launch)
      ? { refusal: launch.left }
      : {
          launch: launch.right,
          log: new OutputLog(cap, new NotificationEncoder(processId, names), outputWindow),
        },
  };
  return { event, processId };
};

/** Which event of the connection each method is. */
const routes: Readonly<Record<Method, Route>> = {
  initialize: route(methods.initialize, (id, params) => ({ event: { type: 'initialize', id, params } })),
  'environment/info': route(methods['environment/info'], (id) => ({
    event: { type: 'environment.info', id },
  })),
  'environment/status': route(methods['environment/status'], (id) => ({
    event: { type: 'environment.status', id },
  })),
  'process/start': route(methods['process/start'], (id, params) =>
    start(id, params, processNames, {
      processId: params.processId,
      sandboxType: 'none',
      ...(params.outputWindow === undefined ? {} : { outputWindow: params.outputWindow }),
    }),
  ),
  'process/read': route(methods['process/read'], (id, params) => ({
    event: { type: 'process.read', id, params },
    processId: params.processId,
  })),
  'process/write': route(methods['process/write'], (id, params) => ({
    event: { type: 'process.write', id, params },
    processId: params.processId,
    inputBytes: params.chunk.data.length,
  })),
  'process/terminate': route(methods['process/terminate'], (id, params) => ({
    event: { type: 'process.terminate', id, params },
    processId: params.processId,
  })),
  'process/signal': route(methods['process/signal'], (id, params) => ({
    event: { type: 'process.signal', id, params },
    processId: params.processId,
  })),
  'process/resize': route(methods['process/resize'], (id, params) => ({
    event: { type: 'process.resize', id, params },
    processId: params.processId,
  })),
  'process/closeStdin': route(methods['process/closeStdin'], (id, params) => ({
    event: { type: 'process.closeStdin', id, params },
    processId: params.processId,
  })),
  'process/ack': route(methods['process/ack'], (id, params) => ({
    event: { type: 'process.ack', id, params },
    processId: params.processId,
  })),
  'process/list': route(methods['process/list'], (id) => ({ event: { type: 'process.list', id } })),
  'command/exec': route(methods['command/exec'], (id, params) =>
    start(id, params, commandNames, {
      processId: params.processId,
      running: true,
      exitCode: null,
      stdout: null,
      stderr: null,
    }),
  ),
  'command/exec/write': route(methods['command/exec/write'], (id, params) => ({
    event: { type: 'process.write', id, params: { ...params, writeId: undefined } },
    processId: params.processId,
    inputBytes: params.chunk.data.length,
  })),
  'command/exec/terminate': route(methods['command/exec/terminate'], (id, params) => ({
    event: { type: 'process.terminate', id, params },
    processId: params.processId,
  })),
};

const isMethod = (name: string): name is Method => Object.hasOwn(routes, name);

/** Decodes a request. Left: the error to answer. */
export const routeRequest = (method: string, id: RequestId, params: unknown): Either<RpcError, Routed> => {
  if (!isMethod(method)) {
    const shown = method.length > 100 ? `${method.slice(0, 100)}…` : method;
    return left({
      code: ErrorCode.methodNotFound,
      message: `method \`${shown}\` is not served by this executor`,
    });
  }
  const routed = routes[method](id, params);
  if (isLeft(routed)) return left({ code: ErrorCode.invalidParams, message: routed.left });
  const { event } = routed.right;
  if (event.type === 'process.write' && event.params.writeId === '') {
    return left({ code: ErrorCode.invalidParams, message: 'writeId must not be empty' });
  }
  return right(routed.right);
};
