import { once } from 'node:events';
import fs from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { format, resolveConfig } from 'prettier';
import { isObject } from '../src/codecs.js';
import { type Method, methods, type Notification, notifications } from '../src/protocol.js';
import { protocolSchema, schemaText } from '../src/schema.js';
import { collectStderr, launchServer } from './support/client.js';
import { type Check, compile } from './support/json-schema.js';

const copy = new URL('../docs/schema.json', import.meta.url);

describe('docs/schema.json', () => {
  it('is what `exec-server schema` prints, formatted as all files are', async () => {
    const options = await resolveConfig(copy);
    const formatted = await format(schemaText(), { ...options, parser: 'json' });
    if (process.env['UPDATE_SCHEMA'] === '1') fs.writeFileSync(copy, formatted);
    expect(fs.readFileSync(copy, 'utf8'), 'UPDATE_SCHEMA=1 rewrites it').to.equal(formatted);
  });

  it('has every method and every notification', () => {
    const { methods: described, notifications: told } = JSON.parse(fs.readFileSync(copy, 'utf8'));
    expect(Object.keys(described)).to.deep.equal(Object.keys(methods));
    expect(Object.keys(told)).to.deep.equal(Object.keys(notifications));
  });
});

describe('exec-server schema', () => {
  it('prints the schemas on stdout, and nothing else', async () => {
    const command = launchServer(['schema']);
    const stderr = collectStderr(command);
    if (command.stdout === null) throw new Error('no stdout');
    const [stdout] = await Promise.all([text(command.stdout), once(command, 'close')]);
    expect({ status: command.exitCode, stderr: stderr() }).to.deep.equal({ status: 0, stderr: '' });
    expect(stdout).to.equal(schemaText());
  });

  it('ends as others do, without a word, when nobody reads it', async () => {
    const command = launchServer(['schema']);
    const stderr = collectStderr(command);
    command.stdout?.destroy();
    await once(command, 'close');
    expect({ status: command.exitCode, stderr: stderr() }).to.deep.equal({ status: 128 + 13, stderr: '' });
  });
});

const environmentInfo = {
  shell: { name: 'sh', path: '/bin/sh' },
  executorVersion: '1',
  cwd: 'file:///',
  userHomeDir: 'file:///root',
  tempDir: 'file:///tmp',
  temporaryDirectories: ['file:///tmp'],
  platformOs: 'linux',
  capabilities: {},
};
const start = {
  processId: 'p',
  argv: ['a', 'b'],
  cwd: '/',
  env: { PATH: '/bin' },
  tty: true,
  arg0: 'c',
  pipeStdin: false,
  envPolicy: {
    inherit: 'core',
    ignoreDefaultExcludes: false,
    exclude: ['a'],
    set: { A: '1' },
    includeOnly: ['b'],
  },
  outputBytesCap: 1,
  timeoutMs: 1,
  idleTimeoutMs: 1,
  outputWindow: 1,
  size: { rows: 24, cols: 80 },
  sandbox: 'any',
  enforceManagedNetwork: false,
  networkProxy: 1,
};
const chunk = { seq: 1, stream: 'stdout', chunk: 'AA==' };
const output = { processId: 'p', ...chunk };
const exited = {
  processId: 'p',
  seq: 2,
  exitCode: 137,
  signal: 'SIGKILL',
  sandboxDenied: false,
  reason: 'idle',
};
const writeAnswer = { accepted: true, status: 'accepted' };

const pathParams = { path: '/', followSymlinks: true, sandbox: 1 };

/** What fits, with every member there is: the tests below make what doesn't fit of it. */
const examples: Readonly<Record<Method, { readonly params: object; readonly result: object }>> = {
  initialize: {
    params: { clientName: 'c', resumeSessionId: 's' },
    result: { protocolVersion: 'v', sessionId: 's', environmentInfo },
  },
  'environment/info': { params: {}, result: environmentInfo },
  'environment/status': { params: {}, result: { status: 'ready' } },
  'server/state': {
    params: {},
    result: {
      server: { version: 'v', uptimeMs: 1, attachedSessions: 1, detachedSessions: 0, processes: 1 },
      session: {
        clientName: 'c',
        processes: [
          {
            processId: 'p',
            state: 'running',
            tty: false,
            pid: 7,
            exitCode: null,
            program: 'sh',
            ageMs: 1,
            outputBytes: 2,
            droppedBytes: 0,
          },
        ],
      },
    },
  },
  'process/start': {
    params: start,
    result: { processId: 'p', sandboxType: 'none', outputWindow: 1 },
  },
  'process/read': {
    params: { processId: 'p', afterSeq: 0, maxBytes: 1, waitMs: 2 },
    result: {
      chunks: [chunk],
      nextSeq: 2,
      exited: true,
      exitCode: 0,
      signal: 'SIGTERM',
      reason: 'signalled',
      closed: false,
      failure: null,
      sandboxDenied: false,
      droppedBytes: 0,
    },
  },
  'process/write': { params: { processId: 'p', chunk: '', writeId: 'w' }, result: writeAnswer },
  'process/terminate': {
    params: { processId: 'p', signal: 'hangup', graceMs: 1 },
    result: { running: true, survivors: 0 },
  },
  'process/signal': { params: { processId: 'p', signal: 'interrupt' }, result: {} },
  'process/resize': { params: { processId: 'p', rows: 1, cols: 1 }, result: {} },
  'process/closeStdin': { params: { processId: 'p' }, result: {} },
  'process/ack': { params: { processId: 'p', bytes: 1 }, result: {} },
  'process/list': {
    params: {},
    result: { processes: [{ processId: 'p', state: 'exited', tty: true, pid: 1, exitCode: 0 }] },
  },
  'fs/readFile': { params: pathParams, result: { dataBase64: 'AA==' } },
  'fs/writeFile': { params: { ...pathParams, dataBase64: 'AA==' }, result: {} },
  'fs/createDirectory': { params: { ...pathParams, recursive: true }, result: {} },
  'fs/getMetadata': {
    params: pathParams,
    result: {
      isDirectory: false,
      isFile: true,
      isSymlink: false,
      size: 1,
      createdAtMs: 0,
      modifiedAtMs: 1,
    },
  },
  'fs/canonicalize': { params: { path: '/', sandbox: 1 }, result: { path: 'file:///' } },
  'fs/readDirectory': {
    params: { path: '/', sandbox: 1 },
    result: { entries: [{ fileName: 'f', isDirectory: false, isFile: true }] },
  },
  'fs/walk': {
    params: {
      path: '/',
      options: {
        maxDepth: 1,
        maxDirectories: 1,
        maxEntries: 1,
        followDirectorySymlinks: true,
        pruneHiddenDirectories: true,
      },
      sandbox: 1,
    },
    result: {
      entries: [{ path: 'file:///f', kind: 'file' }],
      errors: [{ path: 'file:///d', message: 'no' }],
      truncated: false,
    },
  },
  'fs/remove': { params: { ...pathParams, recursive: true, force: true }, result: {} },
  'fs/copy': {
    params: { sourcePath: '/', destinationPath: '/', recursive: true, sandbox: 1 },
    result: {},
  },
  'fs/open': { params: { handleId: 'h', path: '/', sandbox: 1 }, result: { handleId: 'h' } },
  'fs/readBlock': {
    params: { handleId: 'h', offset: 0, len: 1, sandbox: 1 },
    result: { chunk: 'AA==', eof: true },
  },
  'fs/close': { params: { handleId: 'h', sandbox: 1 }, result: {} },
  'http/request': {
    params: {
      method: 'POST',
      url: 'http://a/',
      headers: [{ name: 'a', value: 'b' }],
      bodyBase64: 'AA==',
      timeoutMs: 1,
      redirectPolicy: 'stop',
      requestId: 'r',
      streamResponse: true,
    },
    result: { status: 200, headers: [{ name: 'a', value: 'b' }], bodyBase64: '' },
  },
  'command/exec': {
    params: start,
    result: { processId: 'p', running: true, exitCode: null, stdout: null, stderr: null },
  },
  'command/exec/write': { params: { processId: 'p', chunk: '' }, result: writeAnswer },
  'command/exec/terminate': { params: { processId: 'p' }, result: { running: true } },
};
const notificationExamples: Readonly<Record<Notification, object>> = {
  'process/output': output,
  'process/exited': exited,
  'process/closed': { processId: 'p', seq: 3 },
  'http/request/bodyDelta': { requestId: 'r', seq: 1, deltaBase64: 'AA==', done: true, error: 'e' },
  'command/exec/outputDelta': output,
  'command/exec/exited': exited,
};

const MAX_SAFE = Number.MAX_SAFE_INTEGER;
const CAP = 64 * 1024 * 1024;

/** Texts that are no base64. The codec refuses them; the schema names the encoding, and checks no text. */
const NOT_BASE64 = [
  'a',
  'AB==',
  'AAA',
  'AAA\n',
  'AA-A',
  'a\0',
  'a\nb',
  '\ud800',
  '1',
  '__proto__',
  'interrupt',
  'INTERRUPT',
  'stdout',
  'pty',
  'running',
];
const KNOWN_DIFFERENCES = new Set(
  ['chunk', 'dataBase64', 'bodyBase64', 'deltaBase64'].flatMap((member) =>
    NOT_BASE64.map((chars) => `${member}: ${JSON.stringify(chars)}`),
  ),
);

/** Put in place of each value in the examples: every type, and both sides of every bound. */
const SAMPLES: readonly unknown[] = [
  [null, true, false],
  [0, -0, 1, -1, 0.5, 1.5, 10_000, 10_001, CAP, CAP + 1, MAX_SAFE, MAX_SAFE + 1, 1e300, -1e300],
  [2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1],
  ['', 'AA==', 'true', 'accepted', ...NOT_BASE64],
  [[], ['a'], ['a\0'], [null], [0], [{}]],
  [{}, { a: 'b' }, { a: 'b\0' }, { a: 0 }, { a: null }, { '': 'b' }, { '=': 'b' }, { 'a\0': 'b' }],
  [{ rows: 1, cols: 10_000 }, { rows: 0, cols: 1 }, { rows: 1 }, JSON.parse('{"__proto__":"a"}')],
].flat();

type Variant = {
  /** The value, a part of it, or with a member more or less. */
  readonly value: unknown;
  /** What was done to it, for the reader. */
  readonly change: string;
};

/** The value with one thing changed, at any depth. */
const variantsOf = (value: unknown, name = 'all'): Variant[] => [
  ...SAMPLES.map((sample) => ({ value: sample, change: `${name}: ${JSON.stringify(sample)}` })),
  ...(Array.isArray(value)
    ? value.flatMap((item, index) =>
        variantsOf(item, name).map((inner) => ({ ...inner, value: value.with(index, inner.value) })),
      )
    : []),
  ...(isObject(value)
    ? [
        { value: { ...value, unknown: 1, toString: null }, change: `${name} with more members` },
        ...Object.entries(value).flatMap(([member, old]) => [
          {
            value: Object.fromEntries(Object.entries(value).filter(([other]) => other !== member)),
            change: `${name} without ${member}`,
          },
          ...variantsOf(old, member).map((inner) => ({
            ...inner,
            value: { ...value, [member]: inner.value },
          })),
        ]),
      ]
    : []),
];

type Edge = {
  readonly title: string;
  readonly decodes: Check;
  readonly schema: unknown;
  readonly example: object;
};

type Decoder = { decode(value: unknown): { readonly _tag: 'Left' | 'Right' } };

const decodesWith =
  (codec: Decoder): Check =>
  (value) =>
    codec.decode(value)._tag === 'Right';

const edges: readonly Edge[] = [
  ...Object.keys(methods)
    .filter((name): name is Method => name in methods)
    .flatMap((name) =>
      (['params', 'result'] as const).map((part) => ({
        title: `the ${part} of ${name}`,
        decodes: decodesWith(methods[name][part]),
        schema: protocolSchema.methods[name]?.[part],
        example: examples[name][part],
      })),
    ),
  ...Object.keys(notifications)
    .filter((name): name is Notification => name in notifications)
    .map((name) => ({
      title: `the params of ${name}, a notification,`,
      decodes: decodesWith(notifications[name]),
      schema: protocolSchema.notifications[name]?.params,
      example: notificationExamples[name],
    })),
];

describe('codec and JSON Schema agree about', () => {
  for (const { title, decodes, schema, example } of edges) {
    it(title, () => {
      const fits = compile(schema);
      expect({ decodes: decodes(example), fits: fits(example) }).to.deep.equal({ decodes: true, fits: true });
      // a member that the example lacks would not be tried
      if (isObject(schema) && isObject(schema['properties']))
        expect(Object.keys(schema['properties']).sort()).to.deep.equal(Object.keys(example).sort());

      const variants = variantsOf(example);
      expect(variants.some(({ value }) => !decodes(value))).to.equal(true);
      const differences = variants.filter(({ value }) => decodes(value) !== fits(value));
      const unexpected = differences.filter(
        ({ value, change }) => !(fits(value) && KNOWN_DIFFERENCES.has(change)),
      );
      expect(unexpected.map(({ change }) => change)).to.deep.equal([]);
    });
  }

  it('everything but base64, which the schema can only name', () => {
    const differences = edges.flatMap(({ decodes, schema, example }) => {
      const fits = compile(schema);
      return variantsOf(example).filter(({ value }) => decodes(value) !== fits(value));
    });
    expect(new Set(differences.map(({ change }) => change))).to.deep.equal(KNOWN_DIFFERENCES);
  });
});
