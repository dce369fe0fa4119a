import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { expect } from 'chai';
import { copy } from '../../src/files/copy.js';
import { remove } from '../../src/files/remove.js';
import { makeTree, openBelow, readTree } from '../support/files.js';
import { at, client, root, setUp } from './set-up.js';

const aborted = (): AbortSignal => {
  const abort = new AbortController();
  abort.abort();
  return abort.signal;
};

const failure = async (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const removed = async (name: string, more: object = {}): Promise<void> => {
  expect(await client.request('fs/remove', { path: at(name), ...more })).to.deep.equal({});
};

describe('fs/remove', () => {
  setUp();

  it('removes a file, and a directory with all that it holds', async () => {
    makeTree(root, { f: '', 'a/b/c': '', 'a/.d': '', 'a/to': '->../kept', 'a/broken': '->no', kept: '' });
    execFileSync('mkfifo', [at('a/fifo')]);
    await removed('f');
    await removed('a');
    expect(readTree(root)).to.deep.equal({ kept: '' });
  });

  it('removes a link and not what it leads to', async () => {
    makeTree(root, { 'a/f': '', link: '->a', broken: '->no' });
    await removed('link');
    await removed('broken', { followSymlinks: false });
    expect(readTree(root)).to.deep.equal({ a: null, 'a/f': '' });
  });

  it('removes names that are not UTF-8', async () => {
    fs.mkdirSync(Buffer.from(`${root}/a`));
    fs.mkdirSync(Buffer.from(`${root}/a/\xfe`, 'latin1'));
    fs.writeFileSync(Buffer.from(`${root}/a/\xfe/\xff`, 'latin1'), '');
    await removed('a');
    expect(readTree(root)).to.deep.equal({});
  });

  it('without recursive removes an empty directory only', async () => {
    makeTree(root, { 'a/f': '', b: null });
    await removed('b', { recursive: false });
    expect(await client.refused('fs/remove', { path: at('a'), recursive: false })).to.deep.equal({
      code: -32603,
      message: `${at('a')}: directory not empty`,
    });
    expect(readTree(root)).to.deep.equal({ a: null, 'a/f': '' });
  });

  it('minds a missing path without force only', async () => {
    makeTree(root, { f: '' });
    await removed('no');
    await removed('no/no', { force: null });
    expect(await client.refused('fs/remove', { path: at('no'), force: false })).to.deep.equal({
      code: -32004,
      message: `${at('no')}: no such file or directory`,
    });
    expect(await client.refused('fs/remove', { path: at('f/x') })).to.deep.equal({
      code: -32603,
      message: `${at('f/x')}: not a directory`,
    });
  });

  it('removes nothing behind a link, if it is told so', async () => {
    makeTree(root, { 'a/f': '', link: '->a' });
    expect(await client.refused('fs/remove', { path: at('link/f'), followSymlinks: false })).to.deep.equal({
      code: -32600,
      message: `${root}/link: path contains a symbolic link`,
    });
    await removed('link/f');
    expect(readTree(root)).to.deep.equal({ a: null, link: '->a' });
  });

  it('breaks off when its session ends', async () => {
    makeTree(root, { 'a/f': '' });
    const options = { recursive: true, force: true, followSymlinks: true };
    expect(await failure(remove(at('a'), options, aborted()))).to.include({
      code: -32603,
      message: 'the session has ended',
    });
    expect(readTree(root)).to.deep.equal({ a: null, 'a/f': '' });
  });
});

const params = (from: string, to: string, recursive = true): object => ({
  sourcePath: at(from),
  destinationPath: at(to),
  recursive,
});
const copied = async (from: string, to: string, recursive = true): Promise<void> => {
  expect(await client.request('fs/copy', params(from, to, recursive))).to.deep.equal({});
};
const refusal = async (from: string, to: string, recursive = true): Promise<object> =>
  client.refused('fs/copy', params(from, to, recursive));

describe('fs/copy', () => {
  setUp();

  it('copies a file with its mode, of any size', async () => {
    const content = 'abc'.repeat(700_000);
    makeTree(root, { f: content, empty: '' });
    fs.chmodSync(at('f'), 0o750);
    await copied('f', 'g', false);
    await copied('empty', 'e');
    expect(fs.readFileSync(at('g'), 'utf8') === content).to.equal(true);
    expect(fs.statSync(at('g')).mode & 0o777).to.equal(0o750);
    expect(fs.readFileSync(at('e'), 'utf8')).to.equal('');
  });

  it('gives a file that is there the new content', async () => {
    makeTree(root, { f: 'new', g: 'old and longer', link: '->g' });
    await copied('f', 'g');
    expect(fs.readFileSync(at('g'), 'utf8')).to.equal('new');
  });

  it('copies a link as a link, to a directory too, and a broken one', async () => {
    makeTree(root, { 'a/f': '', l: '->a', broken: '->no' });
    await copied('l', 'l2');
    await copied('broken', 'b2', false);
    expect(readTree(root)).to.include({ l2: '->a', b2: '->no' });
    expect(await refusal('l', 'b2')).to.deep.equal({
      code: -32603,
      message: `${at('b2')}: file already exists`,
    });
  });

  it('copies a directory with all that it holds, into one that is there too', async () => {
    makeTree(root, { 'a/f': 'f', 'a/b/c': 'c', 'a/empty': null, 'a/up': '->..', 'a/no': '->nowhere' });
    const tree = readTree(at('a'));
    await copied('a', 'copy');
    expect(readTree(at('copy'))).to.deep.equal(tree);
    makeTree(root, { 'there/f': 'old', 'there/g': 'g' });
    await copied('a', 'there');
    expect(readTree(at('there'))).to.deep.equal({ ...tree, g: 'g' });
  });

  it('copies names that are not UTF-8', async () => {
    makeTree(root, { a: null });
    fs.writeFileSync(Buffer.from(`${root}/a/\xff`, 'latin1'), 'text');
    await copied('a', 'b');
    expect(fs.readFileSync(Buffer.from(`${root}/b/\xff`, 'latin1'), 'utf8')).to.equal('text');
  });

  it('copies a directory that nobody may write', async () => {
    makeTree(root, { 'a/f': '' });
    fs.chmodSync(at('a'), 0o555);
    await copied('a', 'b');
    expect(fs.existsSync(at('b/f'))).to.equal(true);
  });

  it('copies no directory without recursive', async () => {
    makeTree(root, { 'a/f': '' });
    expect(await refusal('a', 'b', false)).to.deep.equal({
      code: -32600,
      message: 'fs/copy requires recursive: true when sourcePath is a directory',
    });
  });

  it('copies nothing into itself, however it is called', async () => {
    makeTree(root, { 'a/b/f': 'text', link: '->a', 'ab/f': '', '..a/f': '' });
    const message = 'fs/copy cannot copy a directory to itself or one of its descendants';
    for (const to of ['a', 'a/new', 'a/b', 'a/b/new', 'link', 'link/b/new', 'a/..a']) {
      expect(await refusal('a', to), to).to.deep.equal({ code: -32600, message });
    }
    expect(await refusal('a/b/f', 'link/b/f')).to.deep.equal({
      code: -32600,
      message: `${at('link/b/f')}: source and destination are the same file`,
    });
    expect(fs.readFileSync(at('a/b/f'), 'utf8')).to.equal('text');
    await copied('a', 'ab/new');
    await copied('a/b', 'a/..b');
    expect(readTree(at('a/..b'))).to.deep.equal({ f: 'text' });
  });

  it('copies no FIFO, and onto none, without hanging', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    makeTree(root, { f: '', 'a/f': '', d: null });
    const message = `${at('fifo')}: fs/copy only supports regular files, directories, and symlinks`;
    expect(await refusal('fifo', 'x')).to.deep.equal({ code: -32600, message });
    for (const to of ['fifo', 'd']) {
      expect(await refusal('f', to)).to.deep.equal({
        code: -32600,
        message: `${at(to)}: not a regular file`,
      });
    }
    expect(await refusal('a', 'f')).to.deep.equal({
      code: -32603,
      message: `${at('f')}: file already exists`,
    });
  });

  it('makes no parents, and misses what is not there', async () => {
    makeTree(root, { f: '', 'a/f': '' });
    for (const [from, to, missing] of [
      ['no', 'x', 'no'],
      ['f', 'no/x', 'no/x'],
      ['a', 'no/x', 'no/x'],
    ] as const) {
      expect(await refusal(from, to)).to.deep.equal({
        code: -32004,
        message: `${at(missing)}: no such file or directory`,
      });
    }
  });

  it('breaks off when its session ends, and leaves nothing open', async () => {
    makeTree(root, { f: 'text', 'a/f': '' });
    for (const name of ['f', 'a']) {
      expect(await failure(copy(at(name), at(`${name}2`), true, aborted()))).to.include({
        code: -32603,
        message: 'the session has ended',
      });
    }
    expect(openBelow(root)).to.equal(0);
  });
});
