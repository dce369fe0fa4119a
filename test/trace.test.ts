import { expect } from 'chai';
import { once } from 'node:events';
import { createActor, createMachine, fromCallback, type InspectionEvent } from 'xstate';
import { combineObservers } from '../src/inspect/observers.js';
import { traceTransitions } from '../src/inspect/trace.js';
import { createLog } from '../src/log.js';
import { ExecServer, type ServerOptions } from '../src/server.js';
import { collectStderr, connectStdio, memoryClient, type TestClient } from './support/client.js';

const silent = createLog('silent');

/** The lines of a session on a server in this process. */
const traced = async (sessions: readonly string[][]): Promise<string[]> => {
  const lines: string[] = [];
  const server = new ExecServer(silent, { inspect: [traceTransitions((line) => lines.push(line))] });
  for (const processIds of sessions) {
    const { client, wire } = memoryClient();
    server.accept(wire);
    await client.initialize();
    for (const processId of processIds) {
      await client.start(processId, ['true']);
      await client.processClosed(processId);
    }
    await client.close();
  }
  await server.close('the test is over');
  return lines;
};

/** A session whose lines are collected, on a server in this process. */
const inProcess = async (
  options: ServerOptions = {},
): Promise<{ client: TestClient; lines: string[]; end: () => Promise<void> }> => {
  const lines: string[] = [];
  const server = new ExecServer(silent, {
    ...options,
    inspect: [traceTransitions((line) => lines.push(line))],
  });
  const { client, wire } = memoryClient();
  server.accept(wire);
  return { client, lines, end: () => server.close('the test is over') };
};

describe('--trace', () => {
  it('writes a line for each transition, and none holds what a session carries', async () => {
    const client = await connectStdio(['--trace', '--log-level', 'silent']);
    if (client.server === undefined) throw new Error('no server');
    const stderr = collectStderr(client.server);
    const ended = once(client.server, 'close');
    await client.initialize();
    await client.start('p1', ['sh', '-c', 'cat; exit 3', 'canary-argument'], {
      pipeStdin: true,
      env: { PATH: process.env['PATH'], CANARY: 'canary-value' },
    });
    await client.write('p1', 'canary-input');
    await client.waitOutput('p1', 'canary-input');
    await client.request('process/closeStdin', { processId: 'p1' });
    await client.processClosed('p1');
    await client.start('p2', ['sh', '-c', 'kill -KILL $$']);
    await client.processClosed('p2');
    await client.refused('process/start', {
      processId: 'p3',
      argv: ['/does/not/exist'],
      cwd: '/',
      env: {},
      tty: false,
    });
    await client.close();
    await ended;
    expect(stderr().split('\n')).to.deep.equal([
      'connection:1 awaitingInitialize → awaitingInitialized (initialize)',
      'connection:1 awaitingInitialized → ready (initialized)',
      'process:p1 starting → running (child.spawned)',
      'process:p1 running → exited (child.exited code=3)',
      'process:p1 exited → retained (child.closed)',
      'process:p2 starting → running (child.spawned)',
      'process:p2 running → exited (child.exited code=137 signal=SIGKILL)',
      'process:p2 exited → retained (child.closed)',
      'process:p3 starting → evicted (child.failed)',
      'process:p1 retained → evicted (session.end)',
      'process:p2 retained → evicted (session.end)',
      'connection:1 ready → closing (session.close)',
      'connection:1 closing → closed (done process:p2)',
      '',
    ]);
    expect(client.texts.filter((text) => text.includes(' → '))).to.deep.equal([]);
  });

  it('is off unless asked for', async () => {
    const client = await connectStdio(['--log-level', 'silent']);
    if (client.server === undefined) throw new Error('no server');
    const stderr = collectStderr(client.server);
    const ended = once(client.server, 'close');
    await client.initialize();
    await client.close();
    await ended;
    expect(stderr()).to.equal('');
  });

  it('leaves the server alone when nobody reads stderr any more', async () => {
    const client = await connectStdio(['--trace', '--log-level', 'silent']);
    client.server?.stderr?.destroy();
    await client.initialize();
    await client.start('p', ['echo', 'still here']);
    await client.processClosed('p');
    expect(client.output('p').toString()).to.equal('still here\n');
    await client.close();
    expect(client.server?.exitCode).to.equal(0);
  });
});

describe('traceTransitions', () => {
  it('numbers connections', async () => {
    expect((await traced([[], []])).filter((line) => line.includes('→ ready'))).to.deep.equal([
      'connection:1 awaitingInitialized → ready (initialized)',
      'connection:2 awaitingInitialized → ready (initialized)',
    ]);
  });

  it('escapes what a terminal would act on', async () => {
    const lines = await traced([['a\u001b[31m\n"\\\u009b\u007f\u202e\u{e0001}é\ud800']]);
    expect(lines.find((line) => line.includes('starting'))).to.equal(
      String.raw`process:a\u001b[31m\n\"\\\u009b\u007f\u202e\udb40\udc01é\ud800 starting → running (child.spawned)`,
    );
    expect(lines.at(-1)).to.equal(
      String.raw`connection:1 closing → closed (done process:a\u001b[31m\n\"\\\u009b\u007f\u202e\udb40\udc01é\ud800)`,
    );
  });

  it('cuts an actor’s id to 100 characters', async () => {
    const lines = await traced([['x'.repeat(500)]]);
    expect(lines.find((line) => line.includes('starting'))).to.equal(
      `process:${'x'.repeat(100)}… starting → running (child.spawned)`,
    );
  });

  it('tells a state inside a state where it is another than the first', async () => {
    const { client, lines, end } = await inProcess();
    await client.initialize();
    await client.start('p', ['sleep', '60']);
    await client.request('process/terminate', { processId: 'p' });
    await client.processClosed('p');
    await end();
    expect(lines.filter((line) => line.startsWith('process:p'))).to.deep.equal([
      'process:p starting → running (child.spawned)',
      'process:p running → exited.closing (child.exited code=137 signal=SIGKILL reason=terminated)',
      'process:p exited.closing → retained (child.closed)',
      'process:p retained → evicted (session.end)',
    ]);
  });

  it('tells who made a process end: a deadline, or the end of its session', async () => {
    const { client, lines, end } = await inProcess();
    await client.initialize();
    await client.start('late', ['sleep', '60'], { timeoutMs: 10 });
    await client.processClosed('late');
    await client.start('quiet', ['sleep', '60'], { idleTimeoutMs: 10 });
    await client.processClosed('quiet');
    await client.start('left', ['sleep', '60']);
    await end();
    const killed = 'child.exited code=137 signal=SIGKILL reason=';
    for (const line of [
      `process:late running → exited.closing (${killed}timeout)`,
      `process:quiet running → exited.closing (${killed}idle)`,
      'process:left running → ending (session.end)',
      `process:left ending → evicted (${killed}disconnected)`,
    ]) {
      expect(lines).to.include(line);
    }
  });

  it('tells which deadline killed what a process has left behind', async () => {
    const { client, lines, end } = await inProcess();
    await client.initialize();
    await client.start('p', ['sh', '-c', 'trap "" TERM; sleep 60 &']);
    await client.exited('p');
    await client.request('process/terminate', { processId: 'p', graceMs: 10 });
    await client.processClosed('p');
    await end();
    expect(lines).to.include('process:p exited → exited.closing (deadline.grace)');
  });

  it('names delays, and what ends with a process, in few words', async () => {
    const { client, lines, end } = await inProcess({ retentionMs: 1 });
    await client.initialize();
    await client.start('p', ['true']);
    while ((await client.list()).length > 0);
    await end();
    expect(lines).to.include('process:p retained → evicted (after retention)');
  });

  it('tells of a crash, though it changes no state of who is told', () => {
    const lines: string[] = [];
    const parent = createMachine({
      initial: 'ready',
      invoke: {
        id: 'process:p',
        src: fromCallback(() => {
          throw new Error('secret');
        }),
        onError: { actions: () => undefined },
      },
      states: { ready: {} },
    });
    createActor(parent, { inspect: traceTransitions((line) => lines.push(line)) }).start();
    expect(lines).to.deep.equal(['connection:1 ready → ready (failed process:p)']);
  });

  it('tells of which connection a process is as soon as there are several', async () => {
    const lines = await traced([['p'], ['p']]);
    expect(lines.filter((line) => line.includes('→ running'))).to.deep.equal([
      'process:p starting → running (child.spawned)',
      'process:p starting → running (child.spawned) connection:2',
    ]);
  });
});

describe('combineObservers', () => {
  it('gives nothing for nothing, so that no actor has an observer', () => {
    expect(combineObservers([], silent)).to.equal(undefined);
  });

  it('leaves out an observer that throws, says so once, and goes on with the others', async () => {
    const logged: string[] = [];
    const seen: InspectionEvent[] = [];
    let thrown = 0;
    const server = new ExecServer(createLog('warn', { write: (line) => void logged.push(line) }), {
      inspect: [
        {
          next: () => {
            thrown++;
            throw new Error('broken observer');
          },
        },
        { next: (event) => void seen.push(event) },
      ],
    });
    const { client, wire } = memoryClient();
    server.accept(wire);
    await client.initialize();
    await client.start('p', ['echo', 'unharmed']);
    await client.processClosed('p');
    await server.close('the test is over');
    expect(client.output('p').toString()).to.equal('unharmed\n');
    expect(thrown).to.equal(1);
    expect(logged.length).to.equal(1);
    expect(JSON.parse(logged[0] ?? '')).to.deep.include({
      level: 40,
      msg: 'an observer of the actors failed, and is left out from now on',
    });
    expect(seen.filter(({ type }) => type === '@xstate.actor').length).to.equal(3);
  });
});
