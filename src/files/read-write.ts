import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { encodeBase64 } from '../base64.js';
import { at, invalid, orNothing, type Path } from './errors.js';
import { openRegular, statRegular, type Target } from './open.js';

/** As base64 it still fits into one message: clients take 48 MiB (docs/protocol.md section 1). */
export const MAX_FILE_BYTES = 34 * 1024 * 1024;

/** Read at a time: a multiple of 3, so that the base64 of the blocks can be put together. */
const BLOCK_BYTES = 3 * 256 * 1024;

const tooLarge = (path: Path, maxBytes: number): Error =>
  invalid(path, `too large to be read at once: more than ${maxBytes} bytes; fs/open reads it in blocks`);

/** Fills the buffer from `position` on; less only at the end of the file. */
export const readFully = async (
  path: Path,
  handle: FileHandle,
  buffer: Buffer,
  position: number,
): Promise<Buffer> => {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await at(
      path,
      handle.read(buffer, length, buffer.length - length, position + length),
    );
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
};

/** Bytes that a file may have when it is read; one of /proc says 0 and has some. */
export const expectedBytes = async (target: Target, maxBytes = MAX_FILE_BYTES): Promise<number> => {
  const { size } = await statRegular(target);
  if (size > maxBytes) throw tooLarge(target.path, maxBytes);
  return size === 0 ? maxBytes : size;
};

/**
 * A regular file as base64: what it held when it was opened. What is appended meanwhile is left out; where a
 * file does not say how large it is (those of /proc), everything up to its end. Rejects above `maxBytes`.
 */
export const readFile = async (target: Target, maxBytes = MAX_FILE_BYTES): Promise<string> => {
  const { path } = target;
  const { handle, size } = await openRegular(target, constants.O_RDONLY);
  try {
    if (size > maxBytes) throw tooLarge(path, maxBytes);
    const end = size === 0 ? maxBytes + 1 : size;
    const buffer = Buffer.allocUnsafe(Math.min(end, BLOCK_BYTES));
    let base64 = '';
    for (let position = 0; position < end;) {
      const wanted = buffer.subarray(0, Math.min(buffer.length, end - position));
      const block = await readFully(path, handle, wanted, position);
      base64 += encodeBase64(block);
      position += block.length;
      if (position > maxBytes) throw tooLarge(path, maxBytes);
      if (block.length < wanted.length) break;
    }
    return base64;
  } finally {
    await handle.close();
  }
};

/** Creates a file with this content, or gives an existing one this content; its mode stays. */
export const writeFile = async (target: Target, data: Uint8Array): Promise<void> => {
  await orNothing(statRegular(target));
  const { O_WRONLY, O_CREAT, O_TRUNC } = constants;
  const { handle } = await openRegular(target, O_WRONLY | O_CREAT | O_TRUNC);
  try {
    await at(target.path, handle.writeFile(data));
  } finally {
    await handle.close();
  }
};
