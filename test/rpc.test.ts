import { expect } from 'chai';
import { isLeft } from 'fp-ts/lib/Either.js';
import {
  encodeError,
  encodeMalformed,
  encodeResult,
  ErrorCode,
  type Message,
  parseMessage,
} from '../src/rpc.js';

const parsed = (json: string): Message => {
  const message = parseMessage(json);
  if (isLeft(message)) throw new Error(`refused: ${message.left}`);
  return message.right;
};

const refusal = (json: string): string => {
  const message = parseMessage(json);
  if (!isLeft(message)) throw new Error(`not refused: ${JSON.stringify(message.right)}`);
  return message.left;
};

const idOf = (json: string): string => {
  const message = parsed(json);
  if (message.kind !== 'request') throw new Error(`a ${message.kind}`);
  return message.id;
};

const BAD_ID = 'id: expected a string or an integer from -2^63 to 2^63-1';
const BAD_METHOD = 'method: expected a string';

/** An id wherever a client may write it. Its text must come back. */
const places: Readonly<Record<string, (id: string) => string>> = {
  first: (id) => `{"id":${id},"method":"m"}`,
  last: (id) => `{"method":"m","id":${id}}`,
  'in the middle': (id) => `{"method":"m","id":${id},"params":{"id":7}}`,
  'after nested ones': (id) => `{"params":[{"id":7},{"a":{"id":8}}],"id":${id},"method":"m"}`,
  'after a string that looks like one': (id) => `{"params":",\\"id\\":7}","method":"m","id":${id}}`,
  'before a nested one at the end': (id) => `{"method":"m","id":${id},"params":{"id":7}}`,
  'under an escaped key': (id) => `{"method":"m","\\u0069d":${id},"params":null}`,
  'twice, and the last one counts': (id) => `{"id":7,"method":"m","id":${id}}`,
  'twice, the first a string': (id) => `{"id":"7","method":"m","id":${id},"params":null}`,
  'between white space': (id) => `\t{ "id" :\r\n ${id} , "method" : "m" } `,
};

describe('parseMessage', () => {
  describe('gives an id back as it came', () => {
    const integers = [
      '0',
      '1',
      '-1',
      '-7',
      '9007199254740991',
      '9007199254740993',
      '-9007199254740993',
      '9223372036854775807',
      '-9223372036854775808',
      '-0',
    ];
    for (const [place, json] of Object.entries(places)) {
      it(place, () => {
        for (const id of integers) expect(idOf(json(id)), json(id)).to.equal(id);
      });
    }

    it('a string, empty, numeric, with quotes, escapes and half a surrogate pair', () => {
      for (const id of ['', '1', 'a"b\\', 'é😀', '\ud800', '\u0000', '__proto__', 'x'.repeat(100_000)]) {
        const text = idOf(JSON.stringify({ id, method: 'm' }));
        expect(JSON.parse(text)).to.equal(id);
      }
    });

    it('two string ids: the last one', () => {
      expect(idOf('{"id":"a","method":"m","id":"b"}')).to.equal('"b"');
    });
  });

  describe('refuses an id that could not be given back', () => {
    const bad = [
      '9223372036854775808',
      '-9223372036854775809',
      '1'.repeat(400),
      '1e400',
      '1.5',
      '1.0',
      '1e3',
      '-0.0',
      'null',
      'true',
      'false',
      '{}',
      '{"id":1}',
      '[]',
      '[1]',
    ];
    for (const id of bad) {
      it(id.slice(0, 30), () => {
        for (const json of Object.values(places)) expect(refusal(json(id)), json(id)).to.equal(BAD_ID);
      });
    }
  });

  describe('never answers with another id', () => {
    const spaces = [0, 1, 30, 50, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 200, 100_000];
    for (const id of ['1234567890', '-1234567890', '9007199254740993']) {
      it(`${id} after any amount of white space`, () => {
        for (const count of spaces) {
          const gap = ' '.repeat(count);
          for (const json of [
            `{"method":"m","id":${gap}${id},"params":null}`,
            `{"method":"m","id"${gap}:${id},"params":null}`,
            `{"id":${gap}${id},"method":"m"}`,
            `{"id":${id}${gap},"method":"m"}`,
          ]) {
            expect(idOf(json), `${count} spaces`).to.equal(id);
          }
        }
      });
    }

    it('9007199254740992 and 9007199254740993 stay apart', () => {
      expect(idOf('{"id":9007199254740992,"method":"m"}')).to.equal('9007199254740992');
      expect(idOf('{"id":9007199254740993,"method":"m"}')).to.equal('9007199254740993');
    });
  });

  it('tells requests from notifications', () => {
    expect(parsed('{"id":1,"method":"m","params":{"a":1}}')).to.deep.equal({
      kind: 'request',
      id: '1',
      method: 'm',
      params: { a: 1 },
    });
    expect(parsed('{"method":"m","params":[1]}')).to.deep.equal({
      kind: 'notification',
      method: 'm',
      params: [1],
    });
  });

  it('hands on params that are absent, null, or of any type', () => {
    expect(parsed('{"id":1,"method":"m"}')).to.have.property('params', undefined);
    for (const params of ['null', '0', '""', 'false', '[]', '{}']) {
      expect(parsed(`{"id":1,"method":"m","params":${params}}`))
        .to.have.property('params')
        .that.deep.equals(JSON.parse(params));
    }
  });

  it('ignores jsonrpc, whatever it says', () => {
    for (const version of ['"2.0"', '"1.0"', '2', 'null', '{}']) {
      expect(idOf(`{"jsonrpc":${version},"id":1,"method":"m"}`)).to.equal('1');
      expect(idOf(`{"id":1,"method":"m","jsonrpc":${version}}`)).to.equal('1');
    }
  });

  it('ignores trace, usable or not', () => {
    for (const trace of ['{"traceparent":"00-0-0-01"}', '{}', 'null', '"x"', '[]', '7', '{"id":9}']) {
      expect(idOf(`{"id":1,"method":"m","trace":${trace}}`)).to.equal('1');
      expect(idOf(`{"trace":${trace},"id":1,"method":"m"}`)).to.equal('1');
    }
  });

  it('ignores members that every object has by birth', () => {
    expect(
      parsed('{"__proto__":{"id":3,"method":"x","params":1},"constructor":1,"id":1,"method":"m"}'),
    ).to.deep.equal({ kind: 'request', id: '1', method: 'm', params: undefined });
    expect(refusal('{"__proto__":{"method":"x"}}')).to.equal(BAD_METHOD);
    expect(parsed('{"__proto__":{"id":3},"method":"m"}').kind).to.equal('notification');
  });

  it('takes any string as a method', () => {
    for (const method of ['', '__proto__', 'constructor', 'toString', 'a"b', '\ud800']) {
      expect(parsed(JSON.stringify({ id: 1, method }))).to.include({ kind: 'request', method });
    }
  });

  it('sees answers that nobody asked for', () => {
    for (const json of [
      '{"id":1,"result":null}',
      '{"id":1,"result":{}}',
      '{"id":"a","error":{"code":1,"message":"m"}}',
      '{"result":1,"id":-1}',
    ]) {
      expect(parsed(json), json).to.deep.equal({ kind: 'response' });
    }
  });

  describe('refuses what is no message', () => {
    for (const [name, json, reason] of [
      ['an empty text', '', 'the message is not JSON'],
      ['a word', 'hello', 'the message is not JSON'],
      ['half an object', '{"id":1,', 'the message is not JSON'],
      ['two objects', '{}{}', 'the message is not JSON'],
      ['a byte order mark', '\ufeff{"id":1,"method":"m"}', 'the message is not JSON'],
      ['100,000 open brackets', '['.repeat(100_000), 'the message is not JSON'],
      [
        '100,000 nested arrays',
        '['.repeat(100_000) + ']'.repeat(100_000),
        'the message is not a JSON object',
      ],
      ['an array', '[]', 'the message is not a JSON object'],
      ['a batch', '[{"id":1,"method":"m"}]', 'the message is not a JSON object'],
      ['a number', '7', 'the message is not a JSON object'],
      ['a string', '"m"', 'the message is not a JSON object'],
      ['null', 'null', 'the message is not a JSON object'],
      ['true', 'true', 'the message is not a JSON object'],
      ['an empty object', '{}', BAD_METHOD],
      ['an id alone', '{"id":1}', BAD_METHOD],
      ['an id with an error that is none', '{"id":1,"error":null}', BAD_METHOD],
      ['a result without id', '{"result":1}', BAD_METHOD],
      ['a method that is a number', '{"id":1,"method":7}', BAD_METHOD],
      ['a method that is null', '{"id":1,"method":null}', BAD_METHOD],
      ['a method that is a list', '{"method":["m"]}', BAD_METHOD],
      ['an answer whose id is null', '{"id":null,"error":{"code":1,"message":"m"}}', BAD_ID],
    ] as const) {
      it(name, () => {
        expect(refusal(json)).to.equal(reason);
      });
    }

    it('100,000 nested arrays as params are a request like any other', () => {
      const params = '['.repeat(100_000) + ']'.repeat(100_000);
      expect(idOf(`{"method":"m","params":${params},"id":9007199254740993}`)).to.equal('9007199254740993');
    });

    it('quotes nothing of it', () => {
      for (const json of ['canary', '"canary"', '["canary"]', '{"method":{"canary":1}}', '{"id":["canary"]}'])
        expect(refusal(json)).not.to.include('canary');
    });
  });
});

describe('the encoders of answers', () => {
  it('write the id as it came, and no version', () => {
    expect(encodeResult('9223372036854775807', { a: 1 })).to.equal(
      '{"id":9223372036854775807,"result":{"a":1}}',
    );
    expect(encodeResult('"a\\"b"', {})).to.equal('{"id":"a\\"b","result":{}}');
  });

  it('write errors with and without data', () => {
    expect(encodeError('1', { code: ErrorCode.invalidParams, message: 'm' })).to.equal(
      '{"id":1,"error":{"code":-32602,"message":"m"}}',
    );
    expect(encodeError('""', { code: -32603, message: 'm', data: { kind: 'spawnFailed' } })).to.equal(
      '{"id":"","error":{"code":-32603,"message":"m","data":{"kind":"spawnFailed"}}}',
    );
  });

  it('answer what has no id with -1', () => {
    expect(encodeMalformed('m')).to.equal('{"id":-1,"error":{"code":-32600,"message":"m"}}');
  });
});
