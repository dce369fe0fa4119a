import type { ArgumentsCamelCase, InferredOptionTypes } from 'yargs';
import type { ExecServerClient, ProcessSummary } from '../client/index.js';
import { last, UsageError } from './command.js';
import { connectOption, resumeSession, serverToken, serverUrl } from './connect.js';
import { failureOf, NoProcessError } from './failure.js';
import { watchErrors } from './streams.js';

export const sessionOptions = {
  ...connectOption,
  connect: {
    ...connectOption.connect,
    describe: 'its server, `ws://HOST:PORT` or `ws+unix:PATH`; default: EXEC_SERVER_URL',
  },
  session: {
    type: 'string',
    requiresArg: true,
    demandOption: true,
    coerce: last<string>,
    describe: 'the id of the session, which `run --detach` and the detach key tell',
  },
} as const;

/** For the commands about one process. */
export const processPositional = {
  type: 'string',
  demandOption: true,
  describe: 'its id, as `exec-server ps` shows it',
} as const;

/** The end of their help. */
export const SESSION_EPILOGUE = `A session without a client is kept for the server's --detached-ttl, which begins anew after each command.

Exit status: 2 if the words here can't be used, 125 if the server or the session could not be reached`;

type SessionArguments = ArgumentsCamelCase<InferredOptionTypes<typeof sessionOptions>>;

/** A session that this command holds, and how a user finds it. */
export type HeldSession = {
  readonly client: ExecServerClient;
  readonly url: string;
  readonly tokenFile: string | undefined;
  readonly sessionId: string;
};

/**
 * Does something in a session, and leaves it for the next command. Resolves with the exit status; says on
 * stderr what went wrong.
 */
export const inSession = async (
  { connect, tokenFile, session: sessionId }: SessionArguments,
  { command, stdout }: { readonly command: string; readonly stdout: NodeJS.WriteStream },
  task: (session: HeldSession) => Promise<number>,
): Promise<number> => {
  const url = serverUrl(connect);
  if (url === undefined) {
    throw new UsageError(`${command} needs the server of the session: --connect URL, or EXEC_SERVER_URL`);
  }
  const token = serverToken(tokenFile, url);
  for (const stream of [stdout, process.stderr]) watchErrors(stream);
  try {
    const client = await resumeSession(url, sessionId, { clientName: `exec-server ${command}`, token });
    try {
      return await task({ client, url, tokenFile, sessionId });
    } finally {
      if (client.rpc.ended === undefined) await client.detach();
    }
  } catch (error) {
    const { status, line } = failureOf(error, url);
    if (line !== undefined) process.stderr.write(`exec-server: ${line}\n`);
    return status;
  }
};

/** Rejects with NoProcessError. */
export const findProcess = async (session: HeldSession, processId: string): Promise<ProcessSummary> => {
  const { client, sessionId } = session;
  const found = (await client.list()).find((process) => process.processId === processId);
  if (found !== undefined) return found;
  const list = `exec-server ps ${sessionWords(session)}`;
  throw new NoProcessError(`session ${sessionId} has no process ${processId}; see which it has: ${list}`);
};

/** As a shell takes it. */
const quoted = (word: string): string =>
  /^[\w:./@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** What is needed to come back to a session. A token that came by the environment is there the next time too. */
type SessionAddress = Omit<HeldSession, 'client'>;

const sessionWords = ({ url, tokenFile, sessionId }: SessionAddress): string =>
  [
    `--connect ${quoted(url)}`,
    ...(tokenFile === undefined ? [] : [`--token-file ${quoted(tokenFile)}`]),
    `--session ${quoted(sessionId)}`,
  ].join(' ');

/** The command that goes on with a process that was left. */
export const attachWords = (session: SessionAddress, processId: string): string =>
  `exec-server attach ${sessionWords(session)} ${quoted(processId)}`;

/** Tells that the beginning of some output is not there any more; it isn't an error. */
export const tellDropped = (bytes: number): void => {
  if (bytes > 0)
    process.stderr.write(`exec-server: the first ${bytes} bytes of its output are not kept any more\n`);
};
