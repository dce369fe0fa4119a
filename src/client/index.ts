/** The client: everything a program needs to use an exec-server. */
import type { Readable, Writable } from 'node:stream';
import { ClientCore, type InitializeOptions } from './client.js';
import { takeUpSession } from './take-up-session.js';
import type { Transport } from './transport.js';
import { ResumingTransport } from './transports/resuming.js';
import { streamTransport } from './transports/streams.js';
import { connectWebSocketTransport } from './transports/websocket.js';
import { launchTransport, type LaunchOptions } from './transports/launch.js';

/** How long a connection may take, in milliseconds. */
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;

export type ConnectWebSocketOptions = InitializeOptions & {
  /** `ws://IP:PORT`, or `ws+unix:PATH`. */
  readonly url: string;
  /** Sent as `Authorization: Bearer …`. */
  readonly token?: string;
  /** Milliseconds for the connection; default 10,000. */
  readonly connectTimeout?: number;
  /**
   * When the connection is lost, connect again and go on with the session: readers of a process see every
   * byte once, writes arrive once. If that can't be done, everything rejects with SessionLostError.
   * Default: a lost connection ends the client.
   */
  readonly resume?: boolean;
  /**
   * A session to go on with, which another client has left; implies `resume`. While that client is still
   * attached it is tried again, for `connectTimeout`.
   */
  readonly sessionId?: string;
  /** Milliseconds for which a lost connection is tried again; default 90,000, as long as the server waits. */
  readonly resumeWindow?: number;
};

/**
 * A session on an exec-server.
 *
 * @example
 * await using client = await launchExecServer();
 * const { stdout } = await client.run(['uname', '-a']);
 */
export class ExecServerClient extends ClientCore {
  /**
   * Rejects with ConnectTimeoutError, ConnectRefusedError, InitializeTimeoutError or ServerError; with a
   * `sessionId` also with SessionLostError, if the server has no such session.
   */
  static async connectWebSocket(options: ConnectWebSocketOptions): Promise<ExecServerClient> {
    const { connectTimeout = DEFAULT_CONNECT_TIMEOUT_MS, sessionId, resume = false } = options;
    const connect = (): Promise<Transport> => connectWebSocketTransport({ ...options, connectTimeout });
    if (sessionId !== undefined) {
      const { rpc, result } = await takeUpSession(
        { url: options.url, sessionId, timeoutMs: connectTimeout },
        async () =>
          ExecServerClient.handshake(new ResumingTransport(await connect(), connect, options), options),
      );
      return new ExecServerClient(rpc, result, true);
    }
    const transport = await connect();
    return ExecServerClient.over(
      resume ? new ResumingTransport(transport, connect, options) : transport,
      options,
    );
  }

  /**
   * Over a pair of streams: the stdout and stdin of a server that somebody else has started.
   *
   * @param writable ended with the client
   */
  static connectStdio(
    readable: Readable,
    writable: Writable,
    options: InitializeOptions = {},
  ): Promise<ExecServerClient> {
    return ExecServerClient.over(streamTransport(readable, writable), options);
  }

  /** With a server in this process: no socket, and no serialisation to bytes. It ends with the client. */
  static async connectInProcess(options: InitializeOptions = {}): Promise<ExecServerClient> {
    const { inProcessTransport } = await import('./transports/in-process.js');
    return ExecServerClient.over(inProcessTransport(), options);
  }

  /** Over any transport. */
  static async over(transport: Transport, options: InitializeOptions = {}): Promise<ExecServerClient> {
    const { rpc, result } = await ExecServerClient.handshake(transport, options);
    return new ExecServerClient(rpc, result, false);
  }
}

/**
 * Starts a server over stdio and connects to it. It ends with the client, and with this process, however
 * that ends. Rejects with SpawnFailedError, InitializeTimeoutError or ClosedError.
 */
export const launchExecServer = async (
  options: LaunchOptions & InitializeOptions = {},
): Promise<ExecServerClient> => ExecServerClient.over(await launchTransport(options), options);

export type { InitializeOptions, RunBytesResult, RunOptions, RunResult } from './client.js';
export * from './errors.js';
export type { OutputChunk, OutputStream } from './output.js';
export type { RemoteProcess, StartOptions, TerminateOptions } from './remote-process.js';
export type { ExitStatus } from './sequencer.js';
export type { ProcessState, ProcessSummary, ServerSummary } from '../protocol.js';
export type { CallParams, RpcClient, RpcEvents } from './rpc-client.js';
export type { Transport, TransportEvents } from './transport.js';
export type { LaunchOptions } from './transports/launch.js';
