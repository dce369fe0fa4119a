import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';

export type Log = Logger;

export const logLevels = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/** What went wrong and where, without the properties of the error: they may quote arguments or output. */
const plainError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return typeof error;
  const { type, message, stack } = stdSerializers.err(error);
  return { type, message, stack };
};

/**
 * So much waits for a disk that is full; what comes after that is dropped. A server whose log cannot be
 * written goes on without it.
 */
const MAX_WAITING_BYTES = 1024 * 1024;

const standardError = (): DestinationStream =>
  pino
    .destination({ dest: 2, sync: true, maxLength: MAX_WAITING_BYTES })
    // ENOSPC: the next line tries again. EPIPE: pino stops writing. Nobody is left to be told
    .on('error', () => undefined);

/**
 * One JSON line an event, on stderr: stdout is the protocol. Written at once, so that the last line before
 * a crash is there too. Callers never log environment values, tokens, output, or arguments beyond the
 * name of the program.
 */
export const createLog = (level: LogLevel, destination: DestinationStream = standardError()): Log =>
  pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: plainError } },
    destination,
  );
