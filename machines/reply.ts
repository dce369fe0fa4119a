import type { EncodedJson } from '../src/encoded-json.js';
import type { OutputLog } from '../src/output/log.js';
import type { EndReason } from '../src/protocol.js';
import type { RequestId, RpcError } from '../src/rpc.js';

/**
 * The answer to a request is an event with the request's id. A process sends it to its connection, and the
 * connection emits it: no table of replies that wait, and an inspector sees each.
 */
export type Reply =
  | { readonly type: 'reply'; readonly id: RequestId; readonly result: object }
  | { readonly type: 'reply'; readonly id: RequestId; readonly error: RpcError }
  | {
      /** The answer to process/read: which part of which log. The bytes are taken when it is encoded. */
      readonly type: 'reply.output';
      readonly id: RequestId;
      readonly log: OutputLog;
      readonly afterSeq: number;
      readonly maxBytes: number | undefined;
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly reason: EndReason | null;
      readonly closed: boolean;
    }
  /** A result whose JSON is made already, and may be long: the content of a file. */
  | { readonly type: 'reply.encoded'; readonly id: RequestId; readonly result: EncodedJson };

/** What is told without having been asked for, and isn't output: a part of a body. Its JSON is the whole message. */
export type Notification = { readonly type: 'notification'; readonly message: EncodedJson };

export const succeeded = (id: RequestId, result: object): Reply => ({ type: 'reply', id, result });

/** -32600: the request makes no sense now (docs/protocol.md section 1). */
export const invalidRequest = (id: RequestId, message: string): Reply => ({
  type: 'reply',
  id,
  error: { code: -32600, message },
});
