/**
 * What is read of a long message without parsing it: an output notification, and the answer to process/read. All
 * but the base64 is within the first and the last bytes of it.
 */
const QUOTE = 0x22;
const PADDING = 0x3d;
const HEAD_BYTES = 320;
const CHUNK = '"chunk":"';

export type OutputHead = {
  readonly processId: string;
  readonly seq: number;
  /** Where the base64 is. */
  readonly start: number;
  readonly end: number;
  /** Of it, decoded. */
  readonly bytes: number;
};

export type ReadSummary = { readonly id: number; readonly bytes: number; readonly nextSeq: number };

const decodedLength = (buffer: Buffer, start: number, end: number): number => {
  if (end === start) return 0;
  const padding = buffer[end - 1] !== PADDING ? 0 : buffer[end - 2] !== PADDING ? 1 : 2;
  return ((end - start) / 4) * 3 - padding;
};

const numberIn = (text: string, name: string): number =>
  Number(new RegExp(`"${name}":(\\d+)`).exec(text)?.[1] ?? NaN);

/** Undefined: it is something else. */
export const scanOutput = (buffer: Buffer, start: number, end: number): OutputHead | undefined => {
  const head = buffer.toString('latin1', start, Math.min(end, start + HEAD_BYTES));
  const key = head.indexOf(CHUNK);
  if (key < 0 || !head.slice(0, 64).includes('"process/output"')) return undefined;
  const from = start + key + CHUNK.length;
  const to = buffer.indexOf(QUOTE, from);
  const idAt = head.indexOf('"processId":"') + '"processId":"'.length;
  return {
    processId: head.slice(idAt, head.indexOf('"', idAt)),
    seq: numberIn(head, 'seq'),
    start: from,
    end: to,
    bytes: decodedLength(buffer, from, to),
  };
};

/** Undefined: it is something else. */
export const scanRead = (buffer: Buffer, start: number, end: number): ReadSummary | undefined => {
  const head = buffer.toString('latin1', start, Math.min(end, start + HEAD_BYTES));
  if (!head.includes('"chunks":[{')) return undefined;
  const message = buffer.subarray(start, end);
  let bytes = 0;
  for (let at = message.indexOf(CHUNK, 0, 'latin1'); at >= 0; at = message.indexOf(CHUNK, at, 'latin1')) {
    const to = message.indexOf(QUOTE, at + CHUNK.length);
    bytes += decodedLength(message, at + CHUNK.length, to);
    at = to;
  }
  const tail = buffer.toString('latin1', Math.max(start, end - HEAD_BYTES), end);
  const id = /^\{"id":(\d+)/.exec(head)?.[1] ?? /"id":(\d+)\}$/.exec(tail)?.[1];
  const nextSeq = numberIn(tail, 'nextSeq');
  return {
    id: Number(id ?? NaN),
    bytes,
    nextSeq: Number.isNaN(nextSeq) ? numberIn(head, 'nextSeq') : nextSeq,
  };
};
