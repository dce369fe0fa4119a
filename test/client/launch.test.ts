import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import {
  ClosedError,
  InitializeTimeoutError,
  launchExecServer,
  SpawnFailedError,
} from '../../src/client/index.js';
import { collect, env, launch, rejection } from '../support/clients.js';
import { cleanup, cookie } from '../support/environment.js';

const LOOK_EVERY_MS = 10;
const END_MS = 3_000;

const isAlive = (pid: number): boolean => fs.existsSync(`/proc/${pid}`);

/** Resolves when none of them is there any more. */
const gone = async (...pids: number[]): Promise<void> => {
  for (const end = Date.now() + END_MS; Date.now() < end; await sleep(LOOK_EVERY_MS)) {
    if (!pids.some(isAlive)) return;
  }
  throw new Error(`still there: ${pids.filter(isAlive).join(', ')}`);
};

/** Rejections that nobody handles, until the test is over. */
const unhandledRejections = (): unknown[] => {
  const reasons: unknown[] = [];
  const note = (reason: unknown): void => void reasons.push(reason);
  process.on('unhandledRejection', note);
  cleanup(() => void process.off('unhandledRejection', note));
  return reasons;
};

describe('launchExecServer', () => {
  it('initializes before it resolves; the server ends with the client', async () => {
    const client = await launch();
    const { stdout } = await client.run(['sh', '-c', 'echo $PPID'], { env });
    expect(isAlive(Number(stdout))).to.equal(true);
    await client.close();
    expect(isAlive(Number(stdout))).to.equal(false);
  });

  it('rejects with SpawnFailedError when there is no such program, or it cannot be run', async () => {
    const missing = await rejection(launchExecServer({ command: 'no-such-exec-server' }), SpawnFailedError);
    expect(missing).to.include({
      code: 'SPAWN_FAILED',
      message: 'cannot start no-such-exec-server: spawn no-such-exec-server ENOENT',
    });
    const unfit = await rejection(launchExecServer({ command: 'true', args: ['a\0b'] }), SpawnFailedError);
    expect(unfit.message).to.match(/^cannot start true: .*without null bytes/);
  });

  it('rejects with ClosedError when the program ends at once, and tells how', async () => {
    const ended = await rejection(launchExecServer({ command: 'true' }), ClosedError);
    expect(ended.message).to.equal('the connection to the server is closed: true exited with code 0');
    const args = ['-c', 'kill -ABRT $$'];
    const aborted = await rejection(launchExecServer({ command: 'sh', args }), ClosedError);
    expect(aborted.message).to.equal('the connection to the server is closed: sh was killed by SIGABRT');
  });

  it('rejects with InitializeTimeoutError when the program says nothing, and ends it', async () => {
    const silent = launchExecServer({
      command: 'sleep',
      args: ['60'],
      env: { ...process.env, ...cookie },
      initializeTimeout: 30,
    });
    const error = await rejection(silent, InitializeTimeoutError);
    expect(error.message).to.equal('the server did not answer initialize within 30 ms');
  });

  it('rejects everything that waits when the server is killed amid output', async () => {
    const unhandled = unhandledRejections();
    const client = await launch();
    const flood = await client.start({ argv: ['sh', '-c', 'echo $PPID; exec yes'], env });
    const quiet = await client.start({ argv: ['cat'], env, pipeStdin: true });
    const stalled = collect(quiet.stdout.text());
    const polled = client.rpc.call('process/read', { processId: quiet.processId, waitMs: 60_000 });
    const run = client.run(['cat'], { env, input: new PendingInput() });
    let isKilled = false;
    const reading = (async () => {
      for await (const text of flood.stdout.text()) {
        if (isKilled) continue;
        isKilled = true;
        process.kill(Number.parseInt(text, 10), 'SIGKILL');
      }
    })();
    const waiting = [reading, stalled, polled, run, flood.exit, flood.closed, quiet.exit, quiet.closed];
    for (const error of await Promise.all(waiting.map((promise) => rejection(promise, ClosedError)))) {
      expect(error.message).to.equal(
        `the connection to the server is closed: ${process.execPath} was killed by SIGKILL`,
      );
    }
    await rejection(client.run(['true']), ClosedError);
    await rejection(quiet.write('x'), ClosedError);
    await flood[Symbol.asyncDispose]();
    await client.close();
    await sleep(0);
    expect(unhandled).to.deep.equal([]);
  });

  it('ends the server and all that it runs when this process is killed', async () => {
    const fixture = fileURLToPath(new URL('../fixtures/parent.mjs', import.meta.url));
    const parent = spawn(process.execPath, [fixture], {
      env: { ...process.env, ...cookie },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    cleanup(() => void parent.kill('SIGKILL'));
    const [data]: Buffer[] = await once(parent.stdout, 'data');
    const [server, sleeper] = String(data).split(' ').map(Number);
    if (server === undefined || sleeper === undefined) throw new Error(`no pids: ${String(data)}`);
    expect([server, sleeper].map(isAlive)).to.deep.equal([true, true]);
    parent.kill('SIGKILL');
    await once(parent, 'close');
    await gone(server, sleeper);
  });
});

/** Input that never comes. */
class PendingInput implements AsyncIterable<string> {
  [Symbol.asyncIterator](): AsyncIterator<string> {
    return { next: () => new Promise(() => undefined) };
  }
}
