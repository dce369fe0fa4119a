import fs from 'node:fs';

/** O_CLOEXEC in the flags of /proc/PID/fdinfo, which are octal. */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes what this process got from its parent above stderr, or every child would inherit it. Node opens
 * all of its own descriptors close-on-exec. Without /proc nothing is closed.
 */
export const closeInheritedDescriptors = (): void => {
  // an IPC channel is Node's, and was made close-on-exec by it
  let descriptors: string[];
  try {
    descriptors = fs.readdirSync('/proc/self/fd');
  } catch {
    return; // no /proc
  }
  for (const descriptor of descriptors.map(Number).filter((number) => number > 2)) {
    try {
      const flags = /^flags:\s*([0-7]+)/m.exec(
        fs.readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'),
      )?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) fs.closeSync(descriptor);
    } catch {
      // it was the one that readdir used
    }
  }
};
