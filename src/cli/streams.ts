import type { Readable, Writable } from 'node:stream';
import { ExecServerError } from '../client/errors.js';
import type { RemoteProcess } from '../client/index.js';
import { OutputError } from './failure.js';

/** Writes, and resolves when all is written. Rejects with OutputError. */
export const write = (stream: Writable, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(data, (cause) => {
      if (cause === null || cause === undefined) resolve();
      else reject(new OutputError(`cannot write the output: ${cause.message}`, { cause }));
    });
  });

/** Keeps a stream whose writes are waited for from throwing as well: each failed write tells its writer. */
export const watchErrors = (stream: Writable): void => {
  stream.on('error', () => undefined);
};

/**
 * Passes everything that comes to the process's stdin, and the end of it, no faster than it is taken. When the
 * process takes no more, `input` is destroyed: who writes there learns of it.
 */
export const feed = async (input: Readable, remote: RemoteProcess): Promise<void> => {
  try {
    for await (const data of input) await remote.write(data);
    await remote.end();
  } catch (error) {
    // it has ended or closed its stdin, or the connection is gone: the end of its output tells
    if (!(error instanceof ExecServerError)) throw error;
  }
};
