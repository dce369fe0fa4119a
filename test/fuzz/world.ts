import path from 'node:path';
import * as fc from 'fast-check';
import { isRight } from 'fp-ts/lib/Either.js';
import { isObject } from '../../src/codecs.js';
import { absolutePath } from '../../src/file-uri.js';

/** Where generated requests may do harm: nowhere else do they reach. */
export type World = {
  /** A directory of its own; paths of files are below it. */
  readonly root: string;
  /** The origin of a port where nobody listens. */
  readonly nobody: string;
  /** In the environment of all that is started, to find it by. */
  readonly cookie: Readonly<Record<string, string>>;
};

/** Few, so that requests meet processes that others have started. */
export const processIds: readonly string[] = ['a', 'b', 'c', '', '__proto__', 'ü😀', 'constructor', '0'];

const PROGRAMS: ReadonlySet<string> = new Set([
  'true',
  'false',
  'cat',
  'sleep',
  'printf',
  '/nonexistent',
  '',
]);

const cText = fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !text.includes('\0'));

/** The same for open files. The last one is too long. */
export const handleIds: readonly string[] = ['h', 'i', '', '__proto__', 'ü'.repeat(17)];

/** Harmless, whatever else the request says: `printf` and `cat` get arguments that can't make them dangerous. */
const argv = ({ root }: World): fc.Arbitrary<string[]> =>
  fc.oneof(
    fc.constantFrom<string[][]>(
      [],
      ['cat'],
      ['cat'],
      ['sleep', '1000'],
      ['sleep', '1000'],
      ['/nonexistent'],
      [''],
      [root],
    ),
    fc
      .tuple(fc.constantFrom('true', 'false'), fc.array(cText, { maxLength: 4 }))
      .map(([name, args]) => [name, ...args]),
    fc.array(cText, { maxLength: 4 }).map((args) => ['printf', '%s', ...args]),
  );

/** Paths below the root: no `..`, by which a link could lead out of it. */
const pathBelow = ({ root }: World): fc.Arbitrary<string> => {
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c', 'file', 'link', 'loop', 'ü', 'x'.repeat(300)) },
    {
      weight: 1,
      arbitrary: cText
        .map((text) => text.replaceAll('/', ''))
        .filter((text) => text !== '' && text !== '.' && text !== '..' && Buffer.byteLength(text) < 100),
    },
  );
  return fc
    .tuple(fc.array(name, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([names, asUri]) =>
      asUri
        ? `file://${root}/${names.map((text) => encodeURIComponent(Buffer.from(text).toString())).join('/')}`
        : `${root}/${names.join('/')}`,
    );
};

const milliseconds = fc.constantFrom(0, 0, 1, 5, 20, 2 ** 31, Number.MAX_SAFE_INTEGER);

const bytes = fc.oneof(
  { weight: 9, arbitrary: fc.uint8Array({ maxLength: 200 }).map((data) => Buffer.from(data)) },
  // more than a pipe holds
  { weight: 1, arbitrary: fc.nat({ max: 150_000 }).map((length) => Buffer.alloc(length, 'x')) },
);

/** How a member is made where its schema says too little: by the member's name, whatever the method is. */
export const members = (world: World): ReadonlyMap<string, fc.Arbitrary<unknown>> => {
  const base64 = bytes.map((data) => data.toString('base64'));
  const file = pathBelow(world);
  return new Map<string, fc.Arbitrary<unknown>>([
    ['processId', fc.constantFrom(...processIds)],
    ['argv', argv(world)],
    ['arg0', fc.option(cText)],
    ['cwd', fc.oneof(fc.constantFrom('/', world.root, `file://${world.root}`, '/nonexistent'), cText)],
    [
      'env',
      fc
        .dictionary(fc.stringMatching(/^X[^=\0]*$/), cText, { maxKeys: 3 })
        .map((env) => ({ ...env, PATH: '/usr/bin:/bin', ...world.cookie })),
    ],
    ['sandbox', fc.option(fc.jsonValue({ maxDepth: 1 }), { freq: 1 })],
    ['chunk', base64],
    ['dataBase64', base64],
    ['bodyBase64', fc.option(base64)],
    ['waitMs', fc.option(milliseconds)],
    ['timeoutMs', fc.option(milliseconds)],
    ['path', file],
    ['sourcePath', file],
    ['destinationPath', file],
    ['handleId', fc.constantFrom(...handleIds)],
    ['url', fc.constantFrom(`${world.nobody}/`, `${world.nobody}/a?b#c`, 'ftp://x/', 'http://u:p@[', '')],
    ['method', fc.oneof(fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'CONNECT', 'G ET', ''), cText)],
    ['clientName', fc.string()],
  ]);
};

const isHarmlessPath = (value: unknown, { root }: World): boolean => {
  if (typeof value !== 'string') return true;
  const absolute = absolutePath(value);
  return (
    !isRight(absolute) ||
    (!absolute.right.split('/').includes('..') && path.resolve(absolute.right).startsWith(`${root}/`))
  );
};

const isHarmlessProgram = (argvOf: unknown, { root }: World): boolean =>
  !Array.isArray(argvOf) ||
  typeof argvOf[0] !== 'string' ||
  argvOf[0] === root ||
  (PROGRAMS.has(argvOf[0]) && (argvOf[0] !== 'cat' || argvOf.length === 1));

/** Whether params may be sent: the last look at them, whoever generated them. */
export const isHarmless = (params: unknown, world: World): boolean =>
  !isObject(params) ||
  (isHarmlessProgram(params['argv'], world) &&
    ['path', 'sourcePath', 'destinationPath'].every((name) => isHarmlessPath(params[name], world)) &&
    (typeof params['url'] !== 'string' ||
      params['url'].startsWith(world.nobody) ||
      !/^\s*https?:\/\/[^[]*$/i.test(params['url'])));
