import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { MaxBufferError } from '../../src/client/index.js';
import { connectInProcess, env, launch, rejection } from '../support/clients.js';

const MIB = 1024 * 1024;

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Bytes in which every place is recognized. */
const distinct = (length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(Math.imul(at, 0x9e3779b1) >>> 0, at);
  return bytes;
};

describe('client.run', () => {
  it('gives what a program prints on stdout and stderr apart, and how it ended', async () => {
    const client = await connectInProcess();
    const script = 'printf "\\303\\244\\n\\357\\273\\277"; echo no >&2; exit 7';
    expect(await client.run(['sh', '-c', script], { env })).to.deep.equal({
      exitCode: 7,
      signal: null,
      reason: 'exited',
      stdout: 'ä\n\uFEFF',
      stderr: 'no\n',
    });
    const killed = await client.run(['sh', '-c', 'kill -KILL $$'], { env });
    expect(killed).to.include({ exitCode: 137, signal: 'SIGKILL' });
  });

  it('gives bytes, if asked', async () => {
    const client = await connectInProcess();
    const { stdout, stderr } = await client.runBytes(['sh', '-c', 'printf "\\377\\000"; printf x >&2'], {
      env,
    });
    expect([...stdout]).to.deep.equal([255, 0]);
    expect([...stderr]).to.deep.equal([120]);
  });

  it('gives all that a terminal shows as stdout', async () => {
    const client = await connectInProcess();
    const { stdout, stderr } = await client.run(['sh', '-c', 'echo a; echo b >&2'], { env, tty: true });
    expect({ stdout, stderr }).to.deep.equal({ stdout: 'a\r\nb\r\n', stderr: '' });
  });

  it('writes its input: text, bytes, or what an iterable gives; without any, stdin is at its end', async () => {
    const client = await connectInProcess();
    const inputs = ['ä€😀', Buffer.from('bytes'), Readable.from(['one ', Buffer.from('two')]), ''];
    const outputs = await Promise.all(
      inputs.map(async (input) => (await client.run(['cat'], { env, input })).stdout),
    );
    expect(outputs).to.deep.equal(['ä€😀', 'bytes', 'one two', '']);
    expect((await client.run(['cat'], { env })).stdout).to.equal('');
  });

  it('is done when the program has ended, though it has not read its input', async () => {
    const client = await connectInProcess();
    const long = await client.run(['head', '-c', '1'], { env, input: Buffer.alloc(8 * MIB, 'x') });
    expect(long).to.include({ exitCode: 0, stdout: 'x' });
    const endless: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
    };
    expect(await client.run(['true'], { env, input: endless })).to.include({ exitCode: 0 });
  });

  it('rejects with the error of its input, and ends the program', async () => {
    const client = await connectInProcess();
    const failure = new Error('the disk is on fire');
    const failing = async function* (): AsyncGenerator<string> {
      yield 'one\n';
      throw failure;
    };
    expect(await rejection(client.run(['cat'], { env, input: failing() }), Error)).to.equal(failure);
    const { processes } = await client.rpc.call('process/list', {});
    expect(processes.map(({ exitCode }) => exitCode)).to.deep.equal([137]);
  });

  it('rejects with MaxBufferError when there is more output than is wanted, and ends the program', async () => {
    const client = await connectInProcess();
    const exact = await client.run(['head', '-c', '1000', '/dev/zero'], { env, maxBuffer: 1000 });
    expect(exact.stdout).to.have.lengthOf(1000);
    const script = 'exec yes >&2';
    const error = await rejection(client.run(['sh', '-c', script], { env, maxBuffer: 1000 }), MaxBufferError);
    expect(error).to.include({
      code: 'MAX_BUFFER',
      message: 'more than 1000 bytes on stderr; raise maxBuffer, or read the output of start()',
    });
    const { processes } = await client.rpc.call('process/list', {});
    expect(processes.map(({ state }) => state)).to.deep.equal(['retained', 'retained']);
  });

  it('rejects with AbortError or TimeoutError, and ends the program', async () => {
    const client = await connectInProcess();
    const aborting = new AbortController();
    // when run has been told that it is started
    client.rpc.on('output', () => setImmediate(() => aborting.abort()));
    const { signal } = aborting;
    expect(await rejection(client.run(['yes'], { env, signal }), DOMException)).to.equal(signal.reason);
    const { processes } = await client.rpc.call('process/list', {});
    expect(processes.map(({ state }) => state)).to.deep.equal(['retained']);
    const late = await rejection(client.run(['yes'], { env, timeoutMs: 20 }), DOMException);
    expect(late).to.include({ name: 'TimeoutError', message: 'yes ran for more than 20 ms' });
  });

  it('carries 50 MiB of input and 50 MiB of output unharmed, over stdio', async () => {
    const client = await launch();
    const input = distinct(50 * MIB);
    const { stdout } = await client.runBytes(['cat'], { env, input });
    expect(stdout).to.have.lengthOf(input.length);
    expect(digest(stdout)).to.equal(digest(input));
  });

  it('runs a hundred programs at a time', async () => {
    const client = await launch();
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        client.run(['sh', '-c', `cat; exit ${at}`], { env, input: `${at}` }),
      ),
    );
    expect(results.map(({ exitCode, stdout }) => [exitCode, stdout])).to.deep.equal(
      Array.from({ length: 100 }, (_, at) => [at, String(at)]),
    );
  });
});
