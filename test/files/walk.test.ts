import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { walk } from '../../src/files/walk.js';
import { makeTree, openBelow, temporaryDirectory } from '../support/files.js';
import { at, client, root, setUp } from './set-up.js';

const all = { maxDepth: 64, maxDirectories: 10_000, maxEntries: 50_000, followDirectorySymlinks: false };

type Walked = { entries: string[]; errors: string[]; truncated: unknown };

/** Names below the root, directories with a slash at their end. */
const walked = async (options: object = {}, name = '.'): Promise<Walked> => {
  const answer = await client.request('fs/walk', { path: at(name), options: { ...all, ...options } });
  const { entries, errors, truncated } = answer;
  if (!Array.isArray(entries) || !Array.isArray(errors)) throw new Error('no lists');
  const prefix = `${pathToFileURL(root).href}/`;
  const below = (uri: string): string => {
    expect(uri.startsWith(prefix)).to.equal(true);
    return uri.slice(prefix.length);
  };
  return {
    entries: entries.map((entry) => `${below(entry.path)}${entry.kind === 'directory' ? '/' : ''}`),
    errors: errors.map((error) => `${below(error.path)}: ${error.message}`),
    truncated,
  };
};

const found = (...entries: readonly string[]): Walked => ({
  entries: [...entries],
  errors: [],
  truncated: false,
});
const cut = (...entries: readonly string[]): Walked => ({ ...found(...entries), truncated: true });

describe('fs/walk', () => {
  setUp();

  const tree = { 'b/y': '', 'b/x/deep/er': '', a: '', 'c/z': '', '.git/head': '' };

  it('lists breadth first, each directory sorted by name, the root not', async () => {
    makeTree(root, tree);
    expect(await walked()).to.deep.equal(
      found('.git/', 'a', 'b/', 'c/', '.git/head', 'b/x/', 'b/y', 'c/z', 'b/x/deep/', 'b/x/deep/er'),
    );
  });

  it('maxDepth: 0 lists the directory itself; what is deeper is not missed', async () => {
    makeTree(root, tree);
    expect(await walked({ maxDepth: 0 })).to.deep.equal(found('.git/', 'a', 'b/', 'c/'));
    expect(await walked({ maxDepth: 1 })).to.deep.equal(
      found('.git/', 'a', 'b/', 'c/', '.git/head', 'b/x/', 'b/y', 'c/z'),
    );
  });

  it('maxDirectories: so many are read', async () => {
    makeTree(root, tree);
    expect(await walked({ maxDirectories: 1 })).to.deep.equal(cut('.git/', 'a', 'b/', 'c/'));
    expect(await walked({ maxDirectories: 2 })).to.deep.equal(cut('.git/', 'a', 'b/', 'c/', '.git/head'));
    expect((await walked({ maxDirectories: 5 })).truncated).to.equal(true);
    expect((await walked({ maxDirectories: 6 })).truncated).to.equal(false);
  });

  it('maxEntries: so many are listed', async () => {
    makeTree(root, tree);
    expect(await walked({ maxEntries: 1 })).to.deep.equal(cut('.git/'));
    expect(await walked({ maxEntries: 6 })).to.deep.equal(cut('.git/', 'a', 'b/', 'c/', '.git/head', 'b/x/'));
    expect((await walked({ maxEntries: 9 })).truncated).to.equal(true);
    expect((await walked({ maxEntries: 10 })).truncated).to.equal(false);
  });

  it('pruneHiddenDirectories: lists them, and does not read them', async () => {
    makeTree(root, { ...tree, '.file': '' });
    const { entries } = await walked({ pruneHiddenDirectories: true });
    expect(entries).to.include.members(['.git/', '.file', 'b/x/deep/er']).and.not.include('.git/head');
    expect((await walked({ pruneHiddenDirectories: true }, '.git')).entries).to.deep.equal(['.git/head']);
  });

  it('passes over links, FIFOs and the like', async () => {
    makeTree(root, { 'a/f': '', link: '->a', to: '->a/f', broken: '->no', z: '' });
    execFileSync('mkfifo', [at('fifo')]);
    expect(await walked()).to.deep.equal(found('a/', 'z', 'a/f'));
  });

  it('followDirectorySymlinks: follows those, and none to files', async () => {
    makeTree(root, { 'a/f': '', 'sub/x': '', to: '->a/f', broken: '->no', loop: '->loop' });
    const other = temporaryDirectory();
    makeTree(other, { 'o/p': '' });
    fs.symlinkSync(other, at('out'));
    expect(await walked({ followDirectorySymlinks: true })).to.deep.equal(
      found('a/', 'out/', 'sub/', 'a/f', 'out/o/', 'sub/x', 'out/o/p'),
    );
  });

  it('reads a directory once, though links make a circle', async () => {
    makeTree(root, { 'a/b/f': '', 'a/b/up': '->..', 'a/top': '->..', twin: '->a', self: '->.' });
    expect(await walked({ followDirectorySymlinks: true })).to.deep.equal(
      found('a/', 'self/', 'twin/', 'a/b/', 'a/top/', 'a/b/f', 'a/b/up/'),
    );
  });

  it('finds nothing in a file, and in a link that is not followed', async () => {
    makeTree(root, { 'a/f': '', file: '', link: '->a' });
    expect(await walked({}, 'file')).to.deep.equal(found());
    expect(await walked({}, 'link')).to.deep.equal(found());
    expect(await walked({ followDirectorySymlinks: true }, 'link')).to.deep.equal(found('link/f'));
  });

  it('refuses a root that is not there', async () => {
    makeTree(root, { broken: '->no' });
    for (const name of ['no', 'broken']) {
      expect(await client.refused('fs/walk', { path: at(name), options: all })).to.deep.equal({
        code: -32004,
        message: `${at(name)}: no such file or directory`,
      });
    }
  });

  it('tells of a name that is not UTF-8 as an error, and knows U+FFFD in a good one', async () => {
    fs.writeFileSync(Buffer.from(`${root}/a\xff`, 'latin1'), '');
    makeTree(root, { 'good\ufffd': '', 'ü/ö': '' });
    expect(await walked()).to.deep.equal({
      entries: ['good%EF%BF%BD', '%C3%BC/', '%C3%BC/%C3%B6'],
      errors: ['a%EF%BF%BD: no such file or directory'],
      truncated: false,
    });
    expect(await walked({ maxEntries: 2 })).to.deep.equal({
      entries: ['good%EF%BF%BD'],
      errors: ['a%EF%BF%BD: no such file or directory'],
      truncated: true,
    });
  });

  it('gives names as URIs that come back', async () => {
    makeTree(root, { 'a %20#?\\\n/f%2f': 'text' });
    const { entries } = await client.request('fs/walk', { path: root, options: all });
    const last = Array.isArray(entries) ? entries.at(-1) : undefined;
    expect(await client.request('fs/readFile', { path: last.path })).to.deep.equal({
      dataBase64: 'dGV4dA==',
    });
  });

  it('answers others while it walks a large tree', async () => {
    makeTree(root, { seed: '' });
    for (let i = 0; i < 100; i++) fs.mkdirSync(at(`${i}`));
    for (let i = 0; i < 3_000; i++) fs.linkSync(at('seed'), at(`${i % 100}/${i}`));
    const answers: string[] = [];
    const walking = client
      .request('fs/walk', { path: root, options: all })
      .then(({ entries }) => answers.push(`walk ${Array.isArray(entries) ? entries.length : ''}`));
    const others = ['environment/status', 'process/list'].map(async (method) => {
      await client.request(method);
      answers.push(method);
    });
    const metadata = client.request('fs/getMetadata', { path: root }).then(() => answers.push('metadata'));
    await Promise.all([walking, ...others, metadata]);
    expect(answers.at(-1)).to.equal('walk 3101');
    expect(answers).to.have.lengthOf(4);
  });

  it('looks at no more than 500 entries before others have their turn, though all are in one directory', async () => {
    makeTree(root, { seed: '' });
    for (let i = 0; i < 1_200; i++) fs.linkSync(at('seed'), at(`${i}`));
    let turn = 0;
    let counting = setImmediate(function count() {
      turn++;
      counting = setImmediate(count);
    });
    // it is asked for each entry whether the session has ended
    const looks = new Map<number, number>();
    const { signal } = new AbortController();
    Object.defineProperty(signal, 'aborted', {
      get: () => {
        looks.set(turn, (looks.get(turn) ?? 0) + 1);
        return false;
      },
    });
    const { entries } = await walk(root, { ...all, pruneHiddenDirectories: undefined }, signal);
    clearImmediate(counting);
    expect(entries).to.have.lengthOf(1_201);
    expect(Math.max(...looks.values())).to.be.within(1, 500);
  });

  it('ends when its session does, with nothing left open', async () => {
    makeTree(root, tree);
    const abort = new AbortController();
    abort.abort();
    try {
      await walk(root, { ...all, pruneHiddenDirectories: undefined }, abort.signal);
      expect.fail('it did not end');
    } catch (error) {
      expect(error).to.include({ code: -32603, message: 'the session has ended' });
    }
    expect(openBelow(root)).to.equal(0);
  });
});
