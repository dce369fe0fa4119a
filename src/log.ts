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
 * One JSON line an event, on stderr: stdout is the protocol. Written at once, so that the last line before
 * a crash is there too. Callers never log environment values, tokens, output, or arguments beyond the
 * name of the program.
 */
export const createLog = (
  level: LogLevel,
  destination: DestinationStream = pino.destination({ dest: 2, sync: true }),
): Log =>
  pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: plainError } },
    destination,
  );
