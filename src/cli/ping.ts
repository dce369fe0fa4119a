import type { InferredOptionTypes } from 'yargs';
import { type Command, type Context, last, UsageError } from './command.js';
import { connect, connectOption, serverName, serverToken, serverUrl } from './connect.js';
import { failureOf, NoAnswerError } from './failure.js';
import { watchErrors, write } from './streams.js';

/** As long as the client gives a handshake: who asks for a server's health wants to be told. */
const ANSWER_TIMEOUT_MS = 10_000;

const MAX_COUNT = 10_000;

const options = {
  ...connectOption,
  count: {
    type: 'number',
    requiresArg: true,
    default: 1,
    coerce: last<number>,
    describe: 'so many round trips, one after the other',
  },
  json: { type: 'boolean', default: false, describe: 'one JSON object on stdout' },
} as const;

const milliseconds = (since: number): number => Math.round((performance.now() - since) * 1000) / 1000;

/** Rejects when it takes too long. */
const inTime = async <T>(answer: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new NoAnswerError(`no answer within ${ANSWER_TIMEOUT_MS} ms`)),
      ANSWER_TIMEOUT_MS,
    );
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
};

const ping = async (url: string | undefined, token: string | undefined, count: number): Promise<Measured> => {
  const begun = performance.now();
  const { client, close } = await connect(url, 'exec-server ping', { token });
  try {
    const handshakeMs = milliseconds(begun);
    const roundTripsMs: number[] = [];
    for (let trip = 0; trip < count; trip++) {
      const sent = performance.now();
      await inTime(client.rpc.call('environment/status', {}));
      roundTripsMs.push(milliseconds(sent));
    }
    return { version: client.environmentInfo.executorVersion, handshakeMs, roundTripsMs };
  } finally {
    await close();
  }
};

type Measured = {
  readonly version: string;
  readonly handshakeMs: number;
  readonly roundTripsMs: readonly number[];
};

const inWords = (server: string, { version, handshakeMs, roundTripsMs }: Measured): string =>
  [
    `${server}: exec-server ${version}, handshake ${handshakeMs.toFixed(1)} ms`,
    ...roundTripsMs.map((trip) => `round trip ${trip.toFixed(2)} ms`),
    '',
  ].join('\n');

export const pingCommand: Command<InferredOptionTypes<typeof options>> = {
  name: 'ping',
  describe: 'connect to a server and measure the time of its answers; exit status 0, or 125 without them',
  options: (parser) => parser.options(options),
  run: async ({ connect: option, tokenFile, count, json }, { stdout }: Context) => {
    const url = serverUrl(option);
    const token = serverToken(tokenFile, url);
    if (!Number.isInteger(count) || count < 0 || count > MAX_COUNT) {
      throw new UsageError(`--count must be a whole number from 0 to ${MAX_COUNT}`);
    }
    for (const stream of [stdout, process.stderr]) watchErrors(stream);
    const server = serverName(url);
    try {
      const measured = await ping(url, token, count);
      await write(stdout, json ? `${JSON.stringify({ server, ...measured })}\n` : inWords(server, measured));
      return 0;
    } catch (error) {
      const { status, line } = failureOf(error, server);
      if (line !== undefined) process.stderr.write(`exec-server: ${line}\n`);
      return status;
    }
  },
};
