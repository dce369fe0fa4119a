import fs from 'node:fs';

/** Reused: thousands of files are read at a time. A stat is shorter, an environment may need several. */
const buffer = Buffer.allocUnsafe(64 * 1024);

/**
 * A file of /proc or /sys, which has no size before it is read: readFileSync makes a buffer of 64 KiB for each.
 *
 * @returns undefined: there is none; its process is gone, or another user's
 */
export const readKernelFile = (file: string): string | undefined => {
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(file, 'r');
    let text = '';
    for (;;) {
      const length = fs.readSync(descriptor, buffer, 0, buffer.length, null);
      text += buffer.toString('latin1', 0, length);
      if (length < buffer.length) return text;
    }
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
};
