import os from 'node:os';
import { expect } from 'chai';
import { ServerError, StdinClosedError } from '../../src/client/index.js';
import { collect, connectInProcess, env, rejection } from '../support/clients.js';
import { connectFake } from '../support/fake-server.js';

const WHY_REFUSED = `can't be written to: it has ended or closed its stdin, or was started without pipeStdin`;

describe('client.start', () => {
  it('starts where it is told, with the environment and the name it is told', async () => {
    const client = await connectInProcess();
    const process = await client.start({
      argv: ['sh', '-c', 'pwd; echo $MARK; tr "\\0" " " </proc/$$/cmdline'],
      arg0: 'renamed',
      cwd: '/usr',
      env: { ...env, MARK: 'ä' },
    });
    expect(await collect(process.stdout.text())).to.match(/^\/usr\nä\nrenamed -c /);
  });

  it('starts in the server’s directory with a plain environment if it is told nothing', async () => {
    const client = await connectInProcess();
    const home = os.userInfo().homedir;
    const { stdout } = await client.run(['sh', '-c', 'env; pwd -P']);
    expect(stdout.split('\n').filter((line) => !/^(PWD|_|SHLVL|OLDPWD)=/.test(line))).to.have.members([
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      `HOME=${home}`,
      process.cwd(),
      '',
    ]);
    expect((await client.run(['env'], { tty: true })).stdout).to.include('TERM=xterm-256color\r\n');
  });

  it('starts in a terminal of the size it is told, and of the size it is changed to', async () => {
    const client = await connectInProcess();
    const terminal = await client.start({
      argv: ['sh', '-c', 'stty size; read line; stty size'],
      env,
      tty: true,
      size: { rows: 30, cols: 100 },
    });
    const output = terminal.stdout.text();
    expect((await output.next()).value).to.equal('30 100\r\n');
    await terminal.resize(40, 120);
    await terminal.write('\n');
    expect(await collect(output)).to.equal('\r\n40 120\r\n');
    expect(await collect(terminal.stderr.text())).to.equal('');
  });

  it('rejects with the reason when it can’t be started', async () => {
    const client = await connectInProcess();
    const error = await rejection(client.start({ argv: ['no-such-program'], env }), ServerError);
    expect(error).to.include({
      rpcCode: -32603,
      message: `process/start: cannot run "no-such-program": not found in the PATH of the child's environment`,
    });
    expect(error.data).to.deep.equal({ kind: 'spawnNotFound' });
    const empty = await rejection(client.start({ argv: [] }), ServerError);
    expect(empty).to.include({ rpcCode: -32602, message: 'process/start: argv must not be empty' });
  });

  it('takes no id twice, and leaves the process that has it alone', async () => {
    const client = await connectInProcess();
    const first = await client.start({ argv: ['cat'], env, pipeStdin: true, processId: 'process-1' });
    const second = await rejection(client.start({ argv: ['cat'], env, processId: 'process-1' }), ServerError);
    expect(second).to.include({
      rpcCode: -32600,
      message: 'process/start: process process-1 already exists',
    });
    const other = await client.start({ argv: ['true'], env });
    expect(other.processId).to.equal('process-2');
    await first.end();
    expect(await first.exit).to.deep.equal({ exitCode: 0, signal: null, reason: 'exited' });
  });
});

describe('the stdin of a RemoteProcess', () => {
  it('gets concurrent writes in their order, and then its end', async () => {
    const client = await connectInProcess();
    const process = await client.start({ argv: ['cat'], env, pipeStdin: true });
    const lines = Array.from({ length: 200 }, (_, at) => `line ${at}\n`);
    const written = Promise.all([
      ...lines.map((line, at) => process.write(at % 2 === 0 ? line : Buffer.from(line))),
      process.end(),
    ]);
    expect(await collect(process.stdout.text())).to.equal(lines.join(''));
    await written;
  });

  it('gets a long write in pieces of at most 1 MiB, one after the other', async () => {
    const { client, server } = await connectFake();
    const starting = client.start({ argv: ['cat'], pipeStdin: true });
    await server.starts();
    const process = await starting;
    const bytes = Buffer.alloc(2.5 * 1024 * 1024, 'abcdefg');
    const written = process.write(bytes);
    const pieces: Buffer[] = [];
    for (let count = 1; count <= 3; count++) {
      const request = await server.requested('process/write', count);
      expect(server.requestsOf('process/write')).to.have.lengthOf(count);
      expect(request.params['writeId']).to.equal(String(count));
      pieces.push(Buffer.from(String(request.params['chunk']), 'base64'));
      server.answer(request, { accepted: true, status: 'accepted' });
    }
    await written;
    expect(pieces.map(({ length }) => length)).to.deep.equal([1_048_576, 1_048_576, 524_288]);
    expect(Buffer.concat(pieces).equals(bytes)).to.equal(true);
  });

  it('is refused with StdinClosedError where there is none, after its end, and after the exit', async () => {
    const client = await connectInProcess();
    const without = await client.start({ argv: ['cat'], env, processId: 'without' });
    const refused = await rejection(without.write('x'), StdinClosedError);
    expect(refused).to.include({ code: 'STDIN_CLOSED', message: `without ${WHY_REFUSED}` });

    const ending = await client.start({ argv: ['cat'], env, pipeStdin: true, processId: 'ending' });
    await ending.end();
    expect((await rejection(ending.write(''), StdinClosedError)).message).to.equal(`ending ${WHY_REFUSED}`);
    await ending.closed;
    await rejection(ending.write('x'), StdinClosedError);
  });
});

describe('the end of a RemoteProcess', () => {
  it('tells its exit code, then that all of its output has come', async () => {
    const client = await connectInProcess();
    // the descendant ends when its stdin does, which is after the exit
    const script = '{ cat; echo late; } <&0 & exit 7';
    const process = await client.start({ argv: ['sh', '-c', script], env, pipeStdin: true });
    const order: string[] = [];
    const told = [
      process.exit.then(() => order.push('exit')),
      process.closed.then(() => order.push('closed')),
    ];
    await Promise.all(told);
    expect(await process.exit).to.deep.equal({ exitCode: 7, signal: null, reason: 'exited' });
    expect(order).to.deep.equal(['exit', 'closed']);
    expect(await collect(process.stdout.text())).to.equal('late\n');
  });

  it('tells the signal that killed it', async () => {
    const client = await connectInProcess();
    const process = await client.start({ argv: ['sleep', '60'], env });
    await process.signal('terminate');
    expect(await process.exit).to.deep.equal({ exitCode: 143, signal: 'SIGTERM', reason: 'signalled' });
  });

  it('comes by terminate, which tells whether it was still running', async () => {
    const client = await connectInProcess();
    const process = await client.start({ argv: ['sleep', '60'], env });
    expect(await process.terminate()).to.equal(true);
    await process.closed;
    expect(await process.exit).to.deep.equal({ exitCode: 137, signal: 'SIGKILL', reason: 'terminated' });
    expect(await process.terminate()).to.equal(false);
  });

  it('comes with the end of a block, though an iterator of its output was left standing', async () => {
    const client = await connectInProcess();
    let exit;
    {
      await using process = await client.start({ argv: ['yes'], env });
      await process.stdout[Symbol.asyncIterator]().next();
      exit = process.exit;
    }
    expect(await exit).to.deep.equal({ exitCode: 137, signal: 'SIGKILL', reason: 'terminated' });
    const { processes } = await client.rpc.call('process/list', {});
    expect(processes.map(({ state }) => state)).to.deep.equal(['retained']);
  });

  it('is not asked for where it has come', async () => {
    const { client, server } = await connectFake();
    const aborting = new AbortController();
    const starting = client.start({ argv: ['true'], signal: aborting.signal, timeoutMs: 60_000 });
    const processId = await server.starts();
    const process = await starting;
    server.exited(processId, 1);
    server.closes(processId, 2);
    aborting.abort();
    await process[Symbol.asyncDispose]();
    expect(await process.exit).to.deep.equal({ exitCode: 0, signal: null, reason: null });
    expect(server.requestsOf('process/terminate')).to.deep.equal([]);
  });
});

describe('the signal and the timeout of client.start', () => {
  it('aborted before, nothing is asked of the server', async () => {
    const { client, server } = await connectFake();
    const signal = AbortSignal.abort();
    expect(await rejection(client.start({ argv: ['true'], signal }), Error)).to.equal(signal.reason);
    expect(server.requestsOf('process/start')).to.deep.equal([]);
  });

  it('aborted while it starts, it is cancelled, and a server that is silent is not waited for', async () => {
    const { client, server } = await connectFake();
    const aborting = new AbortController();
    const starting = client.start({ argv: ['true'], signal: aborting.signal, processId: 'p' });
    await server.requested('process/start');
    aborting.abort();
    const error = await rejection(starting, Error);
    expect(error).to.equal(aborting.signal.reason).and.to.include({ name: 'AbortError' });
    expect((await server.requested('process/terminate')).params).to.deep.equal({ processId: 'p' });
  });

  it('aborted later, it is killed, and all that waits for it rejects with the reason', async () => {
    const client = await connectInProcess();
    const aborting = new AbortController();
    const process = await client.start({ argv: ['sleep', '60'], env, signal: aborting.signal });
    const waiting = [process.exit, process.closed, collect(process.stdout.text())];
    const reason = new Error('not wanted any more');
    aborting.abort(reason);
    for (const promise of waiting) expect(await rejection(promise, Error)).to.equal(reason);
    await process[Symbol.asyncDispose]();
    const { processes } = await client.rpc.call('process/list', {});
    expect(processes.map(({ exitCode }) => exitCode)).to.deep.equal([137]);
  });

  it('rejects with the very reason, though it is no error', async () => {
    const client = await connectInProcess();
    const aborting = new AbortController();
    const process = await client.start({ argv: ['sleep', '60'], env, signal: aborting.signal });
    aborting.abort('enough');
    expect(await process.exit.catch((reason: unknown) => reason)).to.equal('enough');
  });

  it('over its time, it is killed, and all that waits for it rejects with a TimeoutError', async () => {
    const { client, server } = await connectFake();
    const starting = client.start({ argv: ['sleep', '60'], timeoutMs: 5 });
    const processId = await server.starts();
    const process = await starting;
    const error = await rejection(process.exit, Error);
    expect(error).to.include({ name: 'TimeoutError', message: 'sleep ran for more than 5 ms' });
    expect(await rejection(process.closed, Error)).to.equal(error);
    expect((await server.requested('process/terminate')).params).to.deep.equal({ processId });
  });

  it('has as much time as there is, if the timeout is endless', async () => {
    const client = await connectInProcess();
    expect(await client.run(['true'], { env, timeoutMs: Infinity })).to.include({ exitCode: 0 });
  });
});
