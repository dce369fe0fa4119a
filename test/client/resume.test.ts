import { expect } from 'chai';
import { ExecServerClient, SessionLostError } from '../../src/client/index.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { cleanup, cookie } from '../support/environment.js';
import { listenLocal } from '../support/local.js';

const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...cookie };

const connect = async (url: string, options: { resumeWindow?: number } = {}): Promise<ExecServerClient> => {
  const client = await ExecServerClient.connectWebSocket({ url, resume: true, ...options });
  cleanup(() => client.close());
  return client;
};

describe('a client that resumes', () => {
  it('shows every line once and types every key once, however often the network is cut', async () => {
    const { url } = await listenLocal();
    const proxy = await CuttingProxy.before(url);
    const client = await connect(proxy.url);
    const lines = 400_000;
    const echo = await client.start({ argv: ['cat'], env, pipeStdin: true });
    // read from its start on: nothing else is awaited in between
    const printer = await client.start({ argv: ['seq', '-f', '%012.0f', String(lines)], env });

    const printed = (async () => {
      let next = 1;
      let rest = '';
      let cutAt = 10_000;
      for await (const text of printer.stdout.text()) {
        const whole = (rest + text).split('\n');
        rest = whole.pop() ?? '';
        for (const line of whole)
          if (Number(line) !== next++) throw new Error(`line ${line} instead of ${next - 1}`);
        if (next > cutAt && proxy.cuts < 20) {
          proxy.cut();
          cutAt = next + 15_000;
        }
      }
      return next - 1;
    })();
    const typed = (async () => {
      for (let key = 0; key < 300; key++) await echo.write(`${key},`);
      await echo.end();
    })();
    const echoed = (async () => {
      let text = '';
      for await (const part of echo.stdout.text()) text += part;
      return text;
    })();

    await typed;
    expect(await echoed).to.equal(Array.from({ length: 300 }, (_, key) => `${key},`).join(''));
    expect(await printed).to.equal(lines);
    expect(proxy.cuts).to.equal(20);
    expect(await printer.exit).to.deep.equal({ exitCode: 0, signal: null, reason: 'exited' });
    expect(await echo.exit).to.deep.equal({ exitCode: 0, signal: null, reason: 'exited' });
  }).timeout(60_000);

  it('repeats a start whose answer was lost, and the process runs once', async () => {
    const { url } = await listenLocal();
    const proxy = await CuttingProxy.before(url);
    const client = await connect(proxy.url);
    for (let run = 0; run < 10; run++) {
      const started = client.run(['sh', '-c', 'echo ran; sleep 0.05'], { env });
      setImmediate(() => proxy.cut());
      expect((await started).stdout).to.equal('ran\n');
    }
  });

  it('learns of an exit that it missed', async () => {
    const { url } = await listenLocal();
    const proxy = await CuttingProxy.before(url);
    const client = await connect(proxy.url);
    const process = await client.start({
      argv: ['sh', '-c', 'read line; echo last; exit 7'],
      env,
      pipeStdin: true,
    });
    await process.write('\n');
    proxy.cut();
    expect(await process.exit).to.deep.equal({ exitCode: 7, signal: null, reason: 'exited' });
    let output = '';
    for await (const text of process.stdout.text()) output += text;
    expect(output).to.equal('last\n');
    await process.closed;
  });

  it('gives up when the session is gone, with SessionLostError for everything that waits', async () => {
    const { url } = await listenLocal({ detachedTtlMs: 1 });
    const proxy = await CuttingProxy.before(url);
    const client = await connect(proxy.url);
    const process = await client.start({ argv: ['sleep', '60'], env });
    proxy.cut();
    const error = await process.exit.catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(SessionLostError);
    expect(error).to.include({ code: 'SESSION_LOST', name: 'SessionLostError' });
    expect(client.rpc.ended).to.equal(error);
  });

  it('gives up when there is no server any more in its window', async () => {
    const { url, stop } = await listenLocal();
    const client = await connect(url, { resumeWindow: 200 });
    const disconnected = new Promise((resolve) => client.rpc.on('disconnected', resolve));
    await stop();
    expect(await disconnected).to.be.instanceOf(SessionLostError);
  });

  it('can be closed while it tries', async () => {
    const { url, stop } = await listenLocal();
    const client = await connect(url);
    const disconnected = new Promise((resolve) => client.rpc.on('disconnected', resolve));
    await stop();
    await client.close();
    expect(await disconnected).to.include({ code: 'CLOSED' });
  });
});
