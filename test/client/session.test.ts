import { expect } from 'chai';
import {
  ClosedError,
  ConnectTimeoutError,
  ExecServerClient,
  type RemoteProcess,
  ServerError,
  SessionLostError,
} from '../../src/client/index.js';
import { cleanup, cookie } from '../support/environment.js';
import { launchListener } from '../support/client.js';
import { CuttingProxy } from '../support/cutting-proxy.js';

const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...cookie };

type Options = { sessionId?: string; resume?: boolean; connectTimeout?: number };

const connect = async (url: string, options: Options = {}): Promise<ExecServerClient> => {
  const client = await ExecServerClient.connectWebSocket({ url, resume: true, ...options });
  cleanup(() => client.close());
  return client;
};

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const stdoutOf = async (remote: RemoteProcess): Promise<string> => {
  let text = '';
  for await (const part of remote.stdout.text()) text += part;
  return text;
};

describe('a session that a client leaves', () => {
  it('is taken up by another: what was printed, what is typed, and the end', async () => {
    const { url } = await launchListener();
    const first = await connect(url);
    const started = await first.start({ argv: ['cat'], env, pipeStdin: true });
    await started.write('one\n');
    const exit = failure(started.exit);
    const sessionId = await first.detach();
    expect(sessionId).to.equal(first.sessionId);
    expect(await exit).to.be.instanceOf(ClosedError);

    const second = await connect(url, { sessionId });
    expect(second.sessionId).to.equal(sessionId);
    const [summary, ...others] = await second.list();
    expect(others).to.deep.equal([]);
    expect(summary).to.include({ processId: 'process-1', state: 'running', tty: false, exitCode: null });
    const remote = await second.attach('process-1');
    expect(await second.attach('process-1')).to.equal(remote);
    // with the write id of the first write the server would take it for that one
    await remote.write('two\n');
    await remote.end();
    expect(await stdoutOf(remote)).to.equal('one\ntwo\n');
    expect(await remote.exit).to.deep.equal({ exitCode: 0, signal: null, reason: 'exited' });
    await remote.closed;
    expect(remote.droppedBytes).to.equal(0);

    // its id is new in the session
    expect((await second.run(['echo', 'three'], { env })).stdout).to.equal('three\n');
  });

  it('keeps what has ended there: output, exit code and close', async () => {
    const { url } = await launchListener();
    const first = await connect(url);
    const started = await first.start({ argv: ['sh', '-c', 'echo out; echo err >&2; exit 7'], env });
    await started.closed;
    const second = await connect(url, { sessionId: await first.detach() });
    const remote = await second.attach(started.processId);
    const output: string[] = [];
    for await (const { stream, data } of remote.output)
      output.push(`${stream} ${Buffer.from(data).toString()}`);
    expect(output.toSorted()).to.deep.equal(['stderr err\n', 'stdout out\n']);
    expect(await remote.exit).to.deep.equal({ exitCode: 7, signal: null, reason: 'exited' });
    await remote.closed;
  });

  it('tells how much of the beginning is gone, and goes on from there', async () => {
    const { url } = await launchListener();
    const first = await connect(url);
    // stdin ends with the shell: the output comes after the exit, and only the last of it is kept
    const script = '(read x; seq 100001 200000) <&0 & exit 5';
    const started = await first.start({
      argv: ['sh', '-c', script],
      env,
      pipeStdin: true,
      outputBytesCap: 10_000,
    });
    await started.exit;
    await started.closed;
    const second = await connect(url, { sessionId: await first.detach() });
    const remote = await second.attach(started.processId);
    const text = await stdoutOf(remote);
    expect(remote.droppedBytes + text.length).to.equal(700_000);
    expect(remote.droppedBytes).to.be.above(0);
    expect(text).to.match(/\n200000\n$/);
    expect(await remote.exit).to.deep.equal({ exitCode: 5, signal: null, reason: 'exited' });
    await remote.closed;
  });

  it('goes on with a process of which more is gone than may be on its way', async () => {
    const { url } = await launchListener();
    const first = await connect(url);
    const script = 'seq 100001 400000; read x; seq 400001 700000';
    const options = { env, pipeStdin: true, outputBytesCap: 10_000 };
    const started = await first.start({ argv: ['sh', '-c', script], ...options });
    let length = 0;
    for await (const data of started.stdout) if ((length += data.length) === 2_100_000) break;
    const second = await connect(url, { sessionId: await first.detach() });
    const remote = await second.attach(started.processId);
    await remote.write('\n');
    const text = await stdoutOf(remote);
    expect(remote.droppedBytes).to.be.above(1024 * 1024);
    expect(remote.droppedBytes + text.length).to.equal(4_200_000);
  });

  it('loses no line of a process that waited for somebody to read it, nor when the network is cut', async () => {
    const { url } = await launchListener();
    const proxy = await CuttingProxy.before(url);
    const first = await connect(url);
    const last = 400_000;
    const started = await first.start({ argv: ['seq', String(last)], env, outputBytesCap: 4 * 1024 * 1024 });
    const second = await connect(proxy.url, { sessionId: await first.detach() });
    const remote = await second.attach(started.processId);
    let lines = 0;
    let rest = '';
    for await (const text of remote.stdout.text()) {
      const whole = (rest + text).split('\n');
      rest = whole.pop() ?? '';
      for (const line of whole) if (Number(line) !== ++lines) throw new Error(`line ${line}, not ${lines}`);
      if (lines > 100_000 && proxy.cuts === 0) proxy.cut();
    }
    expect({ lines, dropped: remote.droppedBytes }).to.deep.equal({ lines: last, dropped: 0 });
    expect(await remote.exit).to.deep.equal({ exitCode: 0, signal: null, reason: 'exited' });
  });

  it('is waited for while another client has it, and refused in words', async () => {
    const { url } = await launchListener();
    const first = await connect(url);
    const { sessionId } = first;
    const error = await failure(connect(url, { sessionId, connectTimeout: 120 }));
    expect(error).to.be.instanceOf(ConnectTimeoutError);
    expect(error).to.have.property(
      'message',
      `session ${sessionId} at ${url} was in use by another client for 120 ms; detach that one, ` +
        'or wait until the server has noticed that its connection is lost (90 s at most)',
    );
    const second = connect(url, { sessionId });
    await first.detach();
    expect((await second).sessionId).to.equal(sessionId);

    const lost = await failure(connect(url, { sessionId: 'nope' }));
    expect(lost).to.be.instanceOf(SessionLostError);
    expect(lost).to.have.property(
      'message',
      `${url} has no session nope: it has ended, or was not resumed within the server's --detached-ttl`,
    );
  });

  it('is left only by a client that resumes, and not by close(), which ends what runs there', async () => {
    const { url } = await launchListener();
    const plain = await connect(url, { resume: false });
    expect(await failure(plain.detach())).to.be.instanceOf(TypeError);
    const unknown = await failure(plain.attach('nope'));
    expect(unknown).to.be.instanceOf(ServerError);
    expect(unknown).to.have.property('message', 'process/read: unknown process id nope');

    const client = await connect(url);
    const { processId } = await client.start({ argv: ['sleep', '300'], env });
    await client.close();
    const second = await connect(url, { sessionId: client.sessionId });
    expect((await (await second.attach(processId)).exit).exitCode).to.equal(137);
  });
});
