import type { Notification, Reply } from '../../machines/reply.js';
import { EncodedJson } from '../encoded-json.js';
import { ErrorCode, type RequestId, type RpcError } from '../rpc.js';
import { ownConnections } from './connections.js';
import { HttpError, httpError, reasonOf } from './errors.js';
import { Exchange } from './exchange.js';
import type { HttpRequest, Outgoing } from './request.js';
import { encodeDelta, encodeResponse } from './response.js';

/** Requests that may be under way: each holds a socket. Far more than a client has tools. */
const MAX_EXCHANGES = 128;

/** A body in one answer: as base64 it stays below the longest message that clients take (48 MiB). */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** All bodies that are being put together, or that the client has not taken yet. */
const MAX_HELD_BYTES = 128 * 1024 * 1024;

/** As for output (docs/protocol.md, process/output). */
const MAX_DELTA_BYTES = 64 * 1024;

const NOTHING = new Uint8Array();

/** The requests of one connection, all at once. */
export class HttpService {
  readonly #tell: (event: Reply | Notification) => void;
  readonly #connections = ownConnections();
  readonly #exchanges = new Set<Exchange>();
  #heldBytes = 0;

  /** @param tell is called with answers and with parts of bodies */
  constructor(tell: (event: Reply | Notification) => void) {
    this.#tell = tell;
  }

  /** Resolves when nothing is left of it. Never rejects. */
  async serve(request: HttpRequest): Promise<void> {
    if ('refusal' in request) {
      this.#refuse(request.id, request.refusal);
      return;
    }
    const refusal = this.#refusalOf(request.outgoing);
    if (refusal !== undefined) {
      this.#refuse(request.id, refusal);
      return;
    }
    const exchange = new Exchange(request.outgoing);
    this.#exchanges.add(exchange);
    await this.#carryOut(request.id, exchange);
    exchange.end();
    this.#exchanges.delete(exchange);
  }

  /** Breaks off all that is under way; `serve` resolves soon. */
  abort(): void {
    for (const exchange of this.#exchanges) exchange.abort(new HttpError('the session has ended'));
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await this.#connections?.destroy();
  }

  #refuse(id: RequestId, error: RpcError): void {
    this.#tell({ type: 'reply', id, error });
  }

  #refusalOf({ requestId, isStreamed }: Outgoing): RpcError | undefined {
    if (this.#exchanges.size >= MAX_EXCHANGES) {
      return {
        code: ErrorCode.invalidRequest,
        message: `at most ${MAX_EXCHANGES} http requests may be under way per connection`,
      };
    }
    const isActive = [...this.#exchanges].some(
      ({ outgoing }) => outgoing.isStreamed && outgoing.requestId === requestId,
    );
    return isStreamed && isActive
      ? {
          code: ErrorCode.invalidParams,
          message: `http/request streamResponse requestId \`${requestId}\` is already active`,
        }
      : undefined;
  }

  async #carryOut(id: RequestId, exchange: Exchange): Promise<void> {
    const { requestId, isStreamed } = exchange.outgoing;
    let response: Response;
    try {
      response = await exchange.send(this.#connections);
      const result = isStreamed
        ? new EncodedJson(encodeResponse(response, NOTHING))
        : await this.#whole(exchange, response);
      this.#tell({ type: 'reply.encoded', id, result });
    } catch (error) {
      this.#refuse(id, httpError(error));
      return;
    }
    if (isStreamed) await this.#stream(requestId, exchange, response);
  }

  async #whole(exchange: Exchange, response: Response): Promise<EncodedJson> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    const giveBack = (): void => {
      this.#heldBytes -= bytes;
    };
    try {
      for await (const part of exchange.read(response)) {
        parts.push(part);
        bytes += part.length;
        this.#heldBytes += part.length;
        if (bytes > MAX_BODY_BYTES) {
          throw new HttpError(`the body is longer than ${MAX_BODY_BYTES} bytes; ask for streamResponse`);
        }
        if (this.#heldBytes > MAX_HELD_BYTES) {
          throw new HttpError(`more than ${MAX_HELD_BYTES} bytes of bodies wait; ask for streamResponse`);
        }
      }
      return new EncodedJson(encodeResponse(response, Buffer.concat(parts)), giveBack);
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  /** One part after the other is handed over, and the next one not read before the client has taken it. */
  async #stream(requestId: string, exchange: Exchange, response: Response): Promise<void> {
    let seq = 0;
    const tell = (data: Uint8Array, onTaken?: () => void, end?: { readonly error?: string }): void => {
      seq++;
      const json = encodeDelta({ requestId, seq, data, ...(end === undefined ? {} : { end }) });
      this.#tell({ type: 'notification', message: new EncodedJson(json, onTaken) });
    };
    try {
      for await (const part of exchange.read(response)) {
        for (let at = 0; at < part.length; at += MAX_DELTA_BYTES) {
          await exchange.until((taken) => tell(part.subarray(at, at + MAX_DELTA_BYTES), taken));
        }
      }
      tell(NOTHING, undefined, {});
    } catch (error) {
      tell(NOTHING, undefined, { error: reasonOf(error) });
    }
  }
}
