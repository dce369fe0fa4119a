import path from 'node:path';
import type { TestClient } from '../support/client.js';
import { temporaryDirectory } from '../support/files.js';
import { connectLocal } from '../support/local.js';

/** A client of a server in this process, and a directory of its own: anew for each test of a group with `setUp()`. */
export let client: TestClient;
export let root: string;
export let at: (name: string) => string;

/** In each group, not for the whole file: that would be for all files of a run. */
export const setUp = (): void => {
  beforeEach(async () => {
    root = temporaryDirectory();
    at = (name) => path.join(root, name);
    client = await connectLocal();
  });
};
