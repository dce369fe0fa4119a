import { expect } from 'chai';
import { createLog } from '../src/log.js';
import { ExecServer } from '../src/server.js';
import { type Incoming, memoryClient, startParams, type TestClient } from './support/client.js';
import { cleanup } from './support/environment.js';

type Connected = {
  readonly client: TestClient;
  /** Resolves when the server has ended the connection. */
  readonly ended: Promise<void>;
  /** Why connections were closed, as the log has it. */
  readonly reasons: () => string[];
};

const connect = (): Connected => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const { client, wire } = memoryClient();
  const server = new ExecServer(log);
  const { closed } = server.accept(wire);
  cleanup(() => server.close('the test is over'));
  const reasons = (): string[] =>
    lines.flatMap((line) => {
      const { msg, reason }: { msg?: string; reason?: string } = JSON.parse(line);
      return msg === 'connection closed' && reason !== undefined ? [reason] : [];
    });
  return { client, ended: closed, reasons };
};

const initialized = async (): Promise<Connected> => {
  const connected = connect();
  await connected.client.initialize();
  return connected;
};

const answerTo = async (client: TestClient, id: unknown): Promise<Incoming> =>
  client.until(() => client.messages.find((message) => message.id === id), `the answer to ${String(id)}`);

/** The server still answers on this connection. */
const expectAlive = async (client: TestClient): Promise<void> => {
  const { code } = await client.refused('no/such/method');
  expect(code).to.equal(-32601);
};

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const families: Readonly<Record<string, readonly [string, object?][]>> = {
  exec: [
    ['process/start', startParams('p', ['true'])],
    ['process/read', { processId: 'p' }],
    ['process/write', { processId: 'p', chunk: '' }],
    ['process/terminate', { processId: 'p' }],
    ['process/signal', { processId: 'p', signal: 'interrupt' }],
    ['process/resize', { processId: 'p', rows: 1, cols: 1 }],
    ['process/closeStdin', { processId: 'p' }],
    ['process/list'],
    ['command/exec', startParams('p', ['true'])],
    ['command/exec/write', { processId: 'p', chunk: '' }],
    ['command/exec/terminate', { processId: 'p' }],
  ],
  'environment info': [['environment/info']],
  'environment status': [['environment/status']],
  'server state': [['server/state']],
};

describe('the handshake', () => {
  it('answers initialize with the protocol, a session and the environment', async () => {
    const { client } = connect();
    const result = await client.request('initialize', { clientName: 'c' });
    expect(result).to.have.all.keys('protocolVersion', 'sessionId', 'environmentInfo');
    expect(result['protocolVersion']).to.equal('exec-server.v0');
    expect(result['sessionId']).to.match(UUID_V4);
    client.notify('initialized');
    expect(await client.request('environment/info')).to.deep.equal(result['environmentInfo']);
    expect(await client.request('environment/status')).to.deep.equal({ status: 'ready' });
  });

  it('gives each connection a session of its own', async () => {
    const [one, two] = [connect(), connect()];
    const { sessionId } = await one.client.initialize();
    expect((await two.client.initialize())['sessionId']).not.to.equal(sessionId);
  });

  for (const [family, methods] of Object.entries(families)) {
    it(`must begin before ${family} methods`, async () => {
      const { client } = connect();
      for (const [method, params] of methods) {
        expect(await client.refused(method, params), method).to.deep.equal({
          code: -32600,
          message: `client must call initialize before using ${family} methods`,
        });
      }
      await client.initialize();
    });

    it(`must end before ${family} methods`, async () => {
      const { client } = connect();
      await client.request('initialize', { clientName: 'c' });
      for (const [method, params] of methods) {
        expect(await client.refused(method, params), method).to.deep.equal({
          code: -32600,
          message: `client must send initialized before using ${family} methods`,
        });
      }
      client.notify('initialized');
      expect(await client.request('process/list')).to.deep.equal({ processes: [] });
    });
  }

  it('comes once a connection', async () => {
    const { client } = connect();
    const expected = { code: -32600, message: 'initialize may only be sent once per connection' };
    await client.request('initialize', { clientName: 'c' });
    expect(await client.refused('initialize', { clientName: 'c' })).to.deep.equal(expected);
    client.notify('initialized');
    expect(await client.refused('initialize', { clientName: 'c' })).to.deep.equal(expected);
    await expectAlive(client);
  });

  it('may be tried again after params that do not decode', async () => {
    const { client } = connect();
    expect(await client.refused('initialize')).to.deep.equal({
      code: -32602,
      message: 'params: expected an object',
    });
    expect(await client.refused('initialize', { clientName: 7 })).to.deep.equal({
      code: -32602,
      message: 'clientName: expected a string',
    });
    await client.initialize();
    expect(await client.request('process/list')).to.deep.equal({ processes: [] });
  });

  it('may be tried again after a session that is unknown', async () => {
    const { client } = connect();
    for (const resumeSessionId of ['3f1f9b3c-0000-4000-8000-000000000000', '', '__proto__']) {
      expect(await client.refused('initialize', { clientName: 'c', resumeSessionId })).to.deep.equal({
        code: -32600,
        message: `unknown session id ${resumeSessionId}`,
      });
    }
    expect((await client.initialize({ resumeSessionId: null }))['sessionId']).to.match(UUID_V4);
  });

  it('takes initialized as often as it comes', async () => {
    const { client } = await initialized();
    client.notify('initialized');
    client.notify('initialized', { any: 'thing' });
    await expectAlive(client);
  });

  it('works with everything in one write, a start included', async () => {
    const { client } = connect();
    client.raw(
      [
        { id: 'i', method: 'initialize', params: { clientName: 'c' } },
        { method: 'initialized' },
        { id: 's', method: 'process/start', params: startParams('p', ['echo', 'hello']) },
        { id: 'r', method: 'process/list' },
      ]
        .map((message) => JSON.stringify(message))
        .join('\n'),
    );
    expect((await answerTo(client, 's')).result).to.deep.equal({ processId: 'p', sandboxType: 'none' });
    await client.processClosed('p');
    expect(client.output('p').toString()).to.equal('hello\n');
    const order = client.messages.map(({ id, method }) => id ?? method);
    expect(order.indexOf('i')).to.equal(0);
    expect(order.indexOf('s')).to.be.below(order.indexOf('process/output'));
    expect(order.slice(-3)).to.deep.equal(['process/output', 'process/exited', 'process/closed']);
  });
});

describe('what comes before the handshake is looked at', () => {
  it('an unknown method is -32601', async () => {
    const { client } = connect();
    for (const method of [
      '',
      'nope',
      'Process/start',
      'process/start ',
      '__proto__',
      'constructor',
      'toString',
    ]) {
      expect((await client.refused(method)).code, method).to.equal(-32601);
    }
    await client.initialize();
    for (const method of ['initialized', '__proto__', 'hasOwnProperty']) {
      expect((await client.refused(method)).code, method).to.equal(-32601);
    }
  });

  it('params that do not decode are -32602', async () => {
    const { client } = connect();
    for (const [method, params, message] of [
      ['process/read', {}, 'processId: expected a string'],
      ['process/start', { ...startParams('p', []), tty: 1 }, 'tty: expected true or false'],
      ['process/write', { processId: 'p', chunk: 'A' }, 'chunk: expected standard base64 with padding'],
      ['environment/info', 7, 'params: expected null or an object'],
    ] as const) {
      expect(await client.refused(method, params)).to.deep.equal({ code: -32602, message });
    }
  });
});

describe('a long answer', () => {
  it('does not keep the next request from being answered', async () => {
    const { client } = await initialized();
    const outputBytesCap = 16 * 1024 * 1024;
    await client.start('p', ['head', '-c', '8000000', '/dev/zero'], { outputBytesCap });
    await client.processClosed('p');
    for (let count = 0; count < 3; count++) {
      const { chunks } = await client.request('process/read', { processId: 'p' });
      expect(JSON.stringify(chunks).length).to.be.above(8_000_000);
    }
    await expectAlive(client);
  });
});

describe('malformed messages', () => {
  for (const [name, text, message] of [
    ['no JSON', '{', 'the message is not JSON'],
    ['100,000 open brackets', '['.repeat(100_000), 'the message is not JSON'],
    ['an array', '[{"id":5,"method":"initialize"}]', 'the message is not a JSON object'],
    ['a number', '5', 'the message is not a JSON object'],
    ['no method', '{"id":5}', 'method: expected a string'],
    [
      'an id that is null',
      '{"id":null,"method":"m"}',
      'id: expected a string or an integer from -2^63 to 2^63-1',
    ],
    [
      'an id with a fraction',
      '{"id":1.5,"method":"m"}',
      'id: expected a string or an integer from -2^63 to 2^63-1',
    ],
    [
      'an id beyond 2^63',
      '{"id":9223372036854775808,"method":"m"}',
      'id: expected a string or an integer from -2^63 to 2^63-1',
    ],
  ] as const) {
    it(`${name}: answered with id -1, and the connection stays`, async () => {
      const { client } = connect();
      client.raw(text);
      expect(await answerTo(client, -1)).to.deep.equal({ id: -1, error: { code: -32600, message } });
      await client.initialize();
      client.raw(text);
      await client.until(() => client.messages.filter(({ id }) => id === -1).length === 2, 'another answer');
      await expectAlive(client);
    });
  }
});

describe('ids', () => {
  it('come back as they were written', async () => {
    const { client } = connect();
    for (const id of ['9007199254740993', '-9223372036854775808', '9223372036854775807', '0', '""', '"1"']) {
      const begin = `{"id":${id},`;
      client.raw(`{"id":${id},"method":"nope"}`);
      await client.until(() => client.texts.at(-1)?.startsWith(begin), `the answer to ${id}`);
    }
  });

  it('may be used twice: each request is answered', async () => {
    const { client } = await initialized();
    const request = JSON.stringify({ id: 'same', method: 'process/list' });
    client.raw(`${request}\n${request}`);
    await client.until(() => client.messages.filter(({ id }) => id === 'same').length === 2, 'both answers');
    await client.start('p', ['cat'], { pipeStdin: true });
    const read = JSON.stringify({
      id: 'read',
      method: 'process/read',
      params: { processId: 'p', waitMs: 60_000 },
    });
    client.raw(`${read}\n${read}`);
    await client.write('p', 'x');
    await client.until(() => client.messages.filter(({ id }) => id === 'read').length === 2, 'both reads');
  });
});

describe('a client that breaks the protocol', () => {
  const NOTIFICATION = 'a notification other than initialized';
  const RESPONSE = 'a response to nothing that was asked';
  const violations = [
    ['a notification that nobody knows', '{"method":"nope"}', NOTIFICATION],
    ['initialize as a notification', '{"method":"initialize","params":{"clientName":"c"}}', NOTIFICATION],
    [
      'process/terminate as a notification',
      '{"method":"process/terminate","params":{"processId":"p"}}',
      NOTIFICATION,
    ],
    ['a response', '{"id":1,"result":{}}', RESPONSE],
    ['an error', '{"id":1,"error":{"code":-1,"message":"m"}}', RESPONSE],
  ] as const;

  for (const [name, text, reason] of violations) {
    for (const ready of [false, true]) {
      it(`${name} ${ready ? 'after' : 'before'} the handshake: an error with id -1, then the end`, async () => {
        const { client, ended, reasons } = ready ? await initialized() : connect();
        client.raw(text);
        await ended;
        expect(await answerTo(client, -1)).to.deep.equal({
          id: -1,
          error: { code: -32600, message: `${reason} ends the connection` },
        });
        expect(reasons()).to.deep.equal([`protocol violation: ${reason}`]);
      });
    }
  }

  it('initialized before initialize: the end', async () => {
    const { client, ended, reasons } = connect();
    client.notify('initialized');
    await ended;
    expect(client.messages).to.deep.equal([]);
    expect(reasons()).to.deep.equal(['protocol violation: initialized was sent before initialize']);
  });

  it('gets no answer to what it sends afterwards', async () => {
    const { client, ended } = await initialized();
    client.raw('{"method":"nope"}\n{"id":"late","method":"process/list"}');
    await ended;
    await answerTo(client, -1);
    expect(client.messages.filter(({ id }) => id === 'late')).to.deep.equal([]);
  });

  it('takes its processes with it', async () => {
    const { client, ended } = await initialized();
    await client.start('p', ['sleep', '1000']);
    client.raw('{"method":"nope"}');
    await ended;
    // that none is left is seen by the hook after each test
    expect(client.about('p')).to.deep.equal([]);
  });

  it('does not touch other connections', async () => {
    const server = new ExecServer(createLog('silent'));
    cleanup(() => server.close('the test is over'));
    const [bad, good] = [memoryClient(), memoryClient()];
    const { closed } = server.accept(bad.wire);
    server.accept(good.wire);
    await good.client.initialize();
    bad.client.raw('{"method":"nope"}');
    await closed;
    await expectAlive(good.client);
  });
});

describe('the end of a server', () => {
  it('closes every connection, with its reason in the log', async () => {
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => void lines.push(line) });
    const server = new ExecServer(log);
    const one = memoryClient();
    const { closed } = server.accept(one.wire);
    await one.client.initialize();
    await one.client.start('p', ['sleep', '1000']);
    await server.close('maintenance');
    await closed;
    expect(lines.join('')).to.include('"reason":"maintenance"');
  });

  it('serves no connection that comes later', async () => {
    const server = new ExecServer(createLog('silent'));
    await server.close('maintenance');
    const { client, wire } = memoryClient();
    const { closed } = server.accept(wire);
    await closed;
    client.raw('{"id":1,"method":"nope"}');
    expect(client.messages).to.deep.equal([]);
  });
});
