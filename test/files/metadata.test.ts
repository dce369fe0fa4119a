import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import type { TestClient } from '../support/client.js';
import { makeTree, temporaryDirectory } from '../support/files.js';
import { connectLocal } from '../support/local.js';

let client: TestClient;
let root: string;
let at: (name: string) => string;

/** In each group, not for the whole file: that would be for all files of a run. */
const setUp = (): void => {
  beforeEach(async () => {
    root = temporaryDirectory();
    at = (name) => path.join(root, name);
    client = await connectLocal();
    makeTree(root, {
      file: '123456',
      dir: null,
      link: '->file',
      dirlink: '->dir',
      broken: '->nowhere',
      loop: '->loop',
      'dir/f': '1',
    });
  });
};

/** The answer without the time of birth, which not every file system knows. */
const metadata = async (name: string, more: object = {}): Promise<object> => {
  const { createdAtMs, ...rest } = await client.request('fs/getMetadata', { path: name, ...more });
  expect(Number.isSafeInteger(createdAtMs)).to.equal(true);
  return rest;
};

describe('fs/getMetadata', () => {
  setUp();

  it('describes a file, a directory and a link’s target, in whole milliseconds', async () => {
    const time = new Date(1_600_000_000_500);
    fs.utimesSync(at('file'), time, time);
    fs.utimesSync(at('dir'), time, time);
    const modifiedAtMs = 1_600_000_000_500;
    const file = { isDirectory: false, isFile: true, isSymlink: false, size: 6, modifiedAtMs };
    const { size } = fs.statSync(at('dir'));
    const directory = { isDirectory: true, isFile: false, isSymlink: false, size, modifiedAtMs };
    expect(await metadata(at('file'))).to.deep.equal(file);
    expect(await metadata(at('link'))).to.deep.equal({ ...file, isSymlink: true });
    expect(await metadata(at('dir'))).to.deep.equal(directory);
    expect(await metadata(at('dirlink'))).to.deep.equal({ ...directory, isSymlink: true });
    expect(await metadata(at('dirlink/f'))).to.include({ isFile: true, isSymlink: false, size: 1 });
    expect(await metadata(at('file'), { followSymlinks: false })).to.deep.equal(file);
  });

  it('tells when a file was made', async () => {
    const { createdAtMs } = await client.request('fs/getMetadata', { path: at('file') });
    expect(createdAtMs).to.equal(Math.max(0, Math.floor(fs.statSync(at('file')).birthtimeMs)));
  });

  it('tells no time before 1970', async () => {
    const before = new Date(-10_000);
    fs.utimesSync(at('file'), before, before);
    expect(await metadata(at('file'))).to.include({ modifiedAtMs: 0 });
  });

  it('describes a FIFO and a device, which are neither', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const neither = { isDirectory: false, isFile: false, isSymlink: false };
    expect(await metadata(at('fifo'))).to.include(neither);
    expect(await metadata('/dev/zero')).to.include(neither);
  });

  it('describes a file of 5 GiB', async () => {
    fs.truncateSync(at('file'), 5 * 1024 ** 3);
    expect(await metadata(at('file'))).to.include({ size: 5 * 1024 ** 3 });
  });

  for (const [name, code, words] of [
    ['no', -32004, 'no such file or directory'],
    ['no/no', -32004, 'no such file or directory'],
    ['broken', -32004, 'no such file or directory'],
    ['loop', -32603, 'too many symbolic links encountered'],
    ['file/no', -32603, 'not a directory'],
    ['x'.repeat(256), -32603, 'name too long'],
  ] as const) {
    it(`refuses ${name.slice(0, 10)} with ${code}: ${words}`, async () => {
      const error = { code, message: `${at(name)}: ${words}` };
      expect(await client.refused('fs/getMetadata', { path: at(name) })).to.deep.equal(error);
    });
  }

  it('refuses a link, if it is told so', async () => {
    for (const name of ['link', 'broken', 'loop', 'dirlink', 'dirlink/f']) {
      expect(await client.refused('fs/getMetadata', { path: at(name), followSymlinks: false })).to.deep.equal(
        { code: -32600, message: `${at(name)}: path contains a symbolic link` },
      );
    }
    expect(await client.refused('fs/getMetadata', { path: at('no/x'), followSymlinks: false })).to.include({
      code: -32004,
    });
  });

  it('does not repeat a path that is longer than any can be', async () => {
    const { code, message } = await client.refused('fs/getMetadata', { path: `/${'x'.repeat(1_000_000)}` });
    expect(code).to.equal(-32603);
    expect(message.length).to.be.below(5_000);
  });
});

const canonical = async (name: string): Promise<unknown> =>
  (await client.request('fs/canonicalize', { path: name }))['path'];

describe('fs/canonicalize', () => {
  setUp();

  it('answers a file: URI without links and dots', async () => {
    makeTree(root, { 'a b%2f#?\\\n': '' });
    const uri = (name: string): string => pathToFileURL(at(name)).href;
    expect(await canonical(at('link'))).to.equal(uri('file'));
    expect(await canonical(`${root}/dirlink/../dir/./f`)).to.equal(uri('dir/f'));
    expect(await canonical(`${uri('dirlink')}/f`)).to.equal(uri('dir/f'));
    expect(await canonical('/')).to.equal('file:///');
    const odd = await canonical(at('a b%2f#?\\\n'));
    expect(odd).to.equal(`${pathToFileURL(root).href}/a%20b%252f%23%3F%5C%0A`);
    expect(await canonical(String(odd))).to.equal(odd);
  });

  it('refuses what is not there', async () => {
    for (const name of ['no', 'broken']) {
      expect(await client.refused('fs/canonicalize', { path: at(name) })).to.deep.equal({
        code: -32004,
        message: `${at(name)}: no such file or directory`,
      });
    }
    expect(await client.refused('fs/canonicalize', { path: at('file/x') })).to.include({ code: -32603 });
  });

  it('refuses a link to a name that no URI can tell', async () => {
    const target = Buffer.from(`${root}/\xff`, 'latin1');
    fs.writeFileSync(target, '');
    fs.symlinkSync(target, at('odd'));
    expect(await client.refused('fs/canonicalize', { path: at('odd') })).to.deep.equal({
      code: -32603,
      message: `${at('odd')}: the name that it leads to is not UTF-8`,
    });
    expect(await metadata(at('odd'))).to.include({ isFile: true, isSymlink: true });
  });
});
