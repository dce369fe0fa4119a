import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

/** A socket can't be made where it was asked for; the message says why, and what to do. */
export class UnixSocketError extends Error {
  override readonly name = 'UnixSocketError';
}

/** What the kernel takes (sun_path, less its NUL): node would cut a longer one, or say `EINVAL`. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** Nobody but the owner. */
const OWNER_ONLY = 0o700;
const OTHERS = 0o077;

/** Makes the directory of a socket, if there is none, or sees that nobody else may enter it. */
const secureDirectory = (directory: string): void => {
  if (fs.mkdirSync(directory, { recursive: true, mode: OWNER_ONLY }) !== undefined) {
    fs.chmodSync(directory, OWNER_ONLY); // a umask may have taken some of it
    return;
  }
  const { mode, uid } = fs.statSync(directory);
  const fault =
    uid !== process.getuid?.()
      ? 'belongs to another user'
      : (mode & OTHERS) !== 0
        ? 'is open to others'
        : undefined;
  if (fault === undefined) return;
  throw new UnixSocketError(
    `its directory ${directory} ${fault}; put it into one that is yours alone (mode 700), ` +
      `for instance ${path.join(directory, 'exec-server')}: it is made if it is missing`,
  );
};

/** Whether somebody listens there. Rejects if that can't be known. */
const isAnswered = (file: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = net.connect(file);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else reject(error);
    });
  });

const lookAt = (file: string): fs.Stats | undefined => fs.lstatSync(file, { throwIfNoEntry: false });

/** Removes what a server left that was killed. What somebody answers at stays, and what is no socket. */
const removeStale = async (file: string): Promise<void> => {
  const found = lookAt(file);
  if (found === undefined) return;
  if (!found.isSocket()) throw new UnixSocketError('there is a file of that name, which is no socket');
  if (await isAnswered(file)) throw new UnixSocketError('another server answers there');
  // another one may have started meanwhile
  if (lookAt(file)?.ino === found.ino) fs.unlinkSync(file);
};

/**
 * Makes a server listen on a Unix socket that is its owner's alone: mode 0600, in a directory of mode 0700.
 * node removes the file when the server is closed. Rejects with UnixSocketError, or the system's error.
 *
 * @param file an absolute path
 */
export const listenOnUnixSocket = async (server: net.Server, file: string): Promise<void> => {
  if (Buffer.byteLength(file) > MAX_PATH_BYTES) {
    throw new UnixSocketError(`the path of a socket has at most ${MAX_PATH_BYTES} bytes; take a shorter one`);
  }
  secureDirectory(path.dirname(file));
  await removeStale(file);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(file, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // until here its directory guards it, whatever the umask made of its own mode
  fs.chmodSync(file, 0o600);
};
