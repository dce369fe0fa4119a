import { expect } from 'chai';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { WebSocket } from 'ws';
import { canary, foundIn } from './support/canaries.js';
import {
  connectWebSocket,
  type Incoming,
  launchListener,
  startParams,
  type TestClient,
} from './support/client.js';
import { temporaryDirectory } from './support/files.js';
import { nobody, serveHttp } from './support/http.js';
import { scrape } from './support/scrape.js';

/** Nobody but the process, the file or the host they are for may see them. */
const secrets = {
  serverEnvironment: canary(),
  environment: canary(),
  policyValue: canary(),
  argument: canary(),
  arg0: canary(),
  input: canary(),
  terminalInput: canary(),
  output: canary(),
  fileContent: canary(),
  httpUrl: canary(),
  httpHeader: canary(),
  httpBody: canary(),
  httpAnswerHeader: canary(),
  httpAnswer: canary(),
  malformed: canary(),
  badParameter: canary(),
  token: canary(),
  requestHeader: canary(),
  requestUrl: canary(),
};

/** Told to the client that sent them, who may be shown what it got wrong, and to nobody else. */
const told = { method: canary(), resumedSession: canary() };

/** Shown by --inspect, too: what is worked on, not what is in it. */
const places = { cwd: canary(), file: canary() };

/** Notifications, and members of results, that are there to carry output, files and what a host answered. */
const carriers = new Set(['process/output', 'command/exec/outputDelta', 'http/request/bodyDelta']);
const cargo = ['chunks', 'chunk', 'dataBase64', 'bodyBase64'];

const isCarrier = ({ method = '', result = {} }: Incoming): boolean =>
  carriers.has(method) || cargo.some((member) => Object.hasOwn(result, member));

/** Processes in pipes and in a PTY: they get, print and are asked for canaries. */
const useProcesses = async (client: TestClient, directory: string): Promise<void> => {
  const env = { PATH: process.env['PATH'] ?? '', CANARY: secrets.environment };
  const [half, otherHalf] = [secrets.output.slice(0, 20), secrets.output.slice(20)];
  const print = `printf %s%s ${half} ${otherHalf}`;
  await client.start('in-pipes', ['sh', '-c', `${print}; cat`, secrets.argument], {
    env,
    cwd: directory,
    arg0: secrets.arg0,
    pipeStdin: true,
  });
  await client.waitOutput('in-pipes', secrets.output);
  await client.write('in-pipes', secrets.input, { writeId: 'w' });
  await client.write('in-pipes', secrets.input, { writeId: 'w' });
  await client.waitOutput('in-pipes', secrets.input);
  await client.request('process/read', { processId: 'in-pipes' });
  await client.list();
  await client.request('process/closeStdin', { processId: 'in-pipes' });
  await client.processClosed('in-pipes');
  await client.refused('process/write', {
    processId: 'in-pipes',
    chunk: Buffer.from(secrets.input).toString('base64'),
  });
  await client.refused('process/start', startParams('in-pipes', ['sh', secrets.argument], { env }));

  await client.start('in-a-pty', ['sh', '-c', `${print}; exec cat`, secrets.argument], {
    env,
    tty: true,
    arg0: secrets.arg0,
  });
  await client.waitOutput('in-a-pty', secrets.output);
  await client.write('in-a-pty', `${secrets.terminalInput}\n`);
  await client.waitOutput('in-a-pty', secrets.terminalInput);
  await client.request('process/terminate', { processId: 'in-a-pty' });
  await client.processClosed('in-a-pty');

  await client.start('closes-stdin', ['sh', '-c', 'exec <&-; echo closed; sleep 60'], {
    env,
    pipeStdin: true,
  });
  await client.waitOutput('closes-stdin', 'closed');
  await client.call('process/write', {
    processId: 'closes-stdin',
    chunk: Buffer.from(secrets.input).toString('base64'),
  });
  await client.request('process/signal', { processId: 'closes-stdin', signal: 'kill' });
  await client.processClosed('closes-stdin');

  await client.start('by-policy', ['sh', '-c', print], {
    env: {},
    envPolicy: {
      inherit: 'all',
      ignoreDefaultExcludes: true,
      exclude: [],
      set: { CANARY: secrets.policyValue },
      includeOnly: [],
    },
  });
  await client.processClosed('by-policy');
  await client.request(
    'command/exec',
    startParams('command', ['sh', '-c', print, secrets.argument], { env }),
  );
  await client.until(
    () => client.about('command').some(({ method }) => method === 'command/exec/exited'),
    'its end',
  );
};

/** Starts that fail, one for each way in which they can. */
const failToStart = async (client: TestClient, directory: string): Promise<void> => {
  const env = { PATH: process.env['PATH'] ?? '', CANARY: secrets.environment };
  // its path is a program's name, which is logged
  const script = path.join(path.dirname(directory), 'no-interpreter');
  fs.writeFileSync(script, '#!/does/not/exist\n', { mode: 0o755 });
  const attempts: [program: string, more: object][] = [
    ['/does/not/exist', {}],
    ['not-in-the-path', {}],
    ['/usr', {}],
    [script, {}],
    ['sh', { cwd: 'not/absolute' }],
    ['sh', { cwd: '/does/not/exist' }],
    ['sh', { cwd: script }],
    ['sh', { sandbox: { secret: secrets.argument } }],
    ['sh', { networkProxy: { secret: secrets.argument } }],
    ['sh', { env: { ...env, LONG: secrets.environment.repeat(5_000) } }],
    ['sh', { env: { ...env, NUL: `${secrets.environment}\0` } }],
    ['sh', { env: { ...env, [`NAME=${secrets.environment}`]: '' } }],
    ['sh', { arg0: `${secrets.arg0}\0` }],
  ];
  for (const tty of [false, true]) {
    for (const [program, more] of attempts) {
      await client.refused(
        'process/start',
        startParams('failing', [program, secrets.argument], { env, tty, ...more }),
      );
    }
    await client.refused(
      'process/start',
      startParams('failing', ['sh', `${secrets.argument}\0`], { env, tty }),
    );
    await client.refused(
      'process/start',
      startParams('failing', ['sh', secrets.argument.repeat(5_000)], { env, tty }),
    );
  }
};

/** Parameters of the wrong kind. */
const sendBadParameters = async (client: TestClient): Promise<void> => {
  const bad = secrets.badParameter;
  for (const [method, params] of [
    ['initialize', { clientName: [bad] }],
    ['process/start', startParams('bad', ['sh'], { tty: bad })],
    ['process/start', startParams('bad', ['sh'], { env: [bad] })],
    ['process/start', startParams('bad', ['sh'], { env: { NAME: [bad] } })],
    ['process/start', startParams('bad', ['sh'], { size: bad })],
    ['process/start', startParams('bad', ['sh'], { envPolicy: { inherit: bad } })],
    ['process/start', startParams('bad', ['sh'], { cwd: { [bad]: bad } })],
    ['process/start', { ...startParams('bad', []), argv: ['sh', { [bad]: bad }] }],
    ['process/start', { ...startParams('bad', []), argv: bad }],
    ['process/start', bad],
    ['process/start', [bad]],
    ['process/write', { processId: 'in-pipes', chunk: `${bad}!` }],
    ['process/write', { processId: 'in-pipes', chunk: [bad] }],
    ['process/write', { processId: 'in-pipes', chunk: 'AAAA', writeId: [bad] }],
    ['process/read', { processId: 'in-pipes', afterSeq: bad }],
    ['process/signal', { processId: 'in-pipes', signal: bad }],
    ['process/resize', { processId: 'in-pipes', rows: bad, cols: 1 }],
    ['process/ack', { processId: 'in-pipes', bytes: bad }],
    ['fs/writeFile', { path: '/dev/null', dataBase64: `${bad}!` }],
    ['fs/readFile', { path: 'relative', sandbox: bad }],
    ['fs/walk', { path: '/', options: { maxDepth: bad } }],
    ['fs/readBlock', { handleId: 'h', offset: bad, len: 1 }],
    ['http/request', { method: 'GET', url: bad, requestId: 'bad' }],
    ['http/request', { method: `GET ${bad}`, url: 'http://127.0.0.1/', requestId: 'bad' }],
    ['http/request', { method: 'GET', url: `http://user:${bad}@127.0.0.1/`, requestId: 'bad' }],
    [
      'http/request',
      {
        method: 'GET',
        url: 'http://127.0.0.1/',
        requestId: 'bad',
        headers: [{ name: 'x', value: `${bad}\n` }],
      },
    ],
    [
      'http/request',
      {
        method: 'GET',
        url: 'http://127.0.0.1/',
        requestId: 'bad',
        headers: [{ name: `${bad}:`, value: '' }],
      },
    ],
    ['http/request', { method: 'POST', url: 'http://127.0.0.1/', requestId: 'bad', bodyBase64: `${bad}!` }],
  ] as const) {
    await client.refused(method, params);
  }
  await client.refused(told.method, { secret: bad });
};

/** What is no message at all. */
const sendMalformed = async (client: TestClient): Promise<void> => {
  const texts = [
    secrets.malformed,
    `{"id":1,"method":"${secrets.malformed}`,
    `["${secrets.malformed}"]`,
    `"${secrets.malformed}"`,
    JSON.stringify({ id: { secret: secrets.malformed }, method: 'process/list' }),
    JSON.stringify({ id: 1, method: [secrets.malformed] }),
    JSON.stringify({ id: [secrets.malformed] }),
    JSON.stringify({ [secrets.malformed]: secrets.malformed }),
  ];
  const before = client.messages.length;
  for (const text of texts) client.raw(text);
  await client.until(() => client.messages.length === before + texts.length, 'the answers');
};

const useFiles = async (client: TestClient, directory: string): Promise<void> => {
  const file = path.join(directory, places.file);
  const dataBase64 = Buffer.from(secrets.fileContent).toString('base64');
  await client.request('fs/writeFile', { path: file, dataBase64 });
  await client.request('fs/readFile', { path: file });
  await client.request('fs/open', { path: file, handleId: 'h' });
  await client.request('fs/readBlock', { handleId: 'h', offset: 0, len: 100 });
  await client.request('fs/close', { handleId: 'h' });
  await client.request('fs/getMetadata', { path: file });
  await client.refused('fs/readDirectory', { path: file });
  await client.refused('fs/writeFile', { path: path.join(file, 'below'), dataBase64 });
};

const useHttp = async (client: TestClient): Promise<void> => {
  const origin = await serveHttp((request, response) => {
    request.resume();
    response.writeHead(200, { 'X-Answer': secrets.httpAnswerHeader }).end(secrets.httpAnswer);
  });
  const request = {
    method: 'POST',
    headers: [{ name: 'Authorization', value: `Bearer ${secrets.httpHeader}` }],
    bodyBase64: Buffer.from(secrets.httpBody).toString('base64'),
  };
  const pathAndQuery = `/${secrets.httpUrl}?token=${secrets.httpUrl}`;
  await client.request('http/request', { ...request, url: `${origin}${pathAndQuery}`, requestId: 'plain' });
  await client.request('http/request', {
    ...request,
    url: `${origin}${pathAndQuery}`,
    requestId: 'streamed',
    streamResponse: true,
  });
  await client.until(
    () =>
      client.messages.some(
        ({ method, params }) => method === 'http/request/bodyDelta' && params?.['done'] === true,
      ),
    'the end of the body',
  );
  const failing = { ...request, requestId: 'failing' };
  await client.refused('http/request', { ...failing, url: `${await nobody()}${pathAndQuery}` });
  await client.refused('http/request', {
    ...failing,
    url: `http://${secrets.httpUrl.slice(0, 40)}.invalid/`,
  });
};

/** Everything that the listener gets to see before there is a connection. */
const knock = async (url: string): Promise<void> => {
  const headers = {
    Authorization: `Bearer ${secrets.requestHeader}`,
    Cookie: `session=${secrets.requestHeader}`,
    'User-Agent': secrets.requestHeader,
  };
  for (const [target, more] of [
    [`/readyz?token=${secrets.requestUrl}`, {}],
    [`/${secrets.requestUrl}`, {}],
    ['/', { Origin: `https://${secrets.requestHeader}.example` }],
    ['/', { Host: `${secrets.requestHeader}.example` }],
  ] as const) {
    const request = http.get(new URL(target, url.replace(/^ws/, 'http')), {
      headers: { ...headers, ...more },
      agent: false,
    });
    const [response]: http.IncomingMessage[] = await once(request, 'response');
    response?.resume();
    if (response !== undefined) await once(response, 'end');
  }
  const refused = new WebSocket(
    `${url}/${secrets.requestUrl}?token=${secrets.requestUrl}`,
    [secrets.requestHeader],
    { headers },
  );
  await once(refused, 'error');
};

/** Ends a connection by what is no message there, each in its way. */
const violate = async (url: string): Promise<Incoming[]> => {
  const answers: Incoming[] = [];
  for (const text of [
    JSON.stringify({ method: secrets.malformed, params: { secret: secrets.malformed } }),
    JSON.stringify({ id: 7, result: { secret: secrets.malformed } }),
    JSON.stringify({ id: 7, error: { code: 1, message: secrets.malformed } }),
    JSON.stringify({ method: 'initialized', params: { secret: secrets.malformed } }),
  ]) {
    const client = await connectWebSocket(`${url}/?token=${secrets.requestUrl}`, secrets.token);
    client.raw(text);
    await client.until(() => client.closed, 'the end of the connection');
    answers.push(...client.messages);
  }
  return answers;
};

describe('canaries', () => {
  it('are found in each form, whole or in half', () => {
    const one = canary();
    const shown: [form: string, text: string][] = [
      ['plain', `"${one}"`],
      ['plain', one.toUpperCase()],
      ['base64 at 0', Buffer.from(one).toString('base64')],
      ['base64 at 1', Buffer.from(`x${one}`).toString('base64')],
      ['base64 at 2', Buffer.from(`xx${one}`).toString('base64url')],
      ['hexadecimal', Buffer.from(one).toString('hex')],
      ['in a URL', one.replace(/./g, (digit) => `%${digit.charCodeAt(0).toString(16).toUpperCase()}`)],
      ['in JSON', one.replace(/./g, (digit) => `\\u00${digit.charCodeAt(0).toString(16)}`)],
      ['numbers of bytes', JSON.stringify(Buffer.from(one))],
      ['plain', `${one.slice(0, 30)}…`],
    ];
    for (const [form, text] of shown) expect(foundIn(text, { one }), form).to.include(`one: ${form}`);
    expect(foundIn(`${one.slice(0, 23)} ${canary()}`, { one })).to.deep.equal([]);
  });

  it('are in no log, error, process/list, metric, trace or inspector', async () => {
    const directory = path.join(temporaryDirectory(), places.cwd);
    fs.mkdirSync(directory);
    const { server, url, stderr } = await launchListener(
      ['--log-level', 'debug', '--trace', '--inspect', '--allow-http'],
      { CANARY_OF_THE_SERVER: secrets.serverEnvironment, EXEC_SERVER_TOKEN: secrets.token },
    );
    const relay = /\(relay (ws:\/\/\S+)\)/.exec(stderr())?.[1] ?? '';
    const viewer = await connectWebSocket(relay);

    const first = await connectWebSocket(`${url}/?token=${secrets.requestUrl}`, secrets.token);
    await first.refused('initialize', { clientName: 'c', resumeSessionId: told.resumedSession });
    const { sessionId } = await first.initialize({ resumeSessionId: null });
    await useProcesses(first, directory);
    await failToStart(first, directory);
    await sendBadParameters(first);
    await sendMalformed(first);
    await useFiles(first, directory);
    await useHttp(first);
    await first.list();
    await first.start('left-running', ['sh', '-c', 'cat', secrets.argument], { pipeStdin: true });
    await first.close();

    const second = await connectWebSocket(url, secrets.token);
    await second.initialize({ resumeSessionId: sessionId });
    const busy = await connectWebSocket(url, secrets.token);
    const attached = await busy.refused('initialize', { clientName: 'c', resumeSessionId: sessionId });
    expect(attached.code).to.equal(-32010);
    await second.write('left-running', secrets.input);
    await second.waitOutput('left-running', secrets.input);
    await second.list();
    const violations = await violate(url);
    await knock(url);
    const { body: metrics } = await scrape(url, { Authorization: `Bearer ${secrets.token}` });

    const gone = once(server, 'close');
    server.kill('SIGTERM');
    await gone;
    await viewer.until(() => viewer.closed, 'the end of the viewer');

    const inspected = viewer.texts.join('\n');
    const answers = [first, second, busy]
      .flatMap(({ messages }) => messages)
      .concat(violations)
      .filter((message) => !isCarrier(message));
    const errors = answers.filter(({ error }) => error !== undefined);
    // they were where they are searched for
    expect(errors.length).to.be.greaterThan(70);
    expect(stderr()).to.include('"program":"sh"').and.to.include('process:in-pipes running → exited');
    expect(stderr()).to.include('"reason":"its Host is not a name of this server"');
    expect(inspected).to.include('"program":"sh"').and.to.include('left-running').and.to.include(places.cwd);
    expect(metrics).to.include('exec_server_process_start_failures_total{kind="spawnNotFound"}');
    for (const [id, output] of [
      ['in-pipes', secrets.output],
      ['in-a-pty', secrets.terminalInput],
    ] as const) {
      expect(first.output(id).toString()).to.include(output);
    }

    const own = { ...told, sessionId: String(sessionId) };
    expect(foundIn(stderr(), { ...secrets, ...own, ...places }), 'stderr').to.deep.equal([]);
    expect(foundIn(metrics, { ...secrets, ...own, ...places }), 'metrics').to.deep.equal([]);
    expect(foundIn(inspected, { ...secrets, ...own }), 'inspector').to.deep.equal([]);
    expect(foundIn(JSON.stringify(answers), secrets), 'answers').to.deep.equal([]);
  });
});
