import type { RawData } from 'ws';

/** A message as `ws` gives it, in one piece. */
export const bytesOf = (data: RawData): Buffer => {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
};
