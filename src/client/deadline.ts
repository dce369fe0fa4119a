/** Timers hold no more (2^31-1 ms, 24.8 days); a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Calls back after so many milliseconds (`Infinity`: in 24.8 days), unless the function returned is called. */
export const after = (ms: number, callback: () => void): (() => void) => {
  const timer = setTimeout(callback, Math.min(ms, LONGEST_MS));
  return () => clearTimeout(timer);
};

/** What the promise gives; rejects with `late()` if that takes longer than so many milliseconds. */
export const within = <T>(ms: number, promise: Promise<T>, late: () => Error): Promise<T> =>
  new Promise((resolve, reject) => {
    const cancel = after(ms, () => reject(late()));
    promise.then(resolve, reject).finally(cancel);
  });
