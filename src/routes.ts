import { type Either, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type * as t from 'io-ts';
import type { ConnectionEvent, StartRequest } from '../machines/connection.js';
import { decode, isObject } from './codecs.js';
import { located } from './files/request.js';
import { outgoing } from './http/request.js';
import { commandNames, NotificationEncoder, type NotificationNames, processNames } from './output/encode.js';
import { OutputLog } from './output/log.js';
import { type Method, methods, type StartParams } from './protocol.js';
import { ErrorCode, type RequestId, type RpcError } from './rpc.js';
import { DEFAULT_OUTPUT_BYTES_CAP, type StartSettings, toLaunch } from './start.js';

/** A request on its way to the connection actor. */
export type Routed = {
  readonly event: ConnectionEvent;
  /** The process it is about. */
  readonly processId?: string;
  /** Bytes of input that it carries. */
  readonly inputBytes?: number;
};

/** What the operator decided about requests. */
export type RequestSettings = StartSettings & {
  /** http/request is a method. */
  readonly allowHttp: boolean;
};

type Route = (id: RequestId, params: unknown, settings: RequestSettings) => Either<string, Routed>;

const route =
  <P>(
    method: { readonly params: t.Type<P, unknown> },
    toRouted: (id: RequestId, params: P, settings: RequestSettings) => Routed,
  ): Route =>
  (id, params, settings) =>
    pipe(
      decode(method.params, params),
      map((decoded) => toRouted(id, decoded, settings)),
    );

const start = (
  id: RequestId,
  params: StartParams,
  settings: StartSettings,
  names: NotificationNames,
  result: object,
): Routed => {
  const { processId, outputWindow } = params;
  const launch = toLaunch(params, settings);
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
  initialize: (id, params, settings) =>
    route(methods.initialize, (_, decoded) => ({
      // whether the member is there is what tells the clients apart, and null is a value of it
      event: {
        type: 'initialize',
        id,
        params: decoded,
        resumable: isObject(params) && Object.hasOwn(params, 'resumeSessionId'),
      },
    }))(id, params, settings),
  'environment/info': route(methods['environment/info'], (id) => ({
    event: { type: 'environment.info', id },
  })),
  'environment/status': route(methods['environment/status'], (id) => ({
    event: { type: 'environment.status', id },
  })),
  'process/start': route(methods['process/start'], (id, params, settings) =>
    start(id, params, settings, processNames, {
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
  'server/state': route(methods['server/state'], (id) => ({ event: { type: 'server.state', id } })),
  'fs/readFile': route(methods['fs/readFile'], (id, params, settings) => ({
    event: { type: 'fs.readFile', id, ...located(params, settings) },
  })),
  'fs/writeFile': route(methods['fs/writeFile'], (id, params, settings) => ({
    event: { type: 'fs.writeFile', id, ...located(params, settings) },
    inputBytes: params.dataBase64.data.length,
  })),
  'fs/createDirectory': route(methods['fs/createDirectory'], (id, params, settings) => ({
    event: { type: 'fs.createDirectory', id, ...located(params, settings) },
  })),
  'fs/getMetadata': route(methods['fs/getMetadata'], (id, params, settings) => ({
    event: { type: 'fs.getMetadata', id, ...located(params, settings) },
  })),
  'fs/canonicalize': route(methods['fs/canonicalize'], (id, params, settings) => ({
    event: { type: 'fs.canonicalize', id, ...located(params, settings) },
  })),
  'fs/readDirectory': route(methods['fs/readDirectory'], (id, params, settings) => ({
    event: { type: 'fs.readDirectory', id, ...located(params, settings) },
  })),
  'fs/walk': route(methods['fs/walk'], (id, params, settings) => ({
    event: { type: 'fs.walk', id, ...located(params, settings) },
  })),
  'fs/remove': route(methods['fs/remove'], (id, params, settings) => ({
    event: { type: 'fs.remove', id, ...located(params, settings) },
  })),
  'fs/copy': route(methods['fs/copy'], (id, params, settings) => ({
    event: { type: 'fs.copy', id, ...located(params, settings) },
  })),
  'fs/open': route(methods['fs/open'], (id, params, settings) => ({
    event: { type: 'fs.open', id, ...located(params, settings) },
  })),
  'fs/readBlock': route(methods['fs/readBlock'], (id, params, settings) => ({
    event: { type: 'fs.readBlock', id, ...located(params, settings) },
  })),
  'fs/close': route(methods['fs/close'], (id, params, settings) => ({
    event: { type: 'fs.close', id, ...located(params, settings) },
  })),
  'http/request': route(methods['http/request'], (id, params) => ({
    event: { type: 'http.request', id, ...outgoing(params) },
    inputBytes: params.bodyBase64?.data.length ?? 0,
  })),
  'command/exec': route(methods['command/exec'], (id, params, settings) =>
    start(id, params, settings, commandNames, {
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
  'command/exec/terminate': route(methods['command/exec/terminate'], (id, { processId }) => ({
    event: { type: 'process.terminate', id, params: { processId, signal: undefined, graceMs: undefined } },
    processId,
  })),
};

const isServed = (name: string, { allowHttp }: RequestSettings): name is Method =>
  Object.hasOwn(routes, name) && (allowHttp || name !== 'http/request');

/** Decodes a request. Left: the error to answer. */
export const routeRequest = (
  method: string,
  id: RequestId,
  params: unknown,
  settings: RequestSettings = { externalSandbox: false, allowHttp: false },
): Either<RpcError, Routed> => {
  if (!isServed(method, settings)) {
    const shown = method.length > 100 ? `${method.slice(0, 100)}…` : method;
    return left({
      code: ErrorCode.methodNotFound,
      message: `method \`${shown}\` is not served by this executor`,
    });
  }
  const routed = routes[method](id, params, settings);
  if (isLeft(routed)) return left({ code: ErrorCode.invalidParams, message: routed.left });
  const { event } = routed.right;
  if (event.type === 'process.write' && event.params.writeId === '') {
    return left({ code: ErrorCode.invalidParams, message: 'writeId must not be empty' });
  }
  return right(routed.right);
};
