import type { Result, Stream } from '../protocol.js';
import { OutputLostError, ServerError } from './errors.js';

/** A piece of output, as the server numbered it. */
export type OutputChunk = {
  readonly seq: number;
  /** `pty` for all that a terminal shows. */
  readonly stream: Stream;
  readonly data: Uint8Array;
};

/** The newest output is kept for who begins to read late: more than most commands print. */
const HELD_BYTES = 256 * 1024;

/** A chunk of a few bytes costs some hundred. */
const HELD_CHUNKS = 4096;

type Reader = {
  /** The number of the last chunk that it was given. */
  seq: number;
  recovered: OutputChunk[];
  wake: () => void;
};

/** The output of a process for any number of readers, each of which sees all of it. */
export class OutputBuffer implements AsyncIterable<OutputChunk> {
  readonly #chunks: OutputChunk[] = [];
  #bytes = 0;
  /** So many of the chunks were taken by every reader, and acknowledged. */
  #taken = 0;
  /** The number of the last chunk that was let go of. */
  #droppedSeq = 0;
  #exitSeq = 0;
  #ended = false;
  #error: unknown;
  /** Readers begin after this number. */
  #begin = 0;
  /** Does the process wait for its readers? */
  #holdsBack = true;
  readonly #readers = new Set<Reader>();

  /**
   * @param fetch process/read after a number
   * @param acknowledge told of bytes that every reader has taken: the server may send as many
   */
  constructor(
    private readonly fetch: (afterSeq: number) => Promise<Result<'process/read'>>,
    private readonly acknowledge: (bytes: number) => void,
  ) {}

  /**
   * For a process that ran before: readers begin after this number, for what was before is not to be had.
   * Output is kept as for a reader until the function returned is called.
   */
  beginAfter(seq: number): () => void {
    this.#begin = seq;
    const place: Reader = { seq, recovered: [], wake: () => undefined };
    this.#readers.add(place);
    return () => {
      this.#readers.delete(place);
      this.#trim();
    };
  }

  push(chunk: OutputChunk): void {
    if (this.#error !== undefined) {
      this.acknowledge(chunk.data.length);
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.data.length;
    this.#wake();
    this.#trim();
  }

  /** The exit has a number, too. */
  exited(seq: number): void {
    this.#exitSeq = seq;
  }

  /** There will be no more. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Every reader gets this error after what it can still read. */
  fail(error: unknown): void {
    this.#error ??= error;
    this.flow();
    this.end();
  }

  /** From now on the process waits for no reader: it is being ended, so little can still come. */
  flow(): void {
    this.#holdsBack = false;
    this.#trim();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<OutputChunk, void> {
    const reader: Reader = { seq: this.#begin, recovered: [], wake: () => undefined };
    this.#readers.add(reader);
    try {
      for (let chunk = await this.#next(reader); chunk !== undefined; chunk = await this.#next(reader)) {
        yield chunk;
      }
    } finally {
      this.#readers.delete(reader);
      this.#trim();
    }
  }

  /** The next chunk for this reader; undefined at the end. */
  async #next(reader: Reader): Promise<OutputChunk | undefined> {
    for (;;) {
      const isBehind = this.#droppedSeq > reader.seq;
      const chunk = reader.recovered.shift() ?? (isBehind ? undefined : this.#held(reader.seq));
      if (chunk !== undefined) {
        reader.seq = chunk.seq;
        this.#trim();
        return chunk;
      }
      if (isBehind) await this.#recover(reader);
      else if (this.#error !== undefined) throw this.#error;
      else if (this.#ended) return undefined;
      else
        await new Promise<void>((resolve) => {
          reader.wake = resolve;
        });
    }
  }

  /** The first chunk after this number (they ascend: a binary search). */
  #held(afterSeq: number): OutputChunk | undefined {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const chunk = this.#chunks[middle];
      if (chunk !== undefined && chunk.seq <= afterSeq) low = middle + 1;
      else high = middle;
    }
    return this.#chunks[low];
  }

  /** Gets what was let go of before this reader came. */
  async #recover(reader: Reader): Promise<void> {
    const { chunks } = await this.fetch(reader.seq).catch((error: unknown) => {
      throw error instanceof ServerError ? outputLost(error) : error;
    });
    const [first] = chunks;
    const expected = reader.seq + 1 === this.#exitSeq ? reader.seq + 2 : reader.seq + 1;
    if (first === undefined || first.seq > expected) throw outputLost();
    reader.recovered = chunks
      .filter(({ seq }) => seq <= this.#droppedSeq)
      .map(({ seq, stream, chunk }) => ({ seq, stream, data: chunk.data }));
  }

  #wake(): void {
    for (const reader of this.#readers) reader.wake();
  }

  /** Acknowledges what every reader has had, and lets go of the oldest of it. */
  #trim(): void {
    const read = Math.min(...[...this.#readers].map(({ seq }) => seq));
    for (; this.#taken < this.#chunks.length; this.#taken++) {
      const chunk = this.#chunks[this.#taken];
      if (chunk === undefined || (this.#holdsBack && chunk.seq > read)) break;
      this.acknowledge(chunk.data.length);
    }
    let count = 0;
    for (const { seq, data } of this.#chunks) {
      const isKept = this.#bytes <= HELD_BYTES && this.#chunks.length - count <= HELD_CHUNKS;
      if (isKept || seq > read || count === this.#taken) break;
      count++;
      this.#bytes -= data.length;
      this.#droppedSeq = seq;
    }
    if (count === 0) return;
    this.#chunks.splice(0, count);
    this.#taken -= count;
  }
}

const outputLost = (cause?: ServerError): OutputLostError =>
  new OutputLostError(
    'the beginning of the output is not kept any more: read it from the start of the process on',
    { cause },
  );

/** UTF-8 as it is: a byte order mark stays, as it does in Node's own decoding. */
export const textDecoder = (): InstanceType<typeof TextDecoder> =>
  new TextDecoder('utf-8', { ignoreBOM: true });

/** One stream of a process's output: bytes, or text. Each iteration sees all of it. */
export class OutputStream implements AsyncIterable<Uint8Array> {
  constructor(
    private readonly output: AsyncIterable<OutputChunk>,
    private readonly streams: ReadonlySet<Stream>,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    for await (const { stream, data } of this.output) if (this.streams.has(stream)) yield data;
  }

  /**
   * The same as text (UTF-8). A character that was cut in two by the chunks comes whole.
   *
   * @example
   * for await (const text of process.stdout.text()) show(text);
   */
  async *text(): AsyncGenerator<string, void> {
    const decoder = textDecoder();
    for await (const data of this) {
      const text = decoder.decode(data, { stream: true });
      if (text !== '') yield text;
    }
    const rest = decoder.decode();
    if (rest !== '') yield rest;
  }
}
