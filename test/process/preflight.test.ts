import { expect } from 'chai';
import fs from 'node:fs';
import path from 'node:path';
import { startParams, type TestClient } from '../support/client.js';
import { temporaryDirectory } from '../support/files.js';
import { connectLocal } from '../support/local.js';

/** The same error by pipe and by PTY. */
const both = (kind: string, message: string): unknown[] => {
  const error = { message, data: { kind } };
  return [error, error];
};

describe('a program that cannot be started', () => {
  let client: TestClient;
  let directory: string;

  const file = (name: string, text: string, mode: number): string => {
    const written = path.join(directory, name);
    fs.writeFileSync(written, text);
    fs.chmodSync(written, mode);
    return written;
  };

  /** What a start is refused with, by pipe and by PTY; the id must be free afterwards. */
  const refusals = async (argv: readonly string[], more: object = {}): Promise<unknown[]> => {
    const errors: unknown[] = [];
    for (const tty of [false, true]) {
      const { code, message, data } = await client.refused(
        'process/start',
        startParams('p', argv, { tty, ...more }),
      );
      expect(code).to.equal(-32603);
      errors.push({ message, data });
      const { processes } = await client.request('process/list');
      expect(processes).to.deep.equal([]);
    }
    return errors;
  };

  beforeEach(async () => {
    directory = temporaryDirectory();
    client = await connectLocal();
  });

  it('because it is in no directory of the PATH of its own environment', async () => {
    file('hidden', '#!/bin/sh\n', 0o755);
    expect(await refusals(['hidden'])).to.deep.equal(
      both('spawnNotFound', 'cannot run "hidden": not found in the PATH of the child\'s environment'),
    );
    await client.start('found', ['hidden'], { env: { PATH: `/nowhere:${directory}` } });
    await client.processClosed('found');
    await client.start('from cwd', ['hidden'], { env: { PATH: ':/nowhere' }, cwd: directory });
    await client.processClosed('from cwd');
    await client.start('relative', ['./hidden'], { env: {}, cwd: directory });
    await client.processClosed('relative');
  });

  it('because there is no such file', async () => {
    expect(await refusals(['/no/such/file'])).to.deep.equal(
      both('spawnNotFound', 'cannot run "/no/such/file": No such file or directory'),
    );
  });

  it('because it has no name', async () => {
    expect(await refusals([''])).to.deep.equal(both('spawnNotFound', 'cannot run "": argv[0] is empty'));
  });

  it('because it is a directory', async () => {
    expect(await refusals(['/usr'])).to.deep.equal(
      both('spawnPermissionDenied', 'cannot run "/usr": it is a directory'),
    );
  });

  it('because it is not executable', async () => {
    const plain = file('plain', 'text\n', 0o644);
    const message = `cannot run "${plain}": it is not executable, or a directory above it cannot be entered`;
    expect(await refusals([plain])).to.deep.equal(both('spawnPermissionDenied', message));
    expect(await refusals(['plain'], { env: { PATH: directory } })).to.deep.equal(
      both('spawnPermissionDenied', message.replace(plain, 'plain')),
    );
  });

  it('because the interpreter of its first line is missing', async () => {
    const script = file('script', '#! /no/such/interpreter -x\n', 0o755);
    const message = `cannot run "/no/such/interpreter": No such file or directory (the interpreter of "${script}")`;
    expect(await refusals([script])).to.deep.equal(both('spawnNotFound', message));
  });

  it('because its cwd is missing, or is a file', async () => {
    expect(await refusals(['true'], { cwd: path.join(directory, 'gone') })).to.deep.equal(
      both('spawnNotFound', 'cannot use cwd: No such file or directory'),
    );
    expect(await refusals(['true'], { cwd: file('file', '', 0o644) })).to.deep.equal(
      both('spawnFailed', 'cannot use cwd: Not a directory'),
    );
  });

  it('because its arguments are too long, one or all together', async () => {
    const message = 'cannot run the program: Argument list too long (argv and env together)';
    const long = both('spawnFailed', message);
    expect(await refusals(['true', 'x'.repeat(131_072)])).to.deep.equal(long);
    expect(await refusals(['true', ...Array<string>(100).fill('x'.repeat(100_000))])).to.deep.equal(long);
    await client.start('longest', ['true', 'x'.repeat(131_071)]);
    expect(await client.exited('longest')).to.include({ exitCode: 0 });
  });

  it('unless it is a script without a first line for the kernel: sh runs it, as execvp(3) does', async () => {
    const script = file('script', 'echo ran\n', 0o755);
    for (const tty of [false, true]) {
      await client.start(`p${tty}`, [script], { tty });
      await client.processClosed(`p${tty}`);
      expect(client.output(`p${tty}`).toString().trim()).to.equal('ran');
    }
  });
});
