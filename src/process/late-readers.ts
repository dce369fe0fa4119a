import fs from 'node:fs';

/**
 * Somebody who opens a FIFO for reading waits until somebody opens it for writing, though it had a writer
 * before and still holds data; with a pipe it would go on. So a program that opens /dev/stdin after its
 * input was closed (`sh -c 'cat /dev/stdin'` with short input) would wait for ever. It is let in by
 * opening the FIFO for writing for a moment, now and then, as long as the child lives.
 */
export type LateReaders = { destroy(): void };

/** Each time twice as long as before, so nobody waits longer than it took to come: up to the last. */
const FIRST_MS = 2;
const LAST_MS = 500;

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants;

/** The FIFO behind a descriptor, to be opened once more; its name has been removed. */
const reopen = (descriptor: number, flags: number): number =>
  fs.openSync(`/proc/self/fd/${descriptor}`, flags);

/**
 * @param writer the server's end, about to be closed
 * @returns undefined where there is no /proc; there, opening /dev/stdin duplicates the descriptor, and waits for nobody
 */
export const admitLateReaders = (writer: number): LateReaders | undefined => {
  let reader: number;
  try {
    reader = reopen(writer, O_RDONLY | O_NONBLOCK);
  } catch {
    return undefined; // no /proc, or no descriptor left: then late readers wait
  }
  let delay = FIRST_MS;
  const admit = (): void => {
    try {
      fs.closeSync(reopen(reader, O_WRONLY | O_NONBLOCK));
    } catch {
      // no descriptor left just now: the next time
    }
    delay = Math.min(delay * 2, LAST_MS);
    timer = setTimeout(admit, delay);
  };
  let timer = setTimeout(admit, delay);
  return {
    destroy: () => {
      clearTimeout(timer);
      fs.closeSync(reader);
    },
  };
};
