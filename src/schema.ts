import { methods, notifications, PROTOCOL_VERSION } from './protocol.js';

const mapValues = <A, B>(
  entries: Readonly<Record<string, A>>,
  change: (value: A) => B,
): Readonly<Record<string, B>> =>
  Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, change(value)]));

/**
 * The protocol for programs: a JSON Schema (2020-12) for the params and the result of every method, and for
 * the params of every notification, made from the codecs. Each stands alone, without references:
 * `methods['process/start'].params` goes into a validator or a code generator as it is.
 *
 * Not OpenRPC: it has no place for notifications, which are half of this protocol, and promises the envelope
 * of JSON-RPC 2.0, whose version member is not sent here. A client made from it would not work.
 */
export const protocolSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: PROTOCOL_VERSION,
  description:
    'JSON Schemas of what is sent over exec-server, by method and by notification. Members that are not ' +
    'required may be absent or null, which is the same, and so may params that may be null. Members that are ' +
    'not named are allowed. The notifications are those of the server; the client sends one, initialized, ' +
    'without params.',
  methods: mapValues(methods, ({ params, result }) => ({ params: params.schema, result: result.schema })),
  notifications: mapValues(notifications, ({ schema }) => ({ params: schema })),
} as const;

/** {@link protocolSchema} as JSON, to be read by people too; ends with a newline. */
export const schemaText = (): string => `${JSON.stringify(protocolSchema, undefined, 2)}\n`;
