import type { RpcError } from '../rpc.js';

/** ErrorCode.limitReached: the module of that loads all codecs, which a mistake on the command line does without. */
const LIMIT_REACHED = -32001;

/** Why something failed, for programs; the message is for people. */
export type ClientErrorCode =
  | 'SPAWN_FAILED'
  | 'CONNECT_TIMEOUT'
  | 'CONNECT_REFUSED'
  | 'INITIALIZE_TIMEOUT'
  | 'CLOSED'
  | 'SESSION_LOST'
  | 'PROTOCOL_ERROR'
  | 'SERVER_ERROR'
  | 'LIMIT_REACHED'
  | 'STDIN_CLOSED'
  | 'OUTPUT_LOST'
  | 'MAX_BUFFER';

/** Every error of the client is one of these; `code` tells which. */
export abstract class ExecServerError extends Error {
  abstract readonly code: ClientErrorCode;

  override get name(): string {
    return this.constructor.name;
  }
}

/** The server program could not be started. */
export class SpawnFailedError extends ExecServerError {
  readonly code = 'SPAWN_FAILED';
}

/** No connection within `connectTimeout`. */
export class ConnectTimeoutError extends ExecServerError {
  readonly code = 'CONNECT_TIMEOUT';
}

/** Nobody listens there, or the server refused the connection. */
export class ConnectRefusedError extends ExecServerError {
  readonly code = 'CONNECT_REFUSED';
}

/** The server wants a token, or another one than it was shown. */
export class TokenRefusedError extends ConnectRefusedError {}

/** The server did not answer `initialize` within `initializeTimeout`. */
export class InitializeTimeoutError extends ExecServerError {
  readonly code = 'INITIALIZE_TIMEOUT';
}

/** The connection has ended; what was waiting for an answer will not get one. */
export class ClosedError extends ExecServerError {
  readonly code = 'CLOSED';
}

/** The connection was lost, and the session could not be resumed on another. */
export class SessionLostError extends ExecServerError {
  readonly code = 'SESSION_LOST';
}

/** The server sent something that is not exec-server.v0. The client has closed the connection. */
export class ProtocolError extends ExecServerError {
  readonly code = 'PROTOCOL_ERROR';
}

/** The server answered a request with an error. LIMIT_REACHED: it would do it, when less is going on. */
export class ServerError extends ExecServerError {
  readonly code: 'SERVER_ERROR' | 'LIMIT_REACHED';
  /** The JSON-RPC code: -32600, -32602, -32603, … (docs/protocol.md section 1). */
  readonly rpcCode: number;
  readonly data: unknown;

  constructor(method: string, { code, message, data }: RpcError) {
    super(`${method}: ${message}`);
    this.code = code === LIMIT_REACHED ? 'LIMIT_REACHED' : 'SERVER_ERROR';
    this.rpcCode = code;
    this.data = data;
  }
}

/** The process does not read its stdin any more, or never did. */
export class StdinClosedError extends ExecServerError {
  readonly code = 'STDIN_CLOSED';
}

/** Output that was asked for too late: the server does not have it any more. */
export class OutputLostError extends ExecServerError {
  readonly code = 'OUTPUT_LOST';
}

/** `run` got more output than its `maxBuffer`; the process was terminated. */
export class MaxBufferError extends ExecServerError {
  readonly code = 'MAX_BUFFER';
}
