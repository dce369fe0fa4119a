import * as fc from 'fast-check';
import { isObject, type JsonSchema } from '../../src/codecs.js';
import { type Method, methods } from '../../src/protocol.js';
import { isHarmless, members, type World } from './world.js';

const anyKey = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'id', 'method', 'toString'));

/** Any value that JSON has, with names that are dangerous in a language with prototypes. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.dictionary(anyKey, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 4 }),
  fc.constantFrom(-1, 0.5, 1e300, -0, 2 ** 53, 2 ** 31, -(2 ** 63), '', '\0', '\ud800', null, true),
);

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const typed = (type: unknown, schema: JsonSchema, byName: ReadonlyMap<string, fc.Arbitrary<unknown>>) => {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.oneof(
        fc.integer({ min: Number(schema['minimum']), max: Math.min(Number(schema['maximum']), 2 ** 16) }),
        fc.constant(schema['minimum']),
        fc.constant(schema['maximum']),
      );
    case 'string':
      return fc.string({ unit: 'binary', maxLength: Number(schema['maxLength'] ?? 20) });
    case 'array':
      return fc.array(fromSchema(schema['items'], byName), { maxLength: 4 });
    case 'object':
      return fromObject(schema, byName);
    default:
      throw new Error(`no type that is known here: ${JSON.stringify(type)}`);
  }
};

const fromObject = (
  { properties, required, propertyNames }: JsonSchema,
  byName: ReadonlyMap<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<unknown> => {
  if (propertyNames !== undefined) return fc.dictionary(fc.stringMatching(/^[^=\0]+$/), fc.string());
  if (!isObject(properties)) return fc.dictionary(anyKey, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 });
  const model = Object.entries(properties).map(
    ([name, member]) => [name, byName.get(name) ?? fromSchema(member, byName)] as const,
  );
  const needed = isList(required)
    ? model.map(([name]) => name).filter((name) => required.includes(name))
    : [];
  return fc.record<Record<string, unknown>>(Object.fromEntries(model), { requiredKeys: needed });
};

/** Values that fit a JSON Schema, as far as the project uses it. */
const fromSchema = (
  schema: unknown,
  byName: ReadonlyMap<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<unknown> => {
  if (!isObject(schema)) throw new Error('no schema');
  const { type, enum: names, anyOf } = schema;
  if (isList(anyOf)) return fc.oneof(...anyOf.map((one) => fromSchema(one, byName)));
  if (isList(names)) return fc.constantFrom(...names);
  if (isList(type)) return fc.oneof(...type.map((one) => typed(one, schema, byName)));
  return type === undefined ? anyJson : typed(type, schema, byName);
};

/** Params of a method that decode, but for what a schema can't tell. */
export const validParams = (method: Method, world: World): fc.Arbitrary<unknown> =>
  fromSchema(methods[method].params.schema, members(world));

/** Texts that are wrong for most members, and harmless for all. */
export const wrongTexts: readonly string[] = [
  '\0',
  '=',
  'AAA',
  'AB==',
  'A-_=',
  ' AAAA',
  'no such name',
  'relative/path',
];

/** What is put in place of a member: no text that could be a path, a program or a URL. */
const wrong = fc.oneof(
  anyJson.filter((value) => typeof value !== 'string'),
  fc.constantFrom(...wrongTexts),
);

/** All places of a value, itself among them. */
const placesOf = (value: unknown): (readonly string[])[] => [
  [],
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, member]) => placesOf(member).map((below) => [name, ...below]))
    : []),
];

/** The value with another one at a place; without it where that is undefined. */
const replaced = (value: unknown, [name, ...below]: readonly string[], by: unknown): unknown => {
  if (name === undefined) return by;
  if (isList(value)) return value.map((item, at) => (String(at) === name ? replaced(item, below, by) : item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, key === name ? replaced(member, below, by) : member] as const)
      .filter(([, member]) => member !== undefined),
  );
};

/** The same with one place changed or left out; most of them don't decode any more. */
export const mutatedParams = (method: Method, world: World): fc.Arbitrary<unknown> =>
  fc
    .tuple(validParams(method, world), fc.nat(), fc.option(wrong, { nil: undefined, freq: 4 }))
    .map(([value, place, by]) => {
      const places = placesOf(value);
      return replaced(value, places[place % places.length] ?? [], by);
    })
    .filter((params) => isHarmless(params, world));

/** Any method with params of its own, right or wrong. */
export const anyCall = (
  world: World,
  served: readonly Method[],
): fc.Arbitrary<{ method: Method; params: unknown }> =>
  fc.oneof(
    ...served.flatMap((method) => [
      {
        weight: 6,
        arbitrary: validParams(method, world)
          .filter((params) => isHarmless(params, world))
          .map((params) => ({ method, params })),
      },
      { weight: 1, arbitrary: mutatedParams(method, world).map((params) => ({ method, params })) },
    ]),
  );
