import { expect } from 'chai';
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import { decode } from '../src/codecs.js';
import { type Method, methods } from '../src/protocol.js';

const CANARY = 'canary';

type Decoder = (params: unknown) => Either<string, unknown>;

const decoder =
  <A>({ params: codec }: { readonly params: t.Type<A, unknown> }): Decoder =>
  (params) =>
    decode(codec, params);

/** One for each method: their types have nothing in common. */
const decoders: Readonly<Record<Method, Decoder>> = {
  initialize: decoder(methods.initialize),
  'environment/info': decoder(methods['environment/info']),
  'environment/status': decoder(methods['environment/status']),
  'process/start': decoder(methods['process/start']),
  'process/read': decoder(methods['process/read']),
  'process/write': decoder(methods['process/write']),
  'process/terminate': decoder(methods['process/terminate']),
  'process/signal': decoder(methods['process/signal']),
  'process/resize': decoder(methods['process/resize']),
  'process/closeStdin': decoder(methods['process/closeStdin']),
  'process/ack': decoder(methods['process/ack']),
  'process/list': decoder(methods['process/list']),
  'server/state': decoder(methods['server/state']),
  'fs/readFile': decoder(methods['fs/readFile']),
  'fs/writeFile': decoder(methods['fs/writeFile']),
  'fs/createDirectory': decoder(methods['fs/createDirectory']),
  'fs/getMetadata': decoder(methods['fs/getMetadata']),
  'fs/canonicalize': decoder(methods['fs/canonicalize']),
  'fs/readDirectory': decoder(methods['fs/readDirectory']),
  'fs/walk': decoder(methods['fs/walk']),
  'fs/remove': decoder(methods['fs/remove']),
  'fs/copy': decoder(methods['fs/copy']),
  'fs/open': decoder(methods['fs/open']),
  'fs/readBlock': decoder(methods['fs/readBlock']),
  'fs/close': decoder(methods['fs/close']),
  'http/request': decoder(methods['http/request']),
  'command/exec': decoder(methods['command/exec']),
  'command/exec/write': decoder(methods['command/exec/write']),
  'command/exec/terminate': decoder(methods['command/exec/terminate']),
};

const refusal = (method: Method, params: unknown): string => {
  const result = decoders[method](params);
  if (!isLeft(result)) throw new Error(`not refused: ${JSON.stringify(params)?.slice(0, 200)}`);
  return result.left;
};

const accepted = (method: Method, params: unknown): object => {
  const result = decoders[method](params);
  if (isLeft(result)) throw new Error(`refused: ${result.left}`);
  if (typeof result.right !== 'object' || result.right === null) throw new Error('no object');
  return result.right;
};

const TEXT = 'a string';
const C_STRING = 'a string without NUL';
const FLAG = 'true or false';
const NATURAL = 'a whole number from 0 to 2^53-1';
const CAP = 'a whole number from 0 to 67108864';
const WINDOW = 'a whole number from 1 to 67108864';
const SIDE = 'a whole number from 1 to 10000';
const BASE64 = 'standard base64 with padding';
const NAMES = 'names that are not empty and hold no = or NUL';
const SIZE = 'an object with rows and cols';
const HANDLE_ID = 'a string of at most 32 bytes';
const BLOCK = 'a whole number from 1 to 1048576';
const SIGNAL = 'one of interrupt, terminate, hangup, quit, kill, user1, user2, stop, continue, windowChange';

/** Values that are no whole number from 0 to 2^53-1. */
const notNatural = [-1, 0.5, 2 ** 53, 1e300, CANARY, '1', true, [], {}, [1]];
const notText = [0, true, [CANARY], { canary: CANARY }];
const notFlag = [0, 1, CANARY, 'true', [], {}];
const notSide = [0, -1, 1.5, 10_001, CANARY, '24', true, [], {}];
const notBase64 = [CANARY, 'AA', 'AA-A', 'AAA\n', 7, true, [], {}];

type Member = {
  readonly expected: string;
  readonly required: boolean;
  /** Values that don't fit; `null` is tried by itself. */
  readonly wrong: readonly unknown[];
};

const required = (expected: string, wrong: readonly unknown[]): Member => ({
  expected,
  required: true,
  wrong,
});
const optional = (expected: string, wrong: readonly unknown[]): Member => ({
  expected,
  required: false,
  wrong,
});

const processId = required(TEXT, notText);
const start: Readonly<Record<string, Member>> = {
  processId,
  argv: required('a list of strings', [CANARY, 0, true, { 0: CANARY }]),
  cwd: required(TEXT, notText),
  env: required('an object of strings', [CANARY, 0, true, [CANARY]]),
  tty: required(FLAG, notFlag),
  arg0: optional(TEXT, notText),
  pipeStdin: optional(FLAG, notFlag),
  envPolicy: optional('an object', [CANARY, 0, true, [CANARY]]),
  outputBytesCap: optional(CAP, [...notNatural, 64 * 1024 * 1024 + 1]),
  outputWindow: optional(WINDOW, [...notNatural, 0, 67_108_865]),
  size: optional(SIZE, [CANARY, 0, true, [24, 80]]),
  enforceManagedNetwork: optional(FLAG, notFlag),
};
const path = required(TEXT, notText);
const followSymlinks = optional(FLAG, notFlag);
const recursive = optional(FLAG, notFlag);
const handleId = required(HANDLE_ID, [...notText, 'x'.repeat(33), 'ü'.repeat(17)]);
const walkOptions = { maxDepth: 1, maxDirectories: 1, maxEntries: 1, followDirectorySymlinks: false };

const startParams = { processId: 'p', argv: ['a', 'b'], cwd: '/', env: { PATH: '/bin' }, tty: false };

const table: Readonly<
  Record<
    Exclude<Method, 'environment/info' | 'environment/status' | 'process/list' | 'server/state'>,
    { readonly valid: object; readonly members: Readonly<Record<string, Member>> }
  >
> = {
  initialize: {
    valid: { clientName: 'c' },
    members: { clientName: required(TEXT, notText), resumeSessionId: optional(TEXT, notText) },
  },
  'process/start': { valid: startParams, members: start },
  'command/exec': { valid: startParams, members: start },
  'process/read': {
    valid: { processId: 'p' },
    members: {
      processId,
      afterSeq: optional(NATURAL, notNatural),
      maxBytes: optional(NATURAL, notNatural),
      waitMs: optional(NATURAL, notNatural),
    },
  },
  'process/write': {
    valid: { processId: 'p', chunk: 'AA==' },
    members: { processId, chunk: required(BASE64, notBase64), writeId: optional(TEXT, notText) },
  },
  'command/exec/write': {
    valid: { processId: 'p', chunk: '' },
    members: { processId, chunk: required(BASE64, notBase64) },
  },
  'fs/readFile': { valid: { path: '/' }, members: { path, followSymlinks } },
  'fs/writeFile': {
    valid: { path: '/', dataBase64: '' },
    members: { path, dataBase64: required(BASE64, notBase64), followSymlinks },
  },
  'fs/createDirectory': { valid: { path: '/' }, members: { path, recursive, followSymlinks } },
  'fs/getMetadata': { valid: { path: '/' }, members: { path, followSymlinks } },
  'fs/canonicalize': { valid: { path: '/' }, members: { path } },
  'fs/readDirectory': { valid: { path: '/' }, members: { path } },
  'fs/walk': {
    valid: { path: '/', options: walkOptions },
    members: { path, options: required('an object', [CANARY, 0, true, [CANARY]]) },
  },
  'fs/remove': { valid: { path: '/' }, members: { path, recursive, force: recursive, followSymlinks } },
  'fs/copy': {
    valid: { sourcePath: '/', destinationPath: '/', recursive: true },
    members: { sourcePath: path, destinationPath: path, recursive: required(FLAG, notFlag) },
  },
  'fs/open': { valid: { handleId: '', path: '/' }, members: { handleId, path } },
  'fs/readBlock': {
    valid: { handleId: 'h', offset: 0, len: 1 },
    members: {
      handleId,
      offset: required(NATURAL, notNatural),
      len: required(BLOCK, [...notNatural, 0, 1_048_577]),
    },
  },
  'fs/close': { valid: { handleId: 'h' }, members: { handleId } },
  'http/request': {
    valid: { method: 'GET', url: 'http://a/', requestId: 'r' },
    members: {
      method: required(TEXT, notText),
      url: required(TEXT, notText),
      headers: optional('a list of headers', [CANARY, 0, true, { canary: CANARY }]),
      bodyBase64: optional(BASE64, notBase64),
      timeoutMs: optional(NATURAL, notNatural),
      redirectPolicy: optional('one of follow, stop', [CANARY, 'manual', 'Follow', '', 0, true, ['stop']]),
      requestId: required(TEXT, notText),
      streamResponse: optional(FLAG, notFlag),
    },
  },
  'process/terminate': { valid: { processId: 'p' }, members: { processId } },
  'command/exec/terminate': { valid: { processId: 'p' }, members: { processId } },
  'process/closeStdin': { valid: { processId: 'p' }, members: { processId } },
  'process/ack': {
    valid: { processId: 'p', bytes: 0 },
    members: { processId, bytes: required(NATURAL, notNatural) },
  },
  'process/signal': {
    valid: { processId: 'p', signal: 'interrupt' },
    members: {
      processId,
      signal: required(SIGNAL, [CANARY, 'SIGINT', 'Interrupt', '', '__proto__', 2, true, ['interrupt'], {}]),
    },
  },
  'process/resize': {
    valid: { processId: 'p', rows: 24, cols: 80 },
    members: { processId, rows: required(SIDE, notSide), cols: required(SIDE, notSide) },
  },
};

const methodsOfTable = (): (keyof typeof table)[] =>
  Object.keys(methods).filter((method): method is keyof typeof table => method in table);

describe('the params of', () => {
  for (const method of methodsOfTable()) {
    const { valid, members } = table[method];

    describe(method, () => {
      it('must be an object', () => {
        for (const params of [undefined, null, CANARY, 0, true, [], [valid]]) {
          expect(refusal(method, params)).to.equal('params: expected an object');
        }
      });

      it('may have members that nobody knows', () => {
        const more = { unknown: 1, constructor: 2, toString: null, hasOwnProperty: 3, valueOf: [] };
        expect(accepted(method, { ...more, ...valid })).to.deep.include(accepted(method, valid));
      });

      it('take nothing from a member __proto__', () => {
        const inherited: Record<string, unknown> = {};
        for (const [name, { required: isRequired, wrong }] of Object.entries(members)) {
          if (!isRequired) inherited[name] = wrong[0];
        }
        const json = `{"__proto__":${JSON.stringify(inherited)},${JSON.stringify(valid).slice(1)}`;
        const plain = accepted(method, valid);
        const params = accepted(method, JSON.parse(json));
        for (const name of Object.keys(members)) {
          expect(Reflect.get(params, name), name).to.deep.equal(Reflect.get(plain, name));
        }
        expect(refusal(method, JSON.parse(`{"__proto__":${JSON.stringify(valid)}}`))).to.match(/: expected /);
      });

      for (const [name, { expected, required: isRequired, wrong }] of Object.entries(members)) {
        it(`${name}: ${isRequired ? 'must be there' : 'may be absent or null'}, and is ${expected}`, () => {
          const sentence = `${name}: expected ${expected}`;
          for (const value of wrong) {
            const message = refusal(method, { ...valid, [name]: value });
            expect(message, JSON.stringify(value)).to.equal(sentence);
            expect(message).not.to.include(CANARY);
          }
          const without = Object.fromEntries(Object.entries(valid).filter(([key]) => key !== name));
          if (isRequired) {
            expect(refusal(method, without)).to.equal(sentence);
            expect(refusal(method, { ...valid, [name]: null })).to.equal(sentence);
          } else {
            expect(accepted(method, without)).to.have.property(name, undefined);
            expect(accepted(method, { ...valid, [name]: null })).to.have.property(name, undefined);
          }
        });
      }
    });
  }

  for (const method of ['environment/info', 'environment/status', 'process/list', 'server/state'] as const) {
    it(`${method} may be absent, null or any object`, () => {
      for (const params of [undefined, null, {}, { canary: CANARY }, JSON.parse('{"__proto__":1}')]) {
        expect(accepted(method, params)).to.deep.equal({});
      }
      for (const params of [CANARY, 0, true, [], [CANARY]]) {
        expect(refusal(method, params)).to.equal('params: expected null or an object');
      }
    });
  }
});

const refused = (more: object): string => refusal('process/start', { ...startParams, ...more });

describe('the members inside the params of process/start', () => {
  it('argv: which string is wrong', () => {
    for (const wrong of [0, null, true, [CANARY], { canary: CANARY }]) {
      expect(refused({ argv: ['a', wrong, 'b'] })).to.equal(`argv[1]: expected ${TEXT}`);
    }
    expect(refused({ argv: [null] })).to.equal(`argv[0]: expected ${TEXT}`);
  });

  it('argv, arg0, cwd and the values of env have no NUL', () => {
    const wrong = `${CANARY}\0${CANARY}`;
    expect(refused({ argv: ['a', 'b', wrong] })).to.equal(`argv[2]: expected ${C_STRING}`);
    expect(refused({ arg0: wrong })).to.equal(`arg0: expected ${C_STRING}`);
    expect(refused({ cwd: `/${wrong}` })).to.equal(`cwd: expected ${C_STRING}`);
    expect(refused({ env: { PATH: wrong } })).to.equal(`env.PATH: expected ${C_STRING}`);
  });

  it('argv: may be empty, and hold empty strings; whether it starts is decided later', () => {
    expect(accepted('process/start', { ...startParams, argv: [] })).to.deep.include({ argv: [] });
    expect(accepted('process/start', { ...startParams, argv: [''] })).to.deep.include({ argv: [''] });
  });

  it('env: which value is wrong', () => {
    for (const wrong of [0, null, true, [CANARY], { canary: CANARY }]) {
      expect(refused({ env: { A: 'a', PATH: wrong } })).to.equal(`env.PATH: expected ${TEXT}`);
    }
  });

  it('env: a name is not empty, and has no = and no NUL; it is not repeated, for it may hold a value', () => {
    for (const name of ['', '=', 'A=', '=A', `A=${CANARY}`, `${CANARY}\0`, '\0']) {
      expect(refused({ env: { [name]: CANARY } }), JSON.stringify(name)).to.equal(`env: expected ${NAMES}`);
    }
  });

  it('env: __proto__, constructor and the like are names as others are', () => {
    const env = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c","1":"d","é ":"","A.B":"e"}');
    const params = decode(methods['process/start'].params, { ...startParams, env });
    const map = isLeft(params) ? new Map<string, string>() : params.right.env;
    expect(map).to.deep.equal(
      new Map([
        ['1', 'd'],
        ['__proto__', 'a'],
        ['constructor', 'b'],
        ['toString', 'c'],
        ['é ', ''],
        ['A.B', 'e'],
      ]),
    );
  });

  it('env: a wrong value under __proto__ is found', () => {
    expect(refused({ env: JSON.parse('{"__proto__":{}}') })).to.equal(`env.__proto__: expected ${TEXT}`);
  });

  it('size: which side is wrong', () => {
    for (const rows of [...notSide, null, undefined]) {
      expect(refused({ size: { rows, cols: 80 } })).to.equal(`size.rows: expected ${SIDE}`);
    }
    for (const cols of [...notSide, null, undefined]) {
      expect(refused({ size: { rows: 24, cols } })).to.equal(`size.cols: expected ${SIDE}`);
    }
  });

  it('sandbox and networkProxy: anything decodes; whether it is served is decided later', () => {
    for (const value of [0, '', false, [], {}, CANARY]) {
      const params = { ...startParams, sandbox: value, networkProxy: value };
      expect(accepted('process/start', params)).to.include({ sandbox: value, networkProxy: value });
    }
  });

  it('one sentence, though several members are wrong', () => {
    expect(refused({ argv: CANARY, tty: CANARY })).to.equal('argv: expected a list of strings');
  });
});

const refusedOption = (name: string, value: unknown): string =>
  refusal('fs/walk', { path: '/', options: { ...walkOptions, [name]: value } });

describe('the options of fs/walk', () => {
  for (const [name, least, most] of [
    ['maxDepth', 0, 64],
    ['maxDirectories', 1, 10_000],
    ['maxEntries', 1, 50_000],
  ] as const) {
    it(`${name}: from ${least} to ${most}, and must be there`, () => {
      for (const value of [least, most]) {
        const options = { ...walkOptions, [name]: value };
        expect(accepted('fs/walk', { path: '/', options })).to.deep.nested.include({
          [`options.${name}`]: value,
        });
      }
      for (const value of [least - 1, most + 1, 1.5, '1', null, undefined]) {
        expect(refusedOption(name, value)).to.equal(
          `options.${name}: expected a whole number from ${least} to ${most}`,
        );
      }
    });
  }

  it('followDirectorySymlinks must be there, pruneHiddenDirectories may be', () => {
    for (const value of [...notFlag, null, undefined]) {
      expect(refusedOption('followDirectorySymlinks', value)).to.equal(
        `options.followDirectorySymlinks: expected ${FLAG}`,
      );
    }
    for (const value of notFlag) {
      expect(refusedOption('pruneHiddenDirectories', value)).to.equal(
        `options.pruneHiddenDirectories: expected ${FLAG}`,
      );
    }
    for (const value of [true, null, undefined]) {
      accepted('fs/walk', { path: '/', options: { ...walkOptions, pruneHiddenDirectories: value } });
    }
  });
});

describe('the paths of fs/*', () => {
  it('have no NUL', () => {
    const wrong = `/${CANARY}\0`;
    expect(refusal('fs/readFile', { path: wrong })).to.equal(`path: expected ${C_STRING}`);
    expect(refusal('fs/copy', { sourcePath: '/', destinationPath: wrong, recursive: true })).to.equal(
      `destinationPath: expected ${C_STRING}`,
    );
  });
});

describe('the bounds of numbers', () => {
  it('process/read: 0 and 2^53-1', () => {
    for (const value of [0, 1, Number.MAX_SAFE_INTEGER]) {
      const params = { processId: 'p', afterSeq: value, maxBytes: value, waitMs: value };
      expect(accepted('process/read', params)).to.deep.equal(params);
    }
  });

  it('process/start: outputBytesCap from 0 to 64 MiB', () => {
    for (const outputBytesCap of [0, 1, 64 * 1024 * 1024]) {
      expect(accepted('process/start', { ...startParams, outputBytesCap })).to.include({ outputBytesCap });
    }
  });

  it('process/resize: 1 and 10,000', () => {
    for (const side of [1, 10_000]) {
      const params = { processId: '', rows: side, cols: side };
      expect(accepted('process/resize', params)).to.deep.equal(params);
    }
  });
});

describe('texts', () => {
  it('may be empty, long, and of any characters', () => {
    for (const text of ['', '__proto__', '\0', '\ud800', '😀', 'x'.repeat(100_000)]) {
      expect(accepted('process/closeStdin', { processId: text })).to.deep.equal({ processId: text });
      expect(accepted('initialize', { clientName: text })).to.include({ clientName: text });
    }
  });
});
