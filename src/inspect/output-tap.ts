import type { OutputLog } from '../output/log.js';
import type { OutputChunk } from './messages.js';

/** One message to a page has at most so much output: 1.3 MB a second at ten messages, more than anybody reads. */
const MAX_BYTES = 128 * 1024;

/**
 * Reads the output of one process for a page: what is retained, then what comes. It asks the log now and then, as
 * `process/read` does; the log knows nothing of it, keeps nothing for it, and no process waits for it.
 */
export class OutputTap {
  #afterSeq = 0;
  /** Bytes that were taken here or skipped: all before this place. */
  #place = 0;

  constructor(private readonly log: OutputLog) {}

  /** The next output, and how many bytes before it were gone already. Undefined: there is nothing new. */
  next(): { readonly chunks: readonly OutputChunk[]; readonly skipped: number } | undefined {
    if (this.#afterSeq === this.log.nextSeq - 1) return undefined;
    const { chunks, nextSeq } = this.log.page(this.#afterSeq, MAX_BYTES, true);
    const skipped = Math.max(0, this.log.droppedBytes - this.#place);
    this.#afterSeq = nextSeq - 1;
    this.#place += skipped + chunks.reduce((sum, { length }) => sum + length, 0);
    return {
      chunks: chunks.map(({ stream, block, start, length }) => ({
        stream,
        base64: block.bytes.subarray(start, start + length).toString('base64'),
      })),
      skipped,
    };
  }
}
