import { PassThrough } from 'node:stream';
import { streamWire } from './stdio.js';
import type { Wire } from './wire.js';

/** Two wires joined to each other: what one writes, the other reads. For tests and for embedding. */
export const memoryWires = (maxMessageBytes = 64 * 1024 * 1024): readonly [Wire, Wire] => {
  const there = new PassThrough();
  const back = new PassThrough();
  return [
    streamWire('memory a', there, back, maxMessageBytes),
    streamWire('memory b', back, there, maxMessageBytes),
  ];
};
