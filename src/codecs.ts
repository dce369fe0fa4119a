/**
 * The small codecs that protocol.ts is built of, and the sentence for a value that does not fit.
 * A codec's name completes «expected …», so it reads as a noun: `a string`. Each carries the JSON Schema
 * of what it decodes, for src/schema.ts; test/schema.test.ts holds the two against each other.
 */
import { type Either, isLeft, left, mapLeft } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { Bytes, decodeBase64, encodeBase64 } from './base64.js';

/** A JSON Schema (2020-12): written for others, never read here. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A codec with the JSON Schema of what it decodes. */
export class Codec<A, O = A> extends t.Type<A, O> {
  constructor(
    name: string,
    readonly schema: JsonSchema,
    is: t.Is<A>,
    validate: t.Validate<unknown, A>,
    encode: t.Encode<A, O>,
  ) {
    super(name, is, validate, encode);
  }

  /** The same codec, with a few words in its schema. */
  describe(description: string): Codec<A, O> {
    return new Codec(this.name, { ...this.schema, description }, this.is, this.validate, this.encode);
  }
}

const refined = <A>(name: string, schema: JsonSchema, is: t.Is<A>): Codec<A> =>
  new Codec(
    name,
    schema,
    is,
    (value, context) => (is(value) ? t.success(value) : t.failure(value, context)),
    t.identity,
  );

const isString = (value: unknown): value is string => typeof value === 'string';

export const text = refined('a string', { type: 'string' }, isString);

export const nonEmptyText = refined(
  'a string that is not empty',
  { type: 'string', minLength: 1 },
  (value): value is string => isString(value) && value !== '',
);

/** A string that is not longer than this as UTF-8. The schema has only characters to count. */
export const textUpTo = (maxBytes: number): Codec<string> =>
  refined(
    `a string of at most ${maxBytes} bytes`,
    { type: 'string', maxLength: maxBytes },
    (value): value is string => isString(value) && Buffer.byteLength(value) <= maxBytes,
  );

/** A string that fits a pattern: one without flags, JSON Schema has none. */
export const matching = (name: string, pattern: RegExp): Codec<string> =>
  refined(
    name,
    { type: 'string', pattern: pattern.source },
    (value): value is string => isString(value) && pattern.test(value),
  );

/** A string that can be a C string: argv, environment values, cwd. */
export const cString = new Codec<string>(
  'a string without NUL',
  { type: 'string', pattern: /^[^\0]*$/.source },
  (value): value is string => isString(value) && !value.includes('\0'),
  (value, context) => {
    if (!isString(value))
      return t.failure(value, [...context.slice(0, -1), { key: context.at(-1)?.key ?? '', type: text }]);
    return value.includes('\0') ? t.failure(value, context) : t.success(value);
  },
  t.identity,
);

export const flag = refined(
  'true or false',
  { type: 'boolean' },
  (value): value is boolean => typeof value === 'boolean',
);

/** A whole number within a range that a double holds exactly. */
export const wholeNumber = (min: number, max: number, range = `from ${min} to ${max}`): Codec<number> =>
  refined(
    `a whole number ${range}`,
    { type: 'integer', minimum: min, maximum: max },
    (value): value is number =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max,
  );

/** Sizes, sequence numbers and milliseconds (docs/protocol.md section 1). */
export const natural = wholeNumber(0, Number.MAX_SAFE_INTEGER, 'from 0 to 2^53-1');

export const oneOf = <A extends string>(...names: readonly [A, ...A[]]): Codec<A> => {
  const known: ReadonlySet<unknown> = new Set(names);
  return refined(`one of ${names.join(', ')}`, { type: 'string', enum: names }, (value): value is A =>
    known.has(value),
  );
};

export const nil = refined('null', { type: 'null' }, (value): value is null => value === null);

export const anything = refined('anything', {}, (_value): _value is unknown => true);

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, nil.schema] });

/** Absent and `null` both mean «not given» (docs/protocol.md section 1). */
export const optional = <A, O>(codec: Codec<A, O>): Codec<A | undefined, O | undefined> =>
  new Codec(
    codec.name,
    orNull(codec.schema),
    (value): value is A | undefined => value === undefined || codec.is(value),
    (value, context) =>
      value === undefined || value === null ? t.success(undefined) : codec.validate(value, context),
    (value) => (value === undefined ? undefined : codec.encode(value)),
  );

/** `null` is a value here, and must be there. */
export const nullable = <A, O>(codec: Codec<A, O>): Codec<A | null, O | null> =>
  new Codec(
    `${codec.name} or null`,
    orNull(codec.schema),
    (value): value is A | null => value === null || codec.is(value),
    (value, context) => (value === null ? t.success(null) : codec.validate(value, context)),
    (value) => (value === null ? null : codec.encode(value)),
  );

export const list = <A, O>(item: Codec<A, O>, name: string): Codec<A[], O[]> => {
  const { is, validate, encode } = t.array(item, name);
  return new Codec(name, { type: 'array', items: item.schema }, is, validate, encode);
};

/** Base64 on the wire, bytes inside. The schema can't tell all that {@link decodeBase64} refuses. */
export const base64 = new Codec<Bytes, string>(
  'standard base64 with padding',
  { type: 'string', contentEncoding: 'base64' },
  (value): value is Bytes => value instanceof Bytes,
  (value, context) => {
    const bytes = isString(value) ? decodeBase64(value) : undefined;
    return bytes === undefined ? t.failure(value, context) : t.success(new Bytes(bytes));
  },
  (bytes) => encodeBase64(bytes.data),
);

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * An object with these members; others are left out before `t.type` sees them: it copies with assignments,
 * by which a member `__proto__` becomes the prototype, and its members seem to be those of the object.
 */
export const struct = <P extends Readonly<Record<string, t.Mixed & { readonly schema: JsonSchema }>>>(
  props: P,
  name = 'an object',
): Codec<t.TypeOfProps<P>, t.OutputOfProps<P>> => {
  const inner = t.type(props, name);
  const members = Object.entries(props);
  const pick = (value: unknown): unknown =>
    isObject(value)
      ? Object.fromEntries(
          members
            .filter(([member]) => Object.hasOwn(value, member))
            .map(([member]) => [member, value[member]]),
        )
      : value;
  return new Codec(
    name,
    {
      type: 'object',
      required: members.filter(([, codec]) => isLeft(codec.decode(undefined))).map(([member]) => member),
      properties: Object.fromEntries(members.map(([member, { schema }]) => [member, schema])),
    },
    inner.is,
    (value, context) => inner.validate(pick(value), context),
    inner.encode,
  );
};

/** An object whose names the client chose: a Map inside, so that `__proto__` is a name like any other. */
export const mapOf = <A, O>(
  name: string,
  key: Codec<string>,
  value: Codec<A, O>,
): Codec<ReadonlyMap<string, A>, Record<string, O>> =>
  new Codec(
    name,
    { type: 'object', propertyNames: key.schema, additionalProperties: value.schema },
    (input): input is ReadonlyMap<string, A> => input instanceof Map,
    (input, context) => {
      if (!isObject(input)) return t.failure(input, context);
      const map = new Map<string, A>();
      for (const [memberName, member] of Object.entries(input)) {
        const checkedName = key.validate(memberName, t.appendContext(context, '', key));
        if (isLeft(checkedName)) return checkedName;
        const checked = value.validate(member, t.appendContext(context, memberName, value));
        if (isLeft(checked)) return checked;
        map.set(memberName, checked.right);
      }
      return t.success(map);
    },
    (map) => Object.fromEntries([...map].map(([memberName, member]) => [memberName, value.encode(member)])),
  );

/** Parameters of a method without any: absent, `null` and an object are all fine. */
export const nothing = new Codec<Record<string, never>, object>(
  'null or an object',
  { type: ['object', 'null'] },
  (value): value is Record<string, never> => isObject(value),
  (value, context) =>
    value === undefined || value === null || isObject(value) ? t.success({}) : t.failure(value, context),
  () => ({}),
);

/** A plain object, for params whose members are read elsewhere. */
export const object = refined('an object', { type: 'object' }, isObject);

/** Which member is at fault: `argv[1]`, `env.PATH`, `params` for the whole. */
const memberPath = (context: t.Context): string =>
  context
    .slice(1)
    // io-ts names the parts of an intersection by their place; they are no members
    .filter((entry, index) => !(context[index]?.type instanceof t.IntersectionType) && entry.key !== '')
    .reduce(
      (path, { key }) => (/^\d+$/.test(key) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`),
      '',
    ) || 'params';

/** One sentence about the first thing wrong: which member, what was expected; never the value. */
const explain = (errors: t.Errors): string => {
  const [first] = errors;
  const context = first?.context ?? [];
  return `${memberPath(context)}: expected ${context.at(-1)?.type.name ?? 'something else'}`;
};

/** Decodes a value, or says in one sentence which member is wrong. */
export const decode = <A>(codec: t.Type<A, unknown>, value: unknown): Either<string, A> =>
  value === undefined && !codec.is(undefined) && isLeft(codec.decode(value))
    ? left(`params: expected ${codec.name}`)
    : mapLeft(explain)(codec.decode(value));
