/**
 * What the compiler must say about the client. Nothing here runs: `npm run types` is the test, and a line
 * under @ts-expect-error that does compile is an error of it.
 */
import type { Bytes } from '../../src/base64.js';
import type { ExecServerClient, ExitStatus, RemoteProcess, RunResult } from '../../src/client/index.js';

type Equal<A, B> = [A, B] extends [B, A] ? true : false;
const same = <A, B>(_equal: Equal<A, B>): void => undefined;

export const rpc = async (client: ExecServerClient): Promise<void> => {
  const read = await client.rpc.call('process/read', { processId: 'p' });
  same<typeof read.nextSeq, number>(true);
  same<typeof read.exitCode, number | null>(true);
  read.chunks satisfies readonly {
    readonly seq: number;
    readonly stream: 'stdout' | 'stderr' | 'pty';
    readonly chunk: Bytes;
  }[];
  await client.rpc.call('process/read', { processId: 'p', afterSeq: 1, maxBytes: undefined, waitMs: 5 });

  const { running } = await client.rpc.call('process/terminate', { processId: 'p' });
  same<typeof running, boolean>(true);
  const { status } = await client.rpc.call('process/write', {
    processId: 'p',
    chunk: read.chunks[0]?.chunk ?? never(),
  });
  same<typeof status, 'accepted' | 'unknownProcess' | 'starting' | 'stdinClosed'>(true);

  // @ts-expect-error there is no such method
  await client.rpc.call('process/red', { processId: 'p' });
  // @ts-expect-error processId is missing
  await client.rpc.call('process/read', {});
  // @ts-expect-error afterSeq is a number
  await client.rpc.call('process/read', { processId: 'p', afterSeq: '1' });
  // @ts-expect-error no signal of that name
  await client.rpc.call('process/signal', { processId: 'p', signal: 'SIGINT' });
  // @ts-expect-error emitting is the client's own business
  client.rpc.emit('disconnected', new Error());

  client.rpc.on('output', (event) => {
    same<typeof event.seq, number>(true);
    same<typeof event.chunk, Bytes>(true);
  });
  client.rpc.on('disconnected', (error) => same<typeof error, Error>(true));
};

export const processes = async (client: ExecServerClient): Promise<void> => {
  const process = await client.start({ argv: ['true'] });
  same<typeof process, RemoteProcess>(true);
  const exit = await process.exit;
  same<typeof exit, ExitStatus>(true);
  same<typeof exit.signal, string | null>(true);
  for await (const { stream } of process.output) same<typeof stream, 'stdout' | 'stderr' | 'pty'>(true);
  for await (const bytes of process.stdout) same<typeof bytes, Uint8Array>(true);
  for await (const text of process.stderr.text()) same<typeof text, string>(true);
  const result = await client.run(['true'], { input: new Blob(['x']).stream() });
  same<typeof result, RunResult>(true);
  same<typeof result.stdout, string>(true);
  // @ts-expect-error argv is missing
  await client.start({});
  // @ts-expect-error run decides about stdin by its input
  await client.run(['true'], { pipeStdin: true });
};

const never = (): never => {
  throw new Error('nothing here runs');
};
