import { expect } from 'chai';
import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { UsageError } from '../src/cli/command.js';
import { limitsOf } from '../src/cli/limits.js';
import { runText } from './cli/command-line.js';
import {
  bytesOf,
  connectStdio,
  connectWebSocket,
  type Incoming,
  launchListener,
  startParams,
  type TestClient,
} from './support/client.js';

const MiB = 1024 * 1024;

const initialized = async (url: string): Promise<TestClient> => {
  const client = await connectWebSocket(url);
  await client.initialize();
  return client;
};

const stdio = async (...args: string[]): Promise<TestClient> => {
  const client = await connectStdio(args);
  await client.initialize();
  return client;
};

/** Sends so many requests in one write, and resolves with their answers; nothing else may come meanwhile. */
const pipeline = async (
  client: TestClient,
  method: string,
  params: object,
  count: number,
): Promise<Incoming[]> => {
  const from = client.messages.length;
  const lines = Array.from({ length: count }, (_, at) =>
    JSON.stringify({ id: `${method} ${at}`, method, params }),
  );
  client.raw(lines.join('\n'));
  await client.until(() => client.messages.length >= from + count, `${count} answers to ${method}`);
  const answers = client.messages.slice(from);
  expect(new Set(answers.map(({ id }) => id)).size).to.equal(count);
  return answers;
};

type Answer = { readonly status: number | undefined; readonly body: string };

/** One attempt to open a WebSocket; 101 is a success, and closed at once. */
const upgrade = async (url: string, localAddress = '127.0.0.1'): Promise<Answer> => {
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  const { hostname: host, port } = new URL(url);
  const request = http.request({ host, port, headers, localAddress, agent: false });
  return new Promise((resolve, reject) => {
    request.once('response', (response) => {
      let body = '';
      response.on('data', (data: Buffer) => (body += data.toString()));
      response.once('end', () => resolve({ status: response.statusCode, body }));
    });
    request.once('upgrade', (response, socket) => {
      socket.once('close', () => resolve({ status: response.statusCode, body: '' }));
      socket.destroy();
    });
    request.once('error', reject);
    request.end();
  });
};

/** Resolves when the server has logged this so many times. */
const logged = async (
  { server, stderr }: { readonly server: ChildProcess; readonly stderr: () => string },
  text: string,
  times = 1,
): Promise<void> => {
  while (stderr().split(text).length - 1 < times) {
    if (server.stderr === null) throw new Error('no pipe');
    await once(server.stderr, 'data');
  }
};

describe('the limit of connections', () => {
  it('refuses one too many with 503, and takes one again when another has ended', async () => {
    const listener = await launchListener(['--max-connections', '2']);
    const { url } = listener;
    const first = await initialized(url);
    const second = await initialized(url);
    expect(await upgrade(url)).to.deep.equal({ status: 503, body: '' });
    await logged(listener, '"status":503,"reason":"limit reached: 2 connections (--max-connections)"');
    await second.request('process/list');
    await first.close();
    await logged(listener, '"connection closed"');
    const third = await initialized(url);
    expect(await third.list()).to.deep.equal([]);
  });

  it('refuses one too many from an address with 503, and takes one from another', async () => {
    const listener = await launchListener(['--max-connections-per-address', '1']);
    const { url } = listener;
    const first = await initialized(url);
    expect(await upgrade(url)).to.deep.equal({ status: 503, body: '' });
    await logged(
      listener,
      '"reason":"limit reached: 1 connections from one address (--max-connections-per-address)"',
    );
    expect(await upgrade(url, '127.0.0.2')).to.deep.equal({ status: 101, body: '' });
    await first.close();
    await logged(listener, '"connection closed"', 2);
    expect(await upgrade(url)).to.deep.equal({ status: 101, body: '' });
  });
});

describe('the limit of sessions', () => {
  it('refuses to open one too many, until one has ended that waited for its client', async () => {
    const { url } = await launchListener(['--max-sessions', '2', '--detached-ttl', '2']);
    const full = {
      code: -32001,
      message: 'limit reached: 2 sessions, open or waiting for their clients (--max-sessions)',
    };
    for (const _ of [1, 2]) {
      const waiting = await connectWebSocket(url);
      await waiting.initialize({ resumeSessionId: null });
      await waiting.close();
    }
    const client = await connectWebSocket(url);
    expect(await client.refused('initialize', { clientName: 'test' })).to.deep.equal(full);
    let answer: Incoming;
    do answer = await client.call('initialize', { clientName: 'test' });
    while (answer.error?.code === -32001);
    client.notify('initialized');
    expect(await client.list()).to.deep.equal([]);
  });
});

describe('the limits of processes', () => {
  const FULL = {
    code: -32001,
    message: 'limit reached: 2 processes in this session (--max-processes-per-session)',
  };
  const SLEEP = ['sleep', '1000'];

  it('refuses one too many in a session, after what else is wrong, until one is closed', async () => {
    const client = await stdio('--max-processes-per-session', '2');
    await client.start('a', SLEEP);
    await client.start('b', SLEEP);
    expect(await client.refused('process/start', startParams('c', SLEEP))).to.deep.equal(FULL);
    expect(await client.refused('process/start', startParams('a', SLEEP))).to.deep.equal({
      code: -32600,
      message: 'process a already exists',
    });
    expect(await client.refused('process/start', startParams('c', []))).to.deep.equal({
      code: -32602,
      message: 'argv must not be empty',
    });
    await client.request('process/terminate', { processId: 'a' });
    await client.processClosed('a');
    await client.start('c', SLEEP);
    expect((await client.list()).map(({ processId, state }) => [processId, state])).to.deep.equal([
      ['a', 'retained'],
      ['b', 'running'],
      ['c', 'running'],
    ]);
    expect(await client.refused('process/start', startParams('d', SLEEP))).to.deep.equal(FULL);
  });

  it('counts one that starts, and one that has exited while its output is held open', async () => {
    const client = await stdio('--max-processes-per-session', '2');
    const [first, second, third] = await Promise.all(
      ['a', 'b', 'c'].map((id) =>
        client.call('process/start', startParams(id, ['sh', '-c', 'sleep 1000 & exit'])),
      ),
    );
    expect([first?.error, second?.error, third?.error]).to.deep.equal([undefined, undefined, FULL]);
    await client.exited('a');
    expect(await client.refused('process/start', startParams('c', SLEEP))).to.deep.equal(FULL);
    await client.request('process/terminate', { processId: 'a' });
    await client.processClosed('a');
    await client.start('c', SLEEP);
  });

  it('does not count what failed to start, or was cancelled', async () => {
    const client = await stdio('--max-processes-per-session', '2');
    for (const id of ['a', 'b', 'c']) {
      const { code } = await client.refused('process/start', startParams(id, ['/no/such/program']));
      expect(code).to.equal(-32603);
    }
    for (const id of ['a', 'b', 'c']) {
      const start = { id, method: 'process/start', params: startParams(id, SLEEP) };
      const end = { id: `end ${id}`, method: 'process/terminate', params: { processId: id } };
      client.raw(`${JSON.stringify(start)}\n${JSON.stringify(end)}`);
      const answer = await client.until(() => client.messages.find((message) => message.id === id), 'it');
      expect(answer.error?.message).to.equal(`process ${id} start was cancelled`);
    }
    await client.start('a', SLEEP);
    await client.start('b', SLEEP);
    expect(await client.refused('process/start', startParams('c', SLEEP))).to.deep.equal(FULL);
  });

  it('refuses one too many on a server, where the other sessions go on', async () => {
    const { url } = await launchListener(['--max-processes', '2']);
    const greedy = await initialized(url);
    const other = await initialized(url);
    await other.start('cat', ['cat'], { pipeStdin: true });
    await greedy.start('a', SLEEP);
    expect(await greedy.refused('process/start', startParams('b', SLEEP))).to.deep.equal({
      code: -32001,
      message: 'limit reached: 2 processes on this server (--max-processes)',
    });
    await other.write('cat', 'still here');
    await other.waitOutput('cat', 'still here');
    // the end of a session gives its places back, as soon as what it ran is reaped
    await greedy.close();
    let answer = await other.call('process/start', startParams('b', SLEEP));
    while (answer.error?.code === -32001) answer = await other.call('process/start', startParams('b', SLEEP));
    expect(answer.result).to.deep.equal({ processId: 'b', sandboxType: 'none' });
  });
});

describe('the limits of requests', () => {
  const chunk = Buffer.alloc(MiB).toString('base64');

  it('refuses one more than may be in flight, but nothing that is answered at once', async () => {
    const client = await stdio('--max-requests', '2');
    await client.start('p', ['sleep', '1000'], { pipeStdin: true });
    // of this much waits in front of the child; what comes after waits for its answer
    await client.write('p', Buffer.alloc(MiB));
    const waiting = [1, 2].map(() => client.call('process/write', { processId: 'p', chunk }));
    const refusal = {
      code: -32001,
      message: 'limit reached: 2 requests in flight on this connection (--max-requests)',
    };
    expect(await client.refused('process/write', { processId: 'p', chunk: '' })).to.deep.equal(refusal);
    expect(await client.refused('process/start', startParams('q', ['true']))).to.deep.equal(refusal);
    expect(await client.refused('fs/readFile', { path: '/dev/null' })).to.deep.equal(refusal);
    expect(await client.request('environment/status')).to.deep.equal({ status: 'ready' });
    expect(bytesOf(await client.read('p')).length).to.equal(0);
    expect(await client.request('process/terminate', { processId: 'p' })).to.deep.equal({ running: true });
    for (const { error } of await Promise.all(waiting)) {
      expect(error).to.deep.equal({ code: -32600, message: 'stdin is closed for process p' });
    }
    await client.start('q', ['true']);
  });

  it('does not count what is answered in the turn in which it came', async () => {
    const client = await stdio();
    await client.start('p', ['sh', '-c', 'cat >/dev/null'], { pipeStdin: true });
    const lists = await pipeline(client, 'process/list', {}, 5_000);
    expect(lists.filter(({ result }) => result !== undefined)).to.have.length(5_000);
    const writes = await pipeline(client, 'process/write', { processId: 'p', chunk: 'YQ==' }, 5_000);
    expect(writes.filter(({ result }) => result?.['accepted'] === true)).to.have.length(5_000);
  });

  it('answers each of a pipeline that is too long, whether ids repeat or not', async () => {
    const client = await stdio('--max-requests', '100');
    const line = JSON.stringify({ id: 'same', method: 'fs/getMetadata', params: { path: '/' } });
    client.raw(Array.from({ length: 300 }, () => line).join('\n'));
    const answers = (): Incoming[] => client.messages.filter(({ id }) => id === 'same');
    await client.until(() => answers().length === 300, '300 answers');
    expect(answers().filter(({ result }) => result !== undefined)).to.have.length(100);
    expect(answers().filter(({ error }) => error?.code === -32001)).to.have.length(200);
    await client.request('fs/getMetadata', { path: '/' });
    expect(answers()).to.have.length(300);
  });

  it('refuses one more read that waits, and none that does not', async () => {
    const client = await stdio('--max-parked-reads', '2', '--max-requests', '1');
    await client.start('cat', ['cat'], { pipeStdin: true });
    const wait = { processId: 'cat', waitMs: 60_000 };
    const parked = [1, 2].map(() => client.request('process/read', wait));
    expect(await client.refused('process/read', wait)).to.deep.equal({
      code: -32001,
      message: 'limit reached: 2 reads that wait on this connection (--max-parked-reads)',
    });
    expect((await client.read('cat')).chunks).to.deep.equal([]);
    // those that wait are not among the requests in flight, of which there may be one
    await client.write('cat', 'now');
    for (const { chunks } of await Promise.all(parked)) expect(chunks).to.have.length(1);
    const next = client.read('cat', { waitMs: 60_000, afterSeq: 1 });
    await client.write('cat', 'again');
    expect(bytesOf(await next).toString()).to.equal('again');
  });
});

const ones = (count: number): string => Array.from({ length: count }, () => '1').join(',');

/** An array in an array in an array. */
const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('the limits of messages', () => {
  it('--max-message-bytes ends the connection of a longer one, and no other', async () => {
    const { url } = await launchListener(['--max-message-bytes', '1000']);
    const long = await initialized(url);
    const other = await initialized(url);
    long.raw(JSON.stringify({ id: 1, method: 'process/list', params: { x: 'x'.repeat(1_000) } }));
    await long.until(() => long.closed, 'the end of the connection');
    expect(await other.list()).to.deep.equal([]);
  });

  const TOO_MANY = {
    code: -32001,
    message: 'limit reached: 100 JSON values in a message (--max-json-values)',
  };

  it('refuses a message of too many values with its id where that comes first, else with -1', async () => {
    const client = await stdio('--max-json-values', '100');
    // the message, its id, its method, params, the list, and what is in it
    client.raw(`{"id":70,"method":"process/list","params":{"x":[${ones(95)}]}}`);
    client.raw(`{"id":71,"method":"process/list","params":{"x":[${ones(96)}]}}`);
    client.raw(`{"id":"seventy-two","method":"process/list","params":{"x":[${ones(96)}]}}`);
    client.raw(`{"method":"process/list","params":{"x":[${ones(96)}]},"id":73}`);
    client.raw('{"id":74,"method":"process/list"}');
    await client.until(() => client.messages.some(({ id }) => id === 74), 'the last answer');
    expect(client.messages.slice(-5)).to.deep.equal([
      { id: 70, result: { processes: [] } },
      { id: 71, error: TOO_MANY },
      { id: 'seventy-two', error: TOO_MANY },
      { id: -1, error: TOO_MANY },
      { id: 74, result: { processes: [] } },
    ]);
  });

  it('is not brought down by 10,000 arrays in arrays, wherever they are', async () => {
    const client = await stdio('--external-sandbox');
    const many = deep(10_000);
    const allAnswers = (): Incoming[] => client.messages.filter(({ id }) => id !== undefined);
    const from = allAnswers().length;
    client.raw(many);
    client.raw(`{"id":${many},"method":"process/list"}`);
    client.raw('['.repeat(10_000));
    client.raw(`{"id":70,"method":"process/list","params":${many}}`);
    client.raw(`{"id":71,"method":"process/list","trace":${many}}`);
    client.raw(
      `{"id":72,"method":"process/start","params":{"processId":"p","argv":${many},"cwd":"/","env":{},"tty":false}}`,
    );
    client.raw(`{"id":73,"method":"fs/canonicalize","params":{"path":"/","sandbox":${many}}}`);
    client.raw(`{"id":74,"method":"process/read","params":{"processId":${many}}}`);
    await client.until(() => allAnswers().length === from + 8, '8 answers');
    const told = allAnswers()
      .slice(from)
      .map(({ id, result, error }) => [id, result ?? error?.message]);
    expect(told).to.have.deep.members([
      [-1, 'the message is not a JSON object'],
      [-1, 'id: expected a string or an integer from -2^63 to 2^63-1'],
      [-1, 'the message is not JSON'],
      [70, 'params: expected null or an object'],
      [71, { processes: [] }],
      [72, 'argv[0]: expected a string'],
      [73, { path: 'file:///' }],
      [74, 'processId: expected a string'],
    ]);
  });

  it('refuses a million arrays in arrays, and reads them where it is told to', async () => {
    const million = `{"id":70,"method":"fs/canonicalize","params":{"path":"/","sandbox":${deep(1e6)}}}`;
    const answer = async (...args: string[]): Promise<Incoming> => {
      const client = await stdio('--external-sandbox', ...args);
      client.raw(million);
      return client.until(() => client.messages.find(({ id }) => id === 70), 'the answer');
    };
    expect((await answer()).error).to.deep.equal({
      code: -32001,
      message: 'limit reached: 262144 JSON values in a message (--max-json-values)',
    });
    expect((await answer('--max-json-values', '2000000')).result).to.deep.equal({ path: 'file:///' });
  });
});

describe('the limit of retained output', () => {
  it('makes the process that closed first give up its output, and no running one', async () => {
    const client = await stdio('--max-retained-bytes', String(100 * 1024));
    const print = async (id: string): Promise<void> => {
      await client.start(id, ['head', '-c', '20000', '/dev/zero']);
      await client.processClosed(id);
    };
    const kept = async (id: string): Promise<number[]> => {
      const { chunks, droppedBytes, closed } = await client.read(id);
      expect(closed).to.equal(id !== 'running');
      return [chunks.reduce((sum, { chunk }) => sum + chunk.data.length, 0), droppedBytes];
    };
    // 28 KiB of blocks each
    await client.start('running', ['sh', '-c', 'head -c 20000 /dev/zero; exec sleep 1000']);
    await client.until(() => client.output('running').length === 20_000, 'the output of the one that runs');
    await print('first');
    await print('second');
    expect(await kept('first')).to.deep.equal([20_000, 0]);
    await print('third');
    expect(await kept('running')).to.deep.equal([20_000, 0]);
    expect(await kept('first')).to.deep.equal([0, 20_000]);
    expect(await kept('second')).to.deep.equal([20_000, 0]);
    expect(await kept('third')).to.deep.equal([20_000, 0]);
    expect(client.output('first').length).to.equal(20_000);
    // its end is still known, and its id is taken
    expect(await client.read('first')).to.include({ exitCode: 0, exited: true, closed: true });
    const again = await client.refused('process/start', startParams('first', ['true']));
    expect(again.message).to.equal('process first already exists');
  });
});

describe('a limit on the command line', () => {
  it('is a whole number: anything else is refused with exit status 2', async () => {
    expect(await runText(['--max-requests', 'many'])).to.deep.equal({
      status: 2,
      stdout: '',
      stderr:
        'exec-server: --max-requests: expected a whole number from 1 to 9007199254740991\nTry exec-server --help.\n',
    });
  });

  const given = {
    maxConnections: 1,
    maxConnectionsPerAddress: 2,
    maxSessions: 10,
    maxProcesses: 3,
    maxProcessesPerSession: 4,
    maxRequests: 5,
    maxParkedReads: 6,
    maxMessageBytes: 7,
    maxJsonValues: 8,
    maxRetainedBytes: 9,
  };

  it('sets what its name says', () => {
    expect(limitsOf(given)).to.deep.equal({
      connections: 1,
      connectionsPerAddress: 2,
      sessions: 10,
      processes: 3,
      processesPerSession: 4,
      requests: 5,
      parkedReads: 6,
      messageBytes: 7,
      jsonValues: 8,
      retainedBytes: 9,
    });
  });

  for (const value of [0, -1, 1.5, NaN, Infinity, 2 ** 53]) {
    it(`is not ${value}`, () => {
      expect(() => limitsOf({ ...given, maxParkedReads: value })).to.throw(
        UsageError,
        '--max-parked-reads: expected a whole number from 1 to 9007199254740991',
      );
    });
  }

  it('of a message leaves room in a string', () => {
    expect(() => limitsOf({ ...given, maxMessageBytes: 2 ** 29 })).to.throw(
      UsageError,
      '--max-message-bytes: expected a whole number from 1 to 268435456',
    );
  });
});
