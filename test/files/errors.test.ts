import fs from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { fileError } from '../../src/files/errors.js';
import { cleanup } from '../support/environment.js';
import { makeTree } from '../support/files.js';
import { at, client, root, setUp } from './set-up.js';

const NOBODY = 65_534;

/** From here to the end of the test this process may read what its user may: root may read everything. */
const giveUpRoot = (): void => {
  if (process.getuid?.() !== 0) return;
  fs.chownSync(root, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  cleanup(() => process.seteuid?.(0));
};

const uri = (name: string): string => pathToFileURL(at(name)).href;

const walkOptions = { maxDepth: 9, maxDirectories: 99, maxEntries: 99, followDirectorySymlinks: false };

describe('where permission is denied', () => {
  setUp();

  beforeEach(() => {
    makeTree(root, { secret: 'text', 'closed/f': '', 'z/f': '' });
    fs.chmodSync(at('secret'), 0o000);
    fs.chmodSync(at('closed'), 0o000);
    cleanup(() => fs.chmodSync(at('closed'), 0o700));
    giveUpRoot();
  });

  for (const [method, name, more] of [
    ['fs/readFile', 'secret', {}],
    ['fs/writeFile', 'secret', { dataBase64: '' }],
    ['fs/open', 'secret', { handleId: 'h' }],
    ['fs/readFile', 'closed/f', {}],
    ['fs/getMetadata', 'closed/f', {}],
    ['fs/getMetadata', 'closed/f', { followSymlinks: false }],
    ['fs/canonicalize', 'closed/f', {}],
    ['fs/createDirectory', 'closed/d', {}],
    ['fs/readDirectory', 'closed', {}],
    ['fs/walk', 'closed', { options: walkOptions }],
    ['fs/remove', 'closed/f', {}],
  ] as const) {
    it(`${method} of ${name} ${JSON.stringify(more)} says so`, async () => {
      expect(await client.refused(method, { path: at(name), ...more })).to.deep.equal({
        code: -32600,
        message: `${at(name)}: permission denied`,
      });
    });
  }

  it('fs/copy says where', async () => {
    for (const [sourcePath, wrong] of [
      ['secret', 'secret'],
      ['closed', 'closed'],
    ] as const) {
      const params = { sourcePath: at(sourcePath), destinationPath: at('copy'), recursive: true };
      expect(await client.refused('fs/copy', params)).to.deep.equal({
        code: -32600,
        message: `${at(wrong)}: permission denied`,
      });
    }
  });

  it('fs/walk lists the directory, tells that it cannot be read, and goes on', async () => {
    expect(await client.request('fs/walk', { path: root, options: walkOptions })).to.deep.equal({
      entries: [
        { path: uri('closed'), kind: 'directory' },
        { path: uri('secret'), kind: 'file' },
        { path: uri('z'), kind: 'directory' },
        { path: uri('z/f'), kind: 'file' },
      ],
      errors: [{ path: uri('closed'), message: 'permission denied' }],
      truncated: false,
    });
  });
});

const systemError = (code: string, errno: number): Error =>
  Object.assign(new Error('canary'), { code, errno });

describe('the code of an error', () => {
  setUp();

  for (const [code, errno, told, words] of [
    ['ENOENT', -2, -32004, 'no such file or directory'],
    ['EINVAL', -22, -32600, 'invalid argument'],
    ['EACCES', -13, -32600, 'permission denied'],
    ['EPERM', -1, -32600, 'operation not permitted'],
    ['ENOTDIR', -20, -32603, 'not a directory'],
    ['EISDIR', -21, -32603, 'illegal operation on a directory'],
    ['EEXIST', -17, -32603, 'file already exists'],
    ['ELOOP', -40, -32603, 'too many symbolic links encountered'],
    ['ENAMETOOLONG', -36, -32603, 'name too long'],
    ['ENOTEMPTY', -39, -32603, 'directory not empty'],
    ['ENOSPC', -28, -32603, 'no space left on device'],
    ['EMFILE', -24, -32603, 'too many open files'],
    ['EROFS', -30, -32603, 'read-only file system'],
    ['EIO', -5, -32603, 'i/o error'],
  ] as const) {
    it(`${code} is ${told}, ${words}`, () => {
      expect(fileError('/x/y', systemError(code, errno)).rpcError).to.deep.equal({
        code: told,
        message: `/x/y: ${words}`,
      });
    });
  }

  it('of this program’s own mistakes is -32603, without their words', () => {
    for (const error of [new Error('canary'), new TypeError('canary'), 'canary', undefined]) {
      expect(fileError('/x', error).rpcError).to.deep.equal({ code: -32603, message: '/x: internal error' });
    }
  });
});
