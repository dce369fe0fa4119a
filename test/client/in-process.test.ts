import { expect } from 'chai';
import { ClosedError, ExecServerClient } from '../../src/client/index.js';
import { connectInProcess, env, rejection } from '../support/clients.js';

describe('ExecServerClient.connectInProcess', () => {
  it('initializes before it resolves, and runs programs', async () => {
    const client = await connectInProcess();
    expect(client.sessionId).to.match(/^[0-9a-f-]{36}$/);
    expect(await client.run(['sh', '-c', 'echo out; echo err >&2; exit 3'], { env })).to.deep.equal({
      exitCode: 3,
      signal: null,
      reason: 'exited',
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('is a server of its own for each client', async () => {
    const [one, other] = await Promise.all([connectInProcess(), connectInProcess()]);
    const process = await one.start({ argv: ['sleep', '60'], env, processId: 'p' });
    expect(await other.rpc.call('process/list', {})).to.deep.equal({ processes: [] });
    await other.close();
    expect((await one.rpc.call('process/list', {})).processes).to.have.lengthOf(1);
    await process.terminate();
    expect(await process.exit).to.deep.equal({ exitCode: 137, signal: 'SIGKILL', reason: 'terminated' });
  });

  it('ends all that runs when it is closed, and what waits rejects', async () => {
    const client = await ExecServerClient.connectInProcess();
    const process = await client.start({ argv: ['yes'], env });
    const { value } = await process.stdout[Symbol.asyncIterator]().next();
    expect(value).to.be.instanceOf(Uint8Array);
    const write = client.rpc.call('process/read', {
      processId: process.processId,
      afterSeq: 1e9,
      waitMs: 60_000,
    });
    const waiting = [rejection(process.exit, ClosedError), rejection(write, ClosedError)];
    await client.close();
    for (const { message } of await Promise.all(waiting)) expect(message).to.equal('the client was closed');
  });

  it('ends with its block', async () => {
    let kept: ExecServerClient;
    {
      await using client = await ExecServerClient.connectInProcess();
      kept = client;
    }
    await rejection(kept.run(['true']), ClosedError);
  });
});
