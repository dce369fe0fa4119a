import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

/** One allocation in so many bytes is looked at: some thousands in what is measured here, so it is 2 % off at most. */
const SAMPLE_EVERY_BYTES = 16 * 1024;

const bytesBelow = ({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number =>
  children.reduce((sum, child) => sum + bytesBelow(child), selfSize);

/** Bytes that are allocated on the heap of JavaScript while something runs, also those that are freed again. */
export const heapBytesOf = async (work: () => Promise<void>): Promise<number> => {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: SAMPLE_EVERY_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await work();
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return bytesBelow(profile.head);
  } finally {
    session.disconnect();
  }
};

type Method = (...args: unknown[]) => unknown;

/** Has `counted` called at each call of a method; answers how to end that. */
const watch = (
  owner: object,
  name: string,
  counted: (self: unknown, args: readonly unknown[]) => void,
): (() => void) => {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  if (before === undefined) throw new Error(`no ${name}`);
  const method: Method = before.value;
  const value = function (this: unknown, ...args: unknown[]): unknown {
    counted(this, args);
    return Reflect.apply(method, this, args);
  };
  Object.defineProperty(owner, name, { ...before, value });
  return () => void Object.defineProperty(owner, name, before);
};

const lengthOf = (bytes: unknown): number => (bytes instanceof Uint8Array ? bytes.length : 0);

/** Runs something while these are watched. */
const during = async (work: () => Promise<void>, watched: readonly (() => void)[]): Promise<void> => {
  try {
    await work();
  } finally {
    for (const end of watched) end();
  }
};

/** Bytes that one buffer gets from another while something runs, by `set`, `copy` and `concat`. */
export const bytesCopiedBy = async (work: () => Promise<void>): Promise<number> => {
  let bytes = 0;
  const typedArray: object = Reflect.getPrototypeOf(Uint8Array.prototype) ?? {};
  await during(work, [
    watch(typedArray, 'set', (_target, [source]) => {
      bytes += lengthOf(source);
    }),
    watch(Buffer.prototype, 'copy', (source, [, , start = 0, end = lengthOf(source)]) => {
      bytes += Number(end) - Number(start);
    }),
    watch(Buffer, 'concat', (_class, [parts]) => {
      if (Array.isArray(parts)) for (const part of parts) bytes += lengthOf(part);
    }),
  ]);
  return bytes;
};

/** Bytes of the buffers that are made by length while something runs. */
export const bufferBytesOf = async (work: () => Promise<void>): Promise<number> => {
  let bytes = 0;
  const count = (_class: unknown, [length]: readonly unknown[]): void => {
    bytes += Number(length);
  };
  await during(
    work,
    ['alloc', 'allocUnsafe', 'allocUnsafeSlow'].map((name) => watch(Buffer, name, count)),
  );
  return bytes;
};
