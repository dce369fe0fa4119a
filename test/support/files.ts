import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { cleanup } from './environment.js';

/** A directory of its own for one test, removed afterwards; without links in its path. */
export const temporaryDirectory = (): string => {
  const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'exec-server-test-')));
  cleanup(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
};

/** Files by their paths (text), directories (null) and links (`->TARGET`), made in the order given. */
export const makeTree = (root: string, tree: Readonly<Record<string, string | null>>): void => {
  for (const [name, content] of Object.entries(tree)) {
    const file = path.join(root, name);
    if (content === null) fs.mkdirSync(file, { recursive: true });
    else if (content.startsWith('->')) fs.symlinkSync(content.slice(2), file);
    else {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, content);
    }
  }
};

/** The same, read back. */
export const readTree = (root: string, below = ''): Record<string, string | null> => {
  const tree: Record<string, string | null> = {};
  for (const entry of fs.readdirSync(path.join(root, below), { withFileTypes: true })) {
    const name = path.join(below, entry.name);
    const file = path.join(root, name);
    if (entry.isSymbolicLink()) tree[name] = `->${fs.readlinkSync(file)}`;
    else if (entry.isDirectory()) Object.assign(tree, { [name]: null }, readTree(root, name));
    else tree[name] = fs.readFileSync(file, 'utf8');
  }
  return tree;
};

/** How many descriptors of this process are open on files below a directory. */
export const openBelow = (directory: string): number =>
  fs.readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(directory);
    } catch {
      return false; // the one that readdir used
    }
  }).length;
