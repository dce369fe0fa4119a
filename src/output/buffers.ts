/** Three turns of output (see Outbox): one write to a wire. */
export const BUFFER_BYTES = 288 * 1024;

/** No more are kept: the others are only needed while many wires are blocked at the same time. */
const KEPT = 4;

const free: Buffer[] = [];

/**
 * A buffer to encode into. Most writes are taken by the kernel before the next is encoded, so all
 * connections share one; only a wire that is blocked keeps its own.
 */
export const takeBuffer = (): Buffer => free.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);

/** A read of the 1 MiB that is retained by default, as base64. */
const LARGE_BYTES = 1536 * 1024;

let large: Buffer | undefined;

/** For one long answer. A new one each time costs 350 page faults, as much as the encoding. */
export const takeLarge = (bytes: number): Buffer => {
  if (bytes > LARGE_BYTES) return Buffer.allocUnsafeSlow(bytes);
  const buffer = large ?? Buffer.allocUnsafeSlow(LARGE_BYTES);
  large = undefined;
  return buffer.subarray(0, bytes);
};

/** The answer has left. */
export const giveLarge = ({ buffer }: Buffer): void => {
  if (buffer.byteLength === LARGE_BYTES) large = Buffer.from(buffer);
};

/** The wire has let go of it. */
export const giveBuffer = (buffer: Buffer): void => {
  if (free.length < KEPT) free.push(buffer);
};
