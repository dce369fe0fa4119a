import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Inspector, startInspector } from '../src/inspect.js';
import { redacted } from '../src/inspect/redact.js';
import { createLog } from '../src/log.js';
import { ExecServer } from '../src/server.js';
import {
  collectStderr,
  connectStdio,
  connectWebSocket,
  launchServer,
  memoryClient,
  type TestClient,
} from './support/client.js';
import { cleanup } from './support/environment.js';
import './support/inspected.js';

/** A message of the inspector, as far as these tests look at it. */
type Inspected = {
  readonly type: string;
  readonly name?: string;
  readonly sessionId?: string;
  readonly parentId?: string;
  readonly definition?: string;
  readonly event?: { readonly type: string };
  readonly snapshot?: { readonly status?: string; readonly value?: unknown };
};

const statelyUrl = ({ stately }: Inspector): string => {
  if (stately === undefined) throw new Error('@statelyai/inspect is not installed');
  return stately.url;
};

/** A server in this process that is inspected, its client, and a viewer. */
const inspected = async (): Promise<{
  client: TestClient;
  viewer: TestClient;
  inspector: Inspector;
  events: () => Inspected[];
  end: () => Promise<void>;
}> => {
  const log = createLog('silent');
  const inspector = await startInspector(0, log);
  cleanup(() => inspector.close());
  const viewer = await connectWebSocket(statelyUrl(inspector));
  const server = new ExecServer(log, { onSession: inspector.onSession });
  const { client, wire } = memoryClient();
  server.accept(wire);
  return {
    client,
    viewer,
    inspector,
    events: () => viewer.texts.map((text): Inspected => JSON.parse(text)),
    end: async () => {
      await server.close('the test is over');
      await viewer.until(
        () => viewer.texts.some((text) => text.includes('"value":"closed"')),
        'the end of the connection actor',
      );
    },
  };
};

/** How a text looks inside base64, at each of the three places where it can begin. */
const inBase64 = (text: string): string[] =>
  [0, 1, 2].map((before) => {
    const encoded = Buffer.from('\0'.repeat(before) + text).toString('base64');
    return encoded.slice(before === 0 ? 0 : before + 1, -4);
  });

const secret = (): string => randomBytes(18).toString('hex');

const startOf = (processId: string, argv: readonly string[], more: object): object => ({
  processId,
  argv,
  cwd: os.tmpdir(),
  env: { PATH: process.env['PATH'] ?? '' },
  tty: false,
  ...more,
});

describe('the inspector', () => {
  it('shows every actor with its chart, every event, and every state', async () => {
    const { client, events, end } = await inspected();
    await client.initialize({ clientName: 'watched' });
    await client.start('p1', ['sh', '-c', 'exit 3']);
    await client.processClosed('p1');
    await end();
    const actors = events().filter(({ type }) => type === '@xstate.actor');
    expect(actors.map(({ name }) => name)).to.deep.equal([
      'connection 1',
      'process p1',
      'child of process p1',
    ]);
    const [connection, ofProcess, child] = actors;
    expect(ofProcess?.parentId).to.equal(connection?.sessionId);
    expect(child?.parentId).to.equal(ofProcess?.sessionId);
    expect(connection?.definition).to.include('"description":"Everything is served."');
    expect(ofProcess?.definition).to.include('"description":"The child runs.');

    const values = (sessionId: string | undefined): unknown[] =>
      events()
        .filter((event) => event.type === '@xstate.snapshot' && event.sessionId === sessionId)
        .map(({ snapshot }) => JSON.stringify(snapshot?.value))
        .filter((value, at, all) => value !== all[at - 1]);
    expect(values(connection?.sessionId)).to.deep.equal([
      '{"open":"awaitingInitialize"}',
      '{"open":"awaitingInitialized"}',
      '{"open":"ready"}',
      '"closing"',
      '"closed"',
    ]);
    expect(values(ofProcess?.sessionId)).to.deep.equal([
      '{"live":"starting"}',
      '{"live":"running"}',
      '{"live":{"exited":"draining"}}',
      '{"live":{"retained":"keeping"}}',
      '"evicted"',
    ]);
    const toProcess = events().filter(
      ({ type, sessionId }) => type === '@xstate.event' && sessionId === ofProcess?.sessionId,
    );
    expect(toProcess.map(({ event }) => event?.type)).to.deep.equal([
      'xstate.init',
      'child.spawned',
      'child.exited',
      'child.closed',
      'session.end',
    ]);
  });

  it('shows no value of an environment, argument, input, output, or session id', async () => {
    const { client, viewer, end } = await inspected();
    const canaries = {
      environment: secret(),
      argument: secret(),
      arg0: secret(),
      input: secret(),
      terminalInput: secret(),
      output: secret(),
      resumed: secret(),
    };
    const [half, otherHalf] = [canaries.output.slice(0, 18), canaries.output.slice(18)];
    const env = { PATH: process.env['PATH'] ?? '', CANARY_NAME: canaries.environment };
    const print = `printf %s%s ${half} ${otherHalf}`;

    await client.refused('initialize', { clientName: 'c', resumeSessionId: canaries.resumed });
    const { sessionId } = await client.initialize();
    await client.request(
      'process/start',
      startOf('in-pipes', ['sh', '-c', `${print}; cat`, canaries.argument], {
        env,
        arg0: canaries.arg0,
        pipeStdin: true,
      }),
    );
    await client.waitOutput('in-pipes', canaries.output);
    await client.write('in-pipes', canaries.input, { writeId: 'w1' });
    await client.write('in-pipes', canaries.input, { writeId: 'w1' });
    await client.waitOutput('in-pipes', canaries.input);
    await client.request('process/read', { processId: 'in-pipes' });
    const parked = client.request('process/read', { processId: 'in-pipes', afterSeq: 99, waitMs: 60_000 });
    await client.request('process/list');
    await client.request('process/closeStdin', { processId: 'in-pipes' });
    await parked;
    await client.processClosed('in-pipes');
    await client.write('in-pipes', canaries.input, { writeId: 'w2' });

    await client.request(
      'process/start',
      startOf('in-a-pty', ['sh', '-c', `${print}; exec cat`, canaries.argument], { env, tty: true }),
    );
    await client.waitOutput('in-a-pty', canaries.output);
    await client.write('in-a-pty', `${canaries.terminalInput}\n`);
    await client.waitOutput('in-a-pty', canaries.terminalInput);
    await client.request('process/resize', { processId: 'in-a-pty', rows: 30, cols: 100 });
    await client.request('process/signal', { processId: 'in-a-pty', signal: 'interrupt' });
    await client.processClosed('in-a-pty');

    await client.refused(
      'process/start',
      startOf('not-found', ['/does/not/exist', canaries.argument], { env }),
    );
    await client.refused(
      'process/start',
      startOf('no-cwd', ['sh', canaries.argument], { env, cwd: 'not/absolute' }),
    );
    await client.refused(
      'process/start',
      startOf('sandboxed', ['sh', canaries.argument], { env, sandbox: { secret: canaries.argument } }),
    );
    await client.refused('process/start', startOf('in-a-pty', ['sh', canaries.argument], { env }));
    await client.write('unknown', canaries.input, { writeId: 'w3' });
    await client.request('command/exec', startOf('command', ['sh', '-c', print], { env }));
    await client.request('process/terminate', { processId: 'command' });
    await end();

    const seen = viewer.texts.join('\n');
    for (const shown of ['in-pipes', 'in-a-pty', 'not-found', 'CANARY_NAME', '"program":"sh"', 'w1', 'w2']) {
      expect(seen).to.include(shown);
    }
    for (const [name, canary] of Object.entries({ ...canaries, sessionId: String(sessionId) })) {
      const leaks = [canary, ...inBase64(canary)].filter((form) => seen.includes(form));
      expect(leaks, name).to.deep.equal([]);
      // nor as the numbers of its bytes
      expect(seen.includes([...Buffer.from(canary)].join(',')), name).to.equal(false);
    }
    expect(seen).to.not.include(half);
  });

  it('tells a viewer that comes first what lives, by one message an actor', async () => {
    const log = createLog('silent');
    const inspector = await startInspector(0, log);
    cleanup(() => inspector.close());
    const server = new ExecServer(log, { onSession: inspector.onSession });
    cleanup(() => server.close('the test is over'));
    const { client, wire } = memoryClient();
    server.accept(wire);
    await client.initialize();
    await client.start('early', ['sleep', '60']);
    const viewer = await connectWebSocket(statelyUrl(inspector));
    await viewer.until(() => viewer.texts.length === 3, 'the actors');
    const told = viewer.texts.map((text): Inspected => JSON.parse(text));
    expect(told.map(({ type, name, snapshot }) => [type, name, snapshot?.value])).to.deep.equal([
      ['@xstate.actor', 'connection 1', { open: 'ready' }],
      ['@xstate.actor', 'process early', { live: 'running' }],
      ['@xstate.actor', 'child of process early', undefined],
    ]);
    await client.start('later', ['true']);
    await viewer.until(() => viewer.texts.some((text) => text.includes('process later')), 'the new actor');
  });

  it('tells a second viewer what the first one was told', async () => {
    const { client, inspector, viewer, end } = await inspected();
    await client.initialize();
    await client.start('early', ['true']);
    await client.processClosed('early');
    await end();
    const late = await connectWebSocket(statelyUrl(inspector));
    await late.until(() => late.texts.length === viewer.texts.length, 'the messages of before');
    expect(late.texts).to.deep.equal(viewer.texts);
  });
});

describe('redacted', () => {
  it('shows of bytes their number, of maps their keys, of errors their name', () => {
    const spawnError = Object.assign(new RangeError('spawn sh secret'), { spawnargs: ['secret'] });
    const original: unknown = {
      buffer: Buffer.from('secret'),
      nested: [{ view: new Uint8Array(3) }],
      map: new Map([['name', 'secret']]),
      spawnError,
      run: () => 'secret',
      big: 12345678901234567890n,
      long: 'x'.repeat(1_001),
      sessionId: 'secret',
      resumeSessionId: 'secret',
    };
    expect(redacted(original)).to.deep.equal({
      buffer: { byteLength: 6 },
      nested: [{ view: { byteLength: 3 } }],
      map: { size: 1, keys: ['name'] },
      spawnError: { error: 'RangeError' },
      big: '12345678901234567890',
      long: `${'x'.repeat(1_000)}…`,
      sessionId: '(hidden)',
      resumeSessionId: '(hidden)',
    });
  });

  it('shows no more than 100 keys of a map', () => {
    const map = new Map(Array.from({ length: 101 }, (_, at) => [`k${at}`, at] as const));
    const keys = Array.from({ length: 100 }, (_, at) => `k${at}`);
    expect(redacted<unknown>(map)).to.deep.equal({ size: 101, keys });
  });
});

const listenModules = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL('fixtures/loaded-modules.mjs', import.meta.url))}`,
};

/** What a server says on stderr that starts and finds its client gone. */
const stderrOf = async (args: string[], env: NodeJS.ProcessEnv = {}): Promise<[string, number | null]> => {
  const server = launchServer(['--log-level', 'silent', ...args], env);
  const stderr = collectStderr(server);
  server.stdin?.end();
  await once(server, 'close');
  return [stderr(), server.exitCode];
};

describe('--inspect', () => {
  it('says where to look, on stderr only, and ends with its client though somebody looks', async () => {
    const client = await connectStdio(['--inspect', '--log-level', 'silent']);
    if (client.server?.stderr === null || client.server === undefined) throw new Error('no server');
    const said = createInterface({ input: client.server.stderr })[Symbol.asyncIterator]();
    const own = String((await said.next()).value);
    expect(own).to.match(/^exec-server inspector: open http:\/\/127\.0\.0\.1:\d+\/[\w-]{43}\/$/);
    const line = String((await said.next()).value);
    const { token, port } =
      /^exec-server inspector: or in Stately's viewer http:\/\/127\.0\.0\.1:(?<port>\d+)\/(?<token>[\w-]{43}) \(relay ws:\/\/127\.0\.0\.1:\k<port>\/\k<token>\)$/.exec(
        line,
      )?.groups ?? {};
    expect(token, line).to.be.a('string');
    expect(own).to.not.include(token);
    expect(String((await said.next()).value)).to.equal(
      "exec-server inspector: Stately's is drawn by a page of stately.ai in your browser, which sees the events",
    );
    const viewer = await connectWebSocket(`ws://127.0.0.1:${port}/${token}`);
    await client.initialize({ clientName: 'seen by the viewer' });
    await viewer.until(() => viewer.texts.some((text) => text.includes('seen by the viewer')), 'the event');
    await client.close();
    expect(client.server.exitCode).to.equal(0);
    await viewer.until(() => viewer.closed, 'the end of the viewer');
    expect(viewer.texts.at(-1)).to.include('"value":"closed"');
    expect((await said.next()).done).to.equal(true);
    expect(client.messages.map(({ id }) => id)).to.deep.equal([1]);
  });

  it('listens on the port that it is given, and goes with --listen and --trace', async () => {
    const probe = net.createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const address = probe.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const url = `ws://127.0.0.1:${port}`;
    const busy = await stderrOf(['--inspect', url]);
    expect(busy).to.deep.equal([
      `exec-server: cannot listen on ${url}: the address is in use; choose another port, or 0 for a free one\n`,
      1,
    ]);
    probe.close();
    await once(probe, 'close');
    const server = launchServer(['--listen', 'ws://127.0.0.1:0', '--inspect', url, '--trace']);
    if (server.stderr === null || server.stdout === null) throw new Error('no pipes');
    const stderr = collectStderr(server);
    const [served]: string[] = await once(createInterface({ input: server.stdout }), 'line');
    const client = await connectWebSocket(String(served));
    await client.initialize();
    await client.request('process/list');
    server.kill('SIGTERM');
    await once(server, 'close');
    expect(server.exitCode).to.equal(143);
    expect(stderr()).to.include(`exec-server inspector: open http://127.0.0.1:${port}/`);
    expect(stderr()).to.include('\nconnection:1 awaitingInitialized → ready (initialized)\n');
  });

  for (const url of ['ws://0.0.0.0:0', 'ws://[::1]:0', 'ws://127.0.0.1', 'http://127.0.0.1:0', 'stdio://']) {
    it(`refuses ${url} with exit status 2`, async () => {
      expect(await stderrOf(['--inspect', url])).to.deep.equal([
        `invalid --inspect URL \`${url}\`; expected \`ws://127.0.0.1:PORT\`\n`,
        2,
      ]);
    });
  }

  it('needs no package: without that of Stately it has its own page', async () => {
    const env = { ...listenModules, EXEC_SERVER_TEST_MISSING: '@statelyai/inspect' };
    const [stderr, status] = await stderrOf(['--inspect'], env);
    const said = stderr.split('\n').filter((line) => !line.startsWith('loaded '));
    expect(said[0]).to.match(/^exec-server inspector: open http:/);
    expect(said.slice(1)).to.deep.equal([
      'exec-server inspector: Stately has a page too: npm install @statelyai/inspect beside exec-server',
      '',
    ]);
    expect(status).to.equal(0);
  });

  it('is loaded only when it is asked for', async () => {
    const parts = ['/node_modules/@statelyai/inspect/', '/node_modules/ws/', '/dist/src/inspect.js'];
    const loadedParts = async (args: string[]): Promise<string[]> => {
      const [stderr] = await stderrOf(args, listenModules);
      expect(stderr).to.match(/^loaded .*\/dist\/src\/(cli|serve)\.js$/m);
      return parts.filter((part) => stderr.includes(part));
    };
    expect(await loadedParts([])).to.deep.equal([]);
    expect(await loadedParts(['--trace'])).to.deep.equal([]);
    expect(await loadedParts(['--inspect'])).to.deep.equal(parts);
  });
});
