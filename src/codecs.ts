/**
 * The small codecs that protocol.ts is built of, and the sentence for a value that does not fit.
 * A codec's name completes «expected …», so it reads as a noun: `a string`.
 */
import { type Either, isLeft, left, mapLeft } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { Bytes, decodeBase64, encodeBase64 } from './base64.js';

const refined = <A>(name: string, is: (value: unknown) => value is A): t.Type<A> =>
  new t.Type(
    name,
    is,
    (value, context) => (is(value) ? t.success(value) : t.failure(value, context)),
    t.identity,
  );

const isString = (value: unknown): value is string => typeof value === 'string';

export const text = refined('a string', isString);

export const nonEmptyText = refined(
  'a string that is not empty',
  (value): value is string => isString(value) && value !== '',
);

/** A string that can be a C string: argv, environment values, cwd. */
export const cString: t.Type<string> = new t.Type(
  'a string without NUL',
  (value): value is string => isString(value) && !value.includes('\0'),
  (value, context) => {
    if (!isString(value))
      return t.failure(value, [...context.slice(0, -1), { key: context.at(-1)?.key ?? '', type: text }]);
    return value.includes('\0') ? t.failure(value, context) : t.success(value);
  },
  t.identity,
);

export const flag = refined('true or false', (value): value is boolean => typeof value === 'boolean');

/** A whole number within a range that a double holds exactly. */
export const wholeNumber = (min: number, max: number, range = `from ${min} to ${max}`): t.Type<number> =>
  refined(
    `a whole number ${range}`,
    (value): value is number =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max,
  );

/** Sizes, sequence numbers and milliseconds (docs/protocol.md section 1). */
export const natural = wholeNumber(0, Number.MAX_SAFE_INTEGER, 'from 0 to 2^53-1');

export const oneOf = <A extends string>(...names: readonly [A, ...A[]]): t.Type<A> => {
  const known: ReadonlySet<unknown> = new Set(names);
  return refined(`one of ${names.join(', ')}`, (value): value is A => known.has(value));
};

/** Absent and `null` both mean «not given» (docs/protocol.md section 1). */
export const optional = <A, O>(codec: t.Type<A, O>): t.Type<A | undefined, O | undefined> =>
  new t.Type(
    codec.name,
    (value): value is A | undefined => value === undefined || codec.is(value),
    (value, context) =>
      value === undefined || value === null ? t.success(undefined) : codec.validate(value, context),
    (value) => (value === undefined ? undefined : codec.encode(value)),
  );

/** `null` is a value here, and must be there. */
export const nullable = <A, O>(codec: t.Type<A, O>): t.Type<A | null, O | null> =>
  new t.Type(
    `${codec.name} or null`,
    (value): value is A | null => value === null || codec.is(value),
    (value, context) => (value === null ? t.success(null) : codec.validate(value, context)),
    (value) => (value === null ? null : codec.encode(value)),
  );

export const list = <A, O>(item: t.Type<A, O>, name: string): t.Type<A[], O[]> => t.array(item, name);

/** Base64 on the wire, bytes inside. */
export const base64: t.Type<Bytes, string> = new t.Type(
  'standard base64 with padding',
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
export const struct = <P extends t.Props>(
  members: P,
  name = 'an object',
): t.Type<t.TypeOfProps<P>, t.OutputOfProps<P>> & { readonly props: P } => {
  const inner = t.type(members, name);
  const names = Object.keys(members);
  const pick = (value: unknown): unknown =>
    isObject(value)
      ? Object.fromEntries(
          names.filter((member) => Object.hasOwn(value, member)).map((member) => [member, value[member]]),
        )
      : value;
  const outer = new t.Type(
    name,
    (value): value is t.TypeOfProps<P> => inner.is(value),
    (value, context) => inner.validate(pick(value), context),
    (value: t.TypeOfProps<P>) => inner.encode(value),
  );
  return Object.assign(outer, { props: members });
};

/** An object whose names the client chose: a Map inside, so that `__proto__` is a name like any other. */
export const mapOf = <A, O>(
  name: string,
  key: t.Type<string>,
  value: t.Type<A, O>,
): t.Type<ReadonlyMap<string, A>, Record<string, O>> =>
  new t.Type(
    name,
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
export const nothing: t.Type<Record<string, never>, object> = new t.Type(
  'null or an object',
  (value): value is Record<string, never> => isObject(value),
  (value, context) =>
    value === undefined || value === null || isObject(value) ? t.success({}) : t.failure(value, context),
  () => ({}),
);

/** A plain object, for params whose members are read elsewhere. */
export const object = refined('an object', isObject);

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
