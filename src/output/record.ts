import type { EndReason, Stream } from '../protocol.js';
import type { Block } from './blocks.js';

/** Output of one stream, contiguous in its block. */
export type Chunk = {
  readonly kind: 'chunk';
  readonly seq: number;
  readonly stream: Stream;
  readonly block: Block;
  readonly start: number;
  length: number;
};

/** The end of a process has its place in the order of its output. */
export type Exit = {
  readonly kind: 'exited';
  readonly seq: number;
  readonly exitCode: number;
  readonly signal: string | null;
  readonly reason: EndReason;
};
export type Close = { readonly kind: 'closed'; readonly seq: number };
export type LogRecord = Chunk | Exit | Close;
