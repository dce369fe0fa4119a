import type { Readable, Writable } from 'node:stream';
import { lineFraming } from './framing.js';
import { LineSplitter } from './lines.js';
import { StreamWriter } from './stream-writer.js';
import type { Wire, WireEvents } from './wire.js';

/**
 * Messages as lines over a pair of streams: the standard streams of the server, or a client's ends.
 *
 * @param maxMessageBytes a longer line closes the wire
 */
export const streamWire = (
  name: string,
  input: Readable,
  output: Writable,
  maxMessageBytes: number,
): Wire => {
  let events: WireEvents | undefined;
  let closed = false;

  const writer = new StreamWriter(output, () => events?.drain());

  const close = (reason: string): void => {
    if (closed) return;
    closed = true;
    input.off('data', onData);
    input.pause();
    events?.closed(reason);
  };

  const splitter = new LineSplitter(maxMessageBytes, {
    line: (text) => {
      if (!closed) events?.message(text);
    },
    notUtf8: () => {
      if (!closed) events?.malformed('the message is not UTF-8');
    },
    tooLong: () => close(`a message of more than ${maxMessageBytes} bytes`),
  });

  const onData = (data: Buffer): void => splitter.push(data);

  return {
    name,
    framing: lineFraming,
    canResume: false,
    open: (listener) => {
      events = listener;
      input.on('data', onData);
      input.on('end', () => {
        splitter.end();
        if (!closed) listener.ended();
      });
      input.on('error', (error) => close(`reading failed: ${error.message}`));
      // EPIPE: the reader went away
      output.on('error', (error) => close(`writing failed: ${error.message}`));
      output.on('close', () => close('the output was closed'));
    },
    write: (bytes) => writer.write(bytes),
    pause: () => input.pause(),
    resume: () => input.resume(),
    close,
  };
};
