import type { Readable, Writable } from 'node:stream';
import { LineSplitter } from '../../wire/lines.js';
import { after } from '../deadline.js';
import { MAX_MESSAGE_BYTES, parseJson, type Transport } from '../transport.js';

/** A server that does not end its output so long after its input has ended is not waited for. */
const CLOSE_TIMEOUT_MS = 500;

/**
 * Lines over a pair of streams.
 *
 * @param readable what the server says; destroyed by `close`
 * @param writable what the server hears; ended by `close`
 */
export const streamTransport = (readable: Readable, writable: Writable): Transport => {
  let closed = false;
  const over = new Promise<string>((resolve) => {
    const end = (reason: string): void => {
      closed = true;
      resolve(reason);
    };
    readable.once('end', () => end('the server closed its output'));
    readable.once('close', () => end('the server closed its output'));
    readable.on('error', (error) => end(`reading failed: ${error.message}`));
    writable.on('error', (error) => end(`writing failed: ${error.message}`));
  });
  return {
    open: (events) => {
      const splitter = new LineSplitter(MAX_MESSAGE_BYTES, {
        line: (text) => events.message(parseJson(text)),
        notUtf8: () => events.message(undefined),
        tooLong: () => readable.destroy(new Error(`a message of more than ${MAX_MESSAGE_BYTES} bytes`)),
      });
      readable.on('data', (data: Buffer) => splitter.push(data));
      void over.then((reason) => events.closed(reason));
    },
    send: (message) => {
      if (!closed) writable.write(`${JSON.stringify(message)}\n`);
    },
    close: async () => {
      writable.end();
      const cancel = after(CLOSE_TIMEOUT_MS, () => readable.destroy());
      await over;
      cancel();
      readable.destroy();
      writable.destroy();
    },
  };
};
