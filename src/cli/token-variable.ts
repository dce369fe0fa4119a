import fs from 'node:fs';

const NAME = 'EXEC_SERVER_TOKEN';

/** In /proc/self/stat, counted from the one after the program's name; proc(5) has env_start as number 50. */
const ENV_START_FIELD = 50 - 3;

/**
 * Overwrites the value in the memory that /proc/PID/environ shows: what this process runs, as the same user, could
 * read it there for as long as the process lives.
 */
const eraseFromProc = (): void => {
  let memory: number | undefined;
  try {
    const before = Buffer.from(`\0${NAME}=`);
    const environ = Buffer.concat([Buffer.from('\0'), fs.readFileSync('/proc/self/environ')]);
    const start = Number(
      fs
        .readFileSync('/proc/self/stat', 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ')[ENV_START_FIELD],
    );
    const found = environ.indexOf(before);
    if (found < 0 || !(start > 0)) return;
    const value = found + before.length;
    const length = environ.indexOf(0, value) - value;
    memory = fs.openSync('/proc/self/mem', 'r+');
    // one less: a byte was put before what is at `start`
    if (length > 0) fs.writeSync(memory, Buffer.alloc(length), 0, length, start + value - 1);
  } catch {
    // no /proc, or one that can't be written: SECURITY.md says what that means
  } finally {
    if (memory !== undefined) fs.closeSync(memory);
  }
};

/** The token in this process's environment, once: it is gone afterwards, for whatever is started or shown later. */
export const takeTokenVariable = (): string | undefined => {
  const token = process.env[NAME];
  if (token === undefined) return undefined;
  delete process.env[NAME];
  eraseFromProc();
  return token;
};
