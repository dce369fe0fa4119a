import { isObject } from '../../src/codecs.js';

/** Whether a value fits a schema. */
export type Check = (value: unknown) => boolean;

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const isTexts = (value: unknown): value is readonly string[] =>
  isList(value) && value.every(isText) && new Set(value).size === value.length;

/** Takes the argument of a keyword, which must be of a kind. */
const an =
  <A>(is: (value: unknown) => value is A) =>
  (argument: unknown): A => {
    if (!is(argument)) throw new Error(`malformed JSON Schema: ${JSON.stringify(argument)}`);
    return argument;
  };

const types: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['null', (value) => value === null],
  ['boolean', (value) => typeof value === 'boolean'],
  ['string', isText],
  ['integer', Number.isInteger],
  ['array', isList],
  ['object', isObject],
]);

const typeChecks = (argument: unknown): readonly Check[] =>
  (isText(argument) ? [argument] : an(isTexts)(argument)).map((name) => {
    const check = types.get(name);
    if (check === undefined) throw new Error(`no type of JSON Schema: ${name}`);
    return check;
  });

type Keyword = (argument: unknown) => Check;

/** A keyword: how its argument is taken, and which values fit it. */
const keyword =
  <A>(take: (argument: unknown) => A, fits: (argument: A, value: unknown) => boolean): Keyword =>
  (argument) => {
    const taken = take(argument);
    return (value) => fits(taken, value);
  };

const schema = (argument: unknown): Check => compile(argument);
const schemas = (argument: unknown): readonly Check[] => an(isList)(argument).map(compile);
const schemaByName = (argument: unknown): readonly (readonly [string, Check])[] =>
  Object.entries(an(isObject)(argument)).map(([name, member]) => [name, compile(member)] as const);

/** The keywords in use. Each speaks of one kind of value, lets others pass, and looks at no other keyword. */
const keywords: ReadonlyMap<string, Keyword> = new Map([
  // these two are for the reader
  ['description', keyword(an(isText), () => true)],
  ['contentEncoding', keyword(an(isText), () => true)],
  ['type', keyword(typeChecks, (checks, value) => checks.some((check) => check(value)))],
  ['enum', keyword(an(isTexts), (known, value) => isText(value) && known.includes(value))],
  ['anyOf', keyword(schemas, (checks, value) => checks.some((check) => check(value)))],
  [
    'pattern',
    keyword(
      (argument) => new RegExp(an(isText)(argument), 'u'),
      (pattern, value) => !isText(value) || pattern.test(value),
    ),
  ],
  ['minLength', keyword(an(isNumber), (least, value) => !isText(value) || Array.from(value).length >= least)],
  ['maxLength', keyword(an(isNumber), (most, value) => !isText(value) || Array.from(value).length <= most)],
  ['minimum', keyword(an(isNumber), (least, value) => !isNumber(value) || value >= least)],
  ['maximum', keyword(an(isNumber), (most, value) => !isNumber(value) || value <= most)],
  ['items', keyword(schema, (item, value) => !isList(value) || value.every(item))],
  [
    'required',
    keyword(
      an(isTexts),
      (names, value) => !isObject(value) || names.every((name) => Object.hasOwn(value, name)),
    ),
  ],
  [
    'properties',
    keyword(
      schemaByName,
      (members, value) =>
        !isObject(value) ||
        members.every(([name, check]) => !Object.hasOwn(value, name) || check(value[name])),
    ),
  ],
  ['propertyNames', keyword(schema, (name, value) => !isObject(value) || Object.keys(value).every(name))],
  [
    'additionalProperties',
    keyword(schema, (member, value) => !isObject(value) || Object.values(value).every(member)),
  ],
]);

/**
 * A validator for JSON Schema 2020-12, as far as the project uses it.
 *
 * @throws Error for a schema that is malformed, or uses a keyword that isn't known here
 */
export const compile = (source: unknown): Check => {
  const members = an(isObject)(source);
  if (Object.hasOwn(members, 'properties') && Object.hasOwn(members, 'additionalProperties'))
    throw new Error('additionalProperties beside properties is more than this validator knows');
  const checks = Object.entries(members).map(([name, argument]) => {
    const known = keywords.get(name);
    if (known === undefined) throw new Error(`unknown keyword: ${name}`);
    return known(argument);
  });
  return (value) => checks.every((check) => check(value));
};
