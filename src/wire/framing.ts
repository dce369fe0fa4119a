import type { Framing } from './wire.js';

const NEWLINE = Buffer.from('\n');

/** One message a line; JSON text has no newline of its own. */
export const lineFraming: Framing = {
  frame: (payload) => [payload, NEWLINE],
  writeHeader: (_out, at) => at,
  trailer: NEWLINE,
};

const FIN = 0x80;
const TEXT = 0x1;
const CONTINUATION = 0x0;

/** Clients close the connection on longer frames (16 MiB in the one most used; docs/protocol.md section 1). */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;

/** RFC 6455 section 5.2: unmasked, as a server sends. */
const writeFrameHeader = (out: Buffer, at: number, length: number, firstByte: number): number => {
  out[at] = firstByte;
  if (length < 126) {
    out[at + 1] = length;
    return at + 2;
  }
  if (length < 65_536) {
    out[at + 1] = 126;
    return out.writeUInt16BE(length, at + 2);
  }
  out[at + 1] = 127;
  return out.writeUIntBE(length, out.writeUInt16BE(0, at + 2), 6);
};

const frameHeader = (length: number, firstByte: number): Buffer => {
  const header = Buffer.alloc(10);
  return header.subarray(0, writeFrameHeader(header, 0, length, firstByte));
};

/**
 * WebSocket frames made here, because output is encoded straight into the buffer that is sent; `ws.send`
 * would copy it once more and take a callback a message.
 */
export const webSocketFraming: Framing = {
  frame: (payload) => {
    const parts: Buffer[] = [];
    let start = 0;
    do {
      const part = payload.subarray(start, start + MAX_FRAME_BYTES);
      const opcode = start === 0 ? TEXT : CONTINUATION;
      start += MAX_FRAME_BYTES;
      parts.push(frameHeader(part.length, opcode | (start >= payload.length ? FIN : 0)), part);
    } while (start < payload.length);
    return parts;
  },
  writeHeader: (out, at, length) => writeFrameHeader(out, at, length, FIN | TEXT),
  trailer: Buffer.alloc(0),
};
