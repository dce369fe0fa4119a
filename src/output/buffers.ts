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

/** The wire has let go of it. */
export const giveBuffer = (buffer: Buffer): void => {
  if (free.length < KEPT) free.push(buffer);
};
