import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { readFile } from '../../src/files/read-write.js';
import { makeTree, openBelow } from '../support/files.js';
import { at, client, root, setUp } from './set-up.js';

const MAX = 34 * 1024 * 1024;
const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

describe('fs/readFile', () => {
  setUp();

  it('answers the bytes as they are, by path and by URI', async () => {
    const bytes = Buffer.from([0, 255, 10, 128, 65, 0]);
    fs.writeFileSync(at('a b%#?'), bytes);
    const result = { dataBase64: base64(bytes) };
    expect(await client.request('fs/readFile', { path: at('a b%#?') })).to.deep.equal(result);
    const uri = pathToFileURL(at('a b%#?')).href;
    expect(await client.request('fs/readFile', { path: uri, sandbox: null })).to.deep.equal(result);
  });

  it('answers an empty file', async () => {
    fs.writeFileSync(at('empty'), '');
    expect(await client.request('fs/readFile', { path: at('empty') })).to.deep.equal({ dataBase64: '' });
  });

  it('answers a file of /proc, which says that it is empty', async () => {
    const { dataBase64 } = await client.request('fs/readFile', { path: '/proc/self/status' });
    expect(Buffer.from(String(dataBase64), 'base64').toString()).to.match(/^Name:\t/);
  });

  for (const size of [3 * 256 * 1024 - 1, 3 * 256 * 1024, 3 * 256 * 1024 + 1]) {
    it(`answers ${size} bytes in order`, async () => {
      const bytes = Buffer.from(Array.from({ length: size }, (_, index) => (index * 7 + (index >> 8)) & 255));
      fs.writeFileSync(at('f'), bytes);
      const { dataBase64 } = await client.request('fs/readFile', { path: at('f') });
      expect(dataBase64 === base64(bytes)).to.equal(true);
    });
  }

  it('answers 34 MiB, and refuses a byte more', async () => {
    fs.writeFileSync(at('f'), 'begin');
    fs.truncateSync(at('f'), MAX);
    const { dataBase64 } = await client.request('fs/readFile', { path: at('f') });
    expect(Buffer.byteLength(String(dataBase64), 'base64')).to.equal(MAX);
    expect(String(dataBase64).startsWith('YmVnaW4A')).to.equal(true);
    fs.truncateSync(at('f'), MAX + 1);
    expect(await client.refused('fs/readFile', { path: at('f') })).to.deep.equal({
      code: -32600,
      message: `${at('f')}: too large to be read at once: more than ${MAX} bytes; fs/open reads it in blocks`,
    });
  });

  it('answers two of the largest files that are asked for at once, more than it keeps', async () => {
    fs.writeFileSync(at('f'), '');
    fs.truncateSync(at('f'), MAX);
    const answers = await Promise.all(
      [1, 2].map(async () => client.request('fs/readFile', { path: at('f') })),
    );
    expect(answers.map(({ dataBase64 }) => String(dataBase64).length)).to.deep.equal(
      Array(2).fill(Math.ceil(MAX / 3) * 4),
    );
  });

  it('follows links, unless it is told not to', async () => {
    makeTree(root, { file: 'text', 'dir/f': 'inner', link: '->file', dirlink: '->dir' });
    const result = { dataBase64: base64('text') };
    expect(await client.request('fs/readFile', { path: at('link') })).to.deep.equal(result);
    const inner = { dataBase64: base64('inner') };
    expect(await client.request('fs/readFile', { path: at('dirlink/f') })).to.deep.equal(inner);
    expect(await client.request('fs/readFile', { path: at('file'), followSymlinks: false })).to.deep.equal(
      result,
    );
    for (const name of ['link', 'dirlink/f', 'dirlink/../file']) {
      expect(
        await client.refused('fs/readFile', { path: `${root}/${name}`, followSymlinks: false }),
      ).to.deep.equal({ code: -32600, message: `${root}/${name}: path contains a symbolic link` });
    }
  });

  it('refuses a directory, a FIFO, a device and a socket, without hanging', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    for (const name of [root, at('fifo'), '/dev/zero', '/dev/null']) {
      expect(await client.refused('fs/readFile', { path: name })).to.deep.equal({
        code: -32600,
        message: `${name}: not a regular file`,
      });
    }
  });

  it('answers what a file held when it was opened, though it grows all the time', async () => {
    fs.writeFileSync(at('log'), 'x'.repeat(3_000_000));
    const grower = setInterval(() => fs.appendFileSync(at('log'), 'y'.repeat(100_000)), 0);
    try {
      for (let round = 0; round < 5; round++) {
        const before = fs.statSync(at('log')).size;
        const text = Buffer.from(
          await readFile({ path: at('log'), followSymlinks: true }),
          'base64',
        ).toString();
        expect(text.length).to.be.within(before, fs.statSync(at('log')).size);
        expect(/^x{3000000}y*$/.test(text)).to.equal(true);
      }
    } finally {
      clearInterval(grower);
    }
  });

  it('answers what is left of a file that shrinks', async () => {
    fs.writeFileSync(at('f'), 'x'.repeat(3_000_000));
    const reading = readFile({ path: at('f'), followSymlinks: true });
    fs.truncateSync(at('f'), 10);
    const length = Buffer.byteLength(await reading, 'base64');
    expect(length).to.be.within(10, 3_000_000);
  });

  it('reads no more than the limit of a file that does not tell its size', async () => {
    const file = { path: '/proc/self/status', followSymlinks: true };
    const size = Buffer.from(await readFile(file), 'base64').length;
    await readFile(file, size + 100);
    try {
      await readFile(file, size - 100);
      expect.fail('it was read');
    } catch (error) {
      expect(error).to.include({ code: -32600 });
    }
  });
});

describe('fs/writeFile', () => {
  setUp();

  it('creates a file, and gives one that is there its new content and no other mode', async () => {
    expect(
      await client.request('fs/writeFile', { path: at('f'), dataBase64: base64('long text') }),
    ).to.deep.equal({});
    fs.chmodSync(at('f'), 0o755);
    expect(await client.request('fs/writeFile', { path: at('f'), dataBase64: base64('x') })).to.deep.equal(
      {},
    );
    expect(fs.readFileSync(at('f'), 'utf8')).to.equal('x');
    expect(fs.statSync(at('f')).mode & 0o777).to.equal(0o755);
  });

  it('writes large content whole', async () => {
    const bytes = Buffer.alloc(5_000_001, 'abc');
    await client.request('fs/writeFile', { path: at('f'), dataBase64: base64(bytes) });
    expect(fs.readFileSync(at('f')).equals(bytes)).to.equal(true);
  });

  it('writes through a link, also one that leads to nothing yet, unless it is told not to', async () => {
    makeTree(root, { file: 'text', link: '->file', broken: '->new', 'dir/f': '', dirlink: '->dir' });
    for (const name of ['link', 'broken', 'dirlink/f', 'dirlink/new']) {
      expect(
        await client.refused('fs/writeFile', { path: at(name), dataBase64: '', followSymlinks: false }),
      ).to.deep.equal({ code: -32600, message: `${at(name)}: path contains a symbolic link` });
    }
    expect(fs.existsSync(at('new'))).to.equal(false);
    await client.request('fs/writeFile', { path: at('link'), dataBase64: base64('one') });
    await client.request('fs/writeFile', { path: at('broken'), dataBase64: base64('two') });
    expect(fs.lstatSync(at('link')).isSymbolicLink()).to.equal(true);
    expect(fs.readFileSync(at('file'), 'utf8')).to.equal('one');
    expect(fs.readFileSync(at('new'), 'utf8')).to.equal('two');
    await client.request('fs/writeFile', { path: at('three'), dataBase64: '', followSymlinks: false });
    expect(fs.readFileSync(at('three'), 'utf8')).to.equal('');
  });

  it('makes no parents', async () => {
    expect(await client.refused('fs/writeFile', { path: at('no/f'), dataBase64: '' })).to.deep.equal({
      code: -32004,
      message: `${at('no/f')}: no such file or directory`,
    });
  });

  it('refuses a directory, a FIFO (read or not) and a device, without hanging', async () => {
    execFileSync('mkfifo', [at('fifo'), at('read')]);
    const reader = fs.openSync(at('read'), fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    try {
      for (const name of [root, at('fifo'), at('read'), '/dev/full']) {
        expect(await client.refused('fs/writeFile', { path: name, dataBase64: 'AA==' })).to.deep.equal({
          code: -32600,
          message: `${name}: not a regular file`,
        });
      }
    } finally {
      fs.closeSync(reader);
    }
  });

  it('does not mix writes of one file that come at once; the last one stays', async () => {
    const sizes = [900_000, 5, 400_000, 0, 300_000, 7];
    await Promise.all(
      sizes.map(async (size, index) =>
        client.request('fs/writeFile', {
          path: at('f'),
          dataBase64: base64(String(index).repeat(size)),
        }),
      ),
    );
    expect(fs.readFileSync(at('f'), 'utf8')).to.equal('5555555');
  });

  it('goes on after a write that failed', async () => {
    const [first, second] = await Promise.all([
      client.call('fs/writeFile', { path: at('d/f'), dataBase64: '' }),
      client.call('fs/writeFile', { path: at('d/f'), dataBase64: '' }),
    ]);
    expect([first.error?.code, second.error?.code]).to.deep.equal([-32004, -32004]);
    fs.mkdirSync(at('d'));
    await client.request('fs/writeFile', { path: at('d/f'), dataBase64: '' });
  });

  it('refuses base64 that is not', async () => {
    expect(await client.refused('fs/writeFile', { path: at('f'), dataBase64: '!' })).to.deep.equal({
      code: -32602,
      message: 'dataBase64: expected standard base64 with padding',
    });
    expect(fs.existsSync(at('f'))).to.equal(false);
  });
});

describe('many requests at once', () => {
  setUp();

  it('keep few files open', async () => {
    fs.writeFileSync(at('f'), 'text');
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, openBelow(root))), 0);
    try {
      await Promise.all(
        Array.from({ length: 300 }, async () => client.request('fs/readFile', { path: at('f') })),
      );
    } finally {
      clearInterval(watch);
    }
    expect(most).to.be.at.most(64);
  });
});
