import { PassThrough } from 'node:stream';
import { streamWire } from './stdio.js';
import type { Wire } from './wire.js';

/** Two wires joined to each other: what one writes, the other reads. For tests and for embedding. */
export const memoryWires = (maxMessageBytes = 64 * 1024 * 1024): readonly [Wire, Wire] => {
  const there = new PassThrough();
  const back = new PassThrough();
  const end = (name: string, input: PassThrough, output: PassThrough): Wire => {
    const wire = streamWire(name, input, output, maxMessageBytes);
    const close = (reason: string): void => {
      wire.close(reason);
      output.end();
    };
    return { ...wire, close };
  };
  return [end('memory a', there, back), end('memory b', back, there)];
};
