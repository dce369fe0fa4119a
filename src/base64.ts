/**
 * Bytes that came over the wire. A class and not a bare Buffer, so that whoever turns an event or a
 * snapshot into JSON (the inspector does) sees how many there are, never what they are.
 */
export class Bytes {
  constructor(readonly data: Uint8Array) {}

  toJSON(): { byteLength: number } {
    return { byteLength: this.data.byteLength };
  }
}

/**
 * Decodes standard base64 with padding (RFC 4648 section 4) and nothing else: no white space, no
 * URL-safe alphabet, no missing padding, no stray bits in the last symbol (docs/protocol.md section 1).
 * Returns undefined for anything else.
 *
 * `Buffer.from` decodes all of those silently; encoding the result again and comparing finds them out.
 * The usual regular expression overflows the stack on 40 MB.
 */
export const decodeBase64 = (text: string): Uint8Array | undefined => {
  if (text.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
};

/** Encodes bytes as standard base64 with padding. */
export const encodeBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
