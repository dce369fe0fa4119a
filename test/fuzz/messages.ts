import * as fc from 'fast-check';

/** A message for the server, and what must come back: an answer with its id, or one to a malformed message. */
export type Message =
  | {
      readonly kind: 'request';
      /** As it is written in the text. */
      readonly id: string;
      readonly method: string;
      readonly params: unknown;
      readonly text: string;
    }
  | { readonly kind: 'malformed'; readonly text: string };

/** A message, once its place among those of its connection is known: no two have the same id. */
export type Unnumbered = (place: number) => Message;

/** Ids of every form; the place makes them different from each other. None is -1, the id of malformed messages. */
const idForm: fc.Arbitrary<(place: number) => string> = fc.oneof(
  fc.constant((place: number) => String(place)),
  fc.constant((place: number) => String(-2 - place)),
  fc.constant((place: number) => String(2n ** 53n + BigInt(place))),
  fc.constant((place: number) => String(2n ** 63n - 1n - BigInt(place))),
  fc.constant((place: number) => String(-(2n ** 63n) + BigInt(place))),
  fc
    .string({ unit: 'binary', maxLength: 10 })
    .map((text) => (place: number) => JSON.stringify(`${place} ${text}`)),
);

const extraMember = fc.oneof(
  fc.constantFrom(
    '"jsonrpc":"2.0"',
    '"trace":{"traceparent":7}',
    '"__proto__":{"id":7}',
    '"x":{"id":[1,{"id":2}]}',
  ),
  fc.json({ maxDepth: 1 }).map((json) => `"extra":${json}`),
);

/** Where the id stands, what stands around it, and the white space between. */
const layout = fc.record({
  idAt: fc.nat({ max: 2 }),
  gap: fc.constantFrom('', '', ' ', '\t  '),
  extra: fc.option(extraMember, { freq: 3 }),
});

/** A request in whatever form a client may write it. */
export const requestOf = (call: {
  readonly method: string;
  readonly params: unknown;
}): fc.Arbitrary<Unnumbered> =>
  fc.tuple(idForm, layout).map(([form, { idAt, gap, extra }]) => (place) => {
    const id = form(place);
    const members = [`"method":${gap}${JSON.stringify(call.method)}`];
    if (call.params !== undefined) members.push(`"params"${gap}:${JSON.stringify(call.params)}`);
    if (extra !== null) members.push(extra);
    members.splice(Math.min(idAt, members.length), 0, `"id"${gap}:${gap}${id}${gap}`);
    return { kind: 'request', id, ...call, text: `{${gap}${members.join(',')}}` };
  });

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // which is what was asked
  }
};

const BAD_IDS = [
  'null',
  'true',
  '1.5',
  '1e3',
  '1.0',
  '[]',
  '{}',
  '9223372036854775808',
  '-9223372036854775809',
];

/** What can't be a request, in one line that is not blank. */
export const malformedText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('[]', '[{"id":1,"method":"environment/status"}]', 'null', '1', '"x"', '{}', '{"id":1}'),
  fc.constantFrom('{"method":7}', '{"id":1,"method":["m"]}', '{"id":1,"error":1}', '{"result":1}'),
  fc.constantFrom(...BAD_IDS).map((id) => `{"id":${id},"method":"environment/status"}`),
  fc
    .string({ unit: 'binary', minLength: 1 })
    .map((text) => text.replaceAll('\n', ''))
    .filter((text) => /\S/.test(Buffer.from(text).toString()) && !isJson(text)),
  // one that was cut off
  fc
    .tuple(fc.json(), fc.nat())
    .map(([json, length]) =>
      `{"id":1,"method":"m","params":${json}}`.slice(0, 1 + (length % (24 + json.length))),
    ),
);

export const malformed: fc.Arbitrary<Unnumbered> = malformedText.map((text) => () => ({
  kind: 'malformed',
  text,
}));

/** Params that say nothing, and calls that change nothing. */
export const idleCall: fc.Arbitrary<{ method: string; params: unknown }> = fc.record({
  method: fc.oneof(
    fc.constantFrom(
      'environment/status',
      'environment/info',
      'process/list',
      'initialize',
      'process/terminate',
    ),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty'),
  ),
  params: fc.option(fc.jsonValue({ maxDepth: 3 }), { nil: undefined }),
});
