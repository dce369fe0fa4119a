import type { InferredOptionTypes } from 'yargs';
import type { ExecServerClient } from '../client/index.js';
import type { Stream } from '../protocol.js';
import type { Command } from './command.js';
import {
  findProcess,
  inSession,
  processPositional,
  SESSION_EPILOGUE,
  sessionOptions,
  tellDropped,
} from './session.js';
import { write } from './streams.js';

const options = {
  ...sessionOptions,
  follow: {
    alias: 'f',
    type: 'boolean',
    default: false,
    describe: 'go on with what it prints, until all of its output has come',
  },
} as const;

/** Bytes in an answer: some, so that what reads slowly here makes the server hold no more. */
const PAGE_BYTES = 1024 * 1024;

/** No process has used so many numbers: a read after it tells the next one and nothing else. */
const BEYOND_THE_END = Number.MAX_SAFE_INTEGER;

type Logs = InferredOptionTypes<typeof options> & { process: string };

const show = (stdout: NodeJS.WriteStream, stream: Stream, data: Uint8Array): Promise<void> =>
  write(stream === 'stderr' ? process.stderr : stdout, data);

/** What is retained at this moment. */
const showRetained = async (
  { rpc }: ExecServerClient,
  processId: string,
  stdout: NodeJS.WriteStream,
): Promise<void> => {
  const { nextSeq: end } = await rpc.call('process/read', { processId, afterSeq: BEYOND_THE_END });
  let taken: number | undefined;
  for (let afterSeq = 0; afterSeq < end - 1;) {
    const page = await rpc.call('process/read', { processId, afterSeq, maxBytes: PAGE_BYTES });
    if (page.chunks.length === 0) break;
    if (taken === undefined) tellDropped(page.droppedBytes);
    taken ??= page.droppedBytes;
    for (const { seq, stream, chunk } of page.chunks) {
      await show(stdout, stream, chunk.data);
      taken += chunk.data.length;
      afterSeq = seq;
    }
  }
  // a process that waits for somebody to take its output goes on
  if (taken !== undefined) await rpc.call('process/ack', { processId, bytes: taken });
};

const follow = async (
  client: ExecServerClient,
  processId: string,
  stdout: NodeJS.WriteStream,
): Promise<void> => {
  const remote = await client.attach(processId);
  tellDropped(remote.droppedBytes);
  for await (const { stream, data } of remote.output) await show(stdout, stream, data);
};

/** `exec-server logs`: the output of a process of a session. */
export const logsCommand: Command<Logs> = {
  name: 'logs <process>',
  describe: 'print the output of a process of a session, as far as it is retained',
  options: (parser) =>
    parser.positional('process', processPositional).options(options).epilogue(SESSION_EPILOGUE),
  run: (argv, { stdout }) =>
    inSession(argv, { command: 'logs', stdout }, async (session) => {
      await findProcess(session, argv.process);
      await (argv.follow ? follow : showRetained)(session.client, argv.process, stdout);
      return 0;
    }),
};
