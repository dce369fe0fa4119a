import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { expect } from 'chai';
import { readDirectory } from '../../src/files/directory.js';
import { makeTree, openBelow } from '../support/files.js';
import { at, client, root, setUp } from './set-up.js';

describe('fs/createDirectory', () => {
  setUp();

  it('makes parents, and minds no directory that is there', async () => {
    for (let time = 0; time < 2; time++) {
      expect(await client.request('fs/createDirectory', { path: at('a/b/c') })).to.deep.equal({});
      expect(fs.statSync(at('a/b/c')).isDirectory()).to.equal(true);
    }
  });

  it('without recursive makes one, which must not be there', async () => {
    await client.request('fs/createDirectory', { path: at('a'), recursive: false });
    expect(await client.refused('fs/createDirectory', { path: at('a'), recursive: false })).to.deep.equal({
      code: -32603,
      message: `${at('a')}: file already exists`,
    });
    expect(await client.refused('fs/createDirectory', { path: at('b/c'), recursive: false })).to.deep.equal({
      code: -32004,
      message: `${at('b/c')}: no such file or directory`,
    });
  });

  it('makes none of a file, and none below one', async () => {
    makeTree(root, { f: '' });
    expect(await client.refused('fs/createDirectory', { path: at('f') })).to.deep.equal({
      code: -32603,
      message: `${at('f')}: file already exists`,
    });
    expect(await client.refused('fs/createDirectory', { path: at('f/a') })).to.deep.equal({
      code: -32603,
      message: `${at('f/a')}: not a directory`,
    });
  });

  it('makes none through a link, if it is told so', async () => {
    makeTree(root, { dir: null, link: '->dir' });
    const params = { path: at('link/a'), followSymlinks: false };
    expect(await client.refused('fs/createDirectory', params)).to.deep.equal({
      code: -32600,
      message: `${at('link/a')}: path contains a symbolic link`,
    });
    await client.request('fs/createDirectory', { ...params, path: at('x/y') });
    await client.request('fs/createDirectory', { path: at('link/a') });
    expect(fs.readdirSync(at('dir'))).to.deep.equal(['a']);
    expect(fs.existsSync(at('x/y'))).to.equal(true);
  });
});

const list = async (name = root): Promise<unknown[]> => {
  const { entries } = await client.request('fs/readDirectory', { path: name });
  if (!Array.isArray(entries)) throw new Error('no list');
  return entries.sort((a, b) => (a.fileName < b.fileName ? -1 : 1));
};
const file = (fileName: string): object => ({ fileName, isDirectory: false, isFile: true });
const directory = (fileName: string): object => ({ fileName, isDirectory: true, isFile: false });

describe('fs/readDirectory', () => {
  setUp();

  it('lists what is there, links as what they lead to, and no broken ones', async () => {
    makeTree(root, {
      '.hidden': '',
      'dir/inner': '',
      file: '',
      to: '->dir',
      tofile: '->file',
      broken: '->nowhere',
      loop: '->loop',
    });
    execFileSync('mkfifo', [at('pipe')]);
    expect(await list()).to.deep.equal([
      file('.hidden'),
      directory('dir'),
      file('file'),
      { fileName: 'pipe', isDirectory: false, isFile: false },
      directory('to'),
      file('tofile'),
    ]);
    expect(await list(at('to'))).to.deep.equal([file('inner')]);
  });

  it('lists an empty directory', async () => {
    expect(await list()).to.deep.equal([]);
  });

  it('shows a name that is not UTF-8 with U+FFFD in it', async () => {
    fs.writeFileSync(Buffer.from(`${root}/a\xffb`, 'latin1'), '');
    fs.writeFileSync(at('ü'), '');
    expect(await list()).to.deep.equal([file('a\ufffdb'), file('ü')]);
  });

  it('refuses what is no directory', async () => {
    makeTree(root, { f: '' });
    expect(await client.refused('fs/readDirectory', { path: at('f') })).to.deep.equal({
      code: -32603,
      message: `${at('f')}: not a directory`,
    });
    expect(await client.refused('fs/readDirectory', { path: at('no') })).to.deep.equal({
      code: -32004,
      message: `${at('no')}: no such file or directory`,
    });
  });

  it('lists as many entries as may be, and refuses one more without keeping the directory open', async () => {
    makeTree(root, { a: '', b: '', c: '' });
    expect((await readDirectory(root, 3)).entries).to.have.lengthOf(3);
    try {
      await readDirectory(root, 2);
      expect.fail('it was listed');
    } catch (error) {
      expect(error).to.include({ code: -32603, message: `${root}: more than 2 entries` });
    }
    expect(openBelow(root)).to.equal(0);
  });

  it('lists 50,000 entries, and refuses 50,001', async () => {
    // hard links are made twice as fast as files
    makeTree(root, { 'dir/0': '' });
    for (let i = 1; i < 50_000; i++)
      fs.linkSync(at(`dir/${i % 1000 === 0 ? 0 : i - (i % 1000)}`), at(`dir/${i}`));
    expect(await list(at('dir'))).to.have.lengthOf(50_000);
    fs.writeFileSync(at('dir/more'), '');
    expect(await client.refused('fs/readDirectory', { path: at('dir') })).to.deep.equal({
      code: -32603,
      message: `${at('dir')}: more than 50000 entries`,
    });
  });
});
