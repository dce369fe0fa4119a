import { takeLarge } from './buffers.js';
import type { Framing } from '../wire/wire.js';
import type { Chunk, LogRecord } from './record.js';

/** Which names the notifications of a process have (docs/protocol.md, The names of the first README). */
export type NotificationNames = {
  readonly output: 'process/output' | 'command/exec/outputDelta';
  readonly exited: 'process/exited' | 'command/exec/exited';
  readonly closed: 'process/closed' | null;
};

export const processNames: NotificationNames = {
  output: 'process/output',
  exited: 'process/exited',
  closed: 'process/closed',
};

export const commandNames: NotificationNames = {
  output: 'command/exec/outputDelta',
  exited: 'command/exec/exited',
  closed: null,
};

const OUTPUT_END = Buffer.from('"}}');

/** More than the digits of a sequence number and a frame header together. */
const SLACK = 64;

const base64Of = ({ block, start, length }: Chunk): string =>
  block.bytes.toString('base64', start, start + length);

const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/**
 * Writes the notifications of one process into a buffer. All of an output notification but its number and
 * its bytes is made once; the bytes go from the log's block to the buffer as base64 (0.1 CPU s/GiB, where
 * JSON.stringify takes 2.2). A test holds the result equal to what the codecs encode.
 */
export class NotificationEncoder {
  readonly #prefix: Buffer;
  readonly #middle = new Map<string, Buffer>();
  readonly #processId: string;

  constructor(
    processId: string,
    readonly names: NotificationNames,
  ) {
    this.#processId = JSON.stringify(processId);
    this.#prefix = Buffer.from(`{"method":"${names.output}","params":{"processId":${this.#processId},"seq":`);
  }

  /** The most bytes that `encodeOutput` may write for this chunk. */
  sizeOf(chunk: Chunk): number {
    return this.#prefix.length + this.#middleOf(chunk.stream).length + base64Length(chunk.length) + SLACK;
  }

  /** Writes one framed output notification, and answers where it ends. */
  encodeOutput(chunk: Chunk, framing: Framing, out: Buffer, at: number): number {
    const middle = this.#middleOf(chunk.stream);
    const seq = String(chunk.seq);
    const encoded = base64Length(chunk.length);
    const payload = this.#prefix.length + seq.length + middle.length + encoded + OUTPUT_END.length;
    let end = framing.writeHeader(out, at, payload);
    end += this.#prefix.copy(out, end);
    end += out.write(seq, end, 'latin1');
    end += middle.copy(out, end);
    end += out.write(base64Of(chunk), end, 'latin1');
    end += OUTPUT_END.copy(out, end);
    return end + framing.trailer.copy(out, end);
  }

  /** The text of a notification; undefined where this process has none of this kind. */
  encode(record: LogRecord): string | undefined {
    const { output, exited, closed } = this.names;
    const params = `"params":{"processId":${this.#processId},"seq":${record.seq}`;
    if (record.kind === 'chunk') {
      return `{"method":"${output}",${params},"stream":"${record.stream}","chunk":"${base64Of(record)}"}}`;
    }
    if (record.kind === 'closed') return closed === null ? undefined : `{"method":"${closed}",${params}}}`;
    const { exitCode, signal, reason } = record;
    return `{"method":"${exited}",${params},"exitCode":${exitCode},"signal":${JSON.stringify(signal)},"sandboxDenied":false,"reason":"${reason}"}}`;
  }

  #middleOf(stream: string): Buffer {
    let middle = this.#middle.get(stream);
    if (middle === undefined) {
      middle = Buffer.from(`,"stream":"${stream}","chunk":"`);
      this.#middle.set(stream, middle);
    }
    return middle;
  }
}

/** A shorter answer is cheaply made anew. */
const SMALL_ANSWER_BYTES = 64 * 1024;

/**
 * JSON text with chunks in it, comma-separated: the answer to process/read. Written straight into the buffer
 * that is sent; as one string, made and then encoded, 1 MiB took eleven times as long (4.1 ms, now 0.4).
 *
 * @returns to be given to `giveLarge` when it has left
 */
export const encodeAround = (head: string, chunks: readonly Chunk[], tail: string): Buffer => {
  const prefixes = chunks.map(
    ({ seq, stream }, index) => `${index > 0 ? ',' : ''}{"seq":${seq},"stream":"${stream}","chunk":"`,
  );
  const end = '"}';
  let size = Buffer.byteLength(head) + Buffer.byteLength(tail);
  for (const prefix of prefixes) size += prefix.length;
  for (const { length } of chunks) size += base64Length(length) + end.length;
  const out = size < SMALL_ANSWER_BYTES ? Buffer.allocUnsafe(size) : takeLarge(size);
  let at = out.write(head);
  chunks.forEach((chunk, index) => {
    at += out.write(prefixes[index] ?? '', at, 'latin1');
    at += out.write(base64Of(chunk), at, 'latin1');
    at += out.write(end, at, 'latin1');
  });
  out.write(tail, at);
  return out;
};
