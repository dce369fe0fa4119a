import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { launchServer, startParams, stdioClient, type TestClient } from '../support/client.js';
import { temporaryDirectory } from '../support/files.js';

/** Runs what follows with a file system of its own, which has room for so many files, at $TMPDIR. */
const withInodes = (count: number): readonly string[] => [
  'unshare',
  '--mount',
  'sh',
  '-c',
  `mount -t tmpfs -o nr_inodes=${count} tmpfs "$TMPDIR" && exec "$@"`,
  'sh',
];

const withReadOnly: readonly string[] = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  'mount -t tmpfs -o ro tmpfs "$TMPDIR" && exec "$@"',
  'sh',
];

const canMount = (): boolean =>
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

const launchIn = async (TMPDIR: string, under: readonly string[] = []): Promise<TestClient> => {
  const client = stdioClient(launchServer([], { TMPDIR }, under));
  client.server?.stderr?.resume();
  await client.initialize();
  return client;
};

/** Pipes are refused with this reason, again and again; terminals work. */
const expectNoPipes = async (client: TestClient, reason: string): Promise<void> => {
  const name = `without ${client.texts.length}`;
  for (let run = 0; run < 2; run++) {
    expect(await client.refused('process/start', startParams(name, ['true']))).to.deep.equal({
      code: -32603,
      message: `cannot make the FIFOs of the process (mkfifo): ${reason}`,
      data: { kind: 'spawnFailed' },
    });
  }
  await client.start(name, ['echo', 'works'], { tty: true });
  await client.waitOutput(name, 'works\r\n');
  await client.processClosed(name);
};

const expectPipes = async (client: TestClient): Promise<void> => {
  const name = `with ${client.texts.length}`;
  await client.start(name, ['cat'], { pipeStdin: true });
  await client.write(name, 'works\n');
  await client.waitOutput(name, 'works\n');
  await client.request('process/closeStdin', { processId: name });
  expect(await client.exited(name)).to.include({ exitCode: 0 });
};

describe('a directory for FIFOs', () => {
  it('that does not exist is told as the reason, and works once it is there', async () => {
    const directory = path.join(temporaryDirectory(), 'later');
    const client = await launchIn(directory);
    await expectNoPipes(client, 'No such file or directory');
    fs.mkdirSync(directory);
    await expectPipes(client);
    // and when somebody cleans it up
    fs.rmSync(directory, { recursive: true });
    await expectNoPipes(client, 'No such file or directory');
    fs.mkdirSync(directory);
    await expectPipes(client);
  });

  it('that is no directory is told as the reason', async () => {
    const file = path.join(temporaryDirectory(), 'file');
    fs.writeFileSync(file, '');
    await expectNoPipes(await launchIn(file), 'Not a directory');
  });

  it('that cannot be written to is told as the reason', async function () {
    if (!canMount()) this.skip(); // root may write everywhere but there
    await expectNoPipes(await launchIn(temporaryDirectory(), withReadOnly), 'Read-only file system');
  });

  it('on a disk that is full is told as the reason, and works once there is room', async function () {
    if (!canMount()) this.skip(); // a disk of one's own can be filled by root alone
    const directory = temporaryDirectory();
    // one is the root, one the directory of the pool, which makes 64 FIFOs at a time
    const client = await launchIn(directory, withInodes(70));
    const inside = path.join('/proc', String(client.server?.pid), 'root', directory);
    for (let file = 0; file < 10; file++) fs.writeFileSync(path.join(inside, `filler ${file}`), '');
    await expectNoPipes(client, 'No space left on device');
    // no part of a batch is left behind
    expect(
      fs
        .readdirSync(inside)
        .flatMap((name) =>
          fs.statSync(path.join(inside, name)).isDirectory() ? fs.readdirSync(path.join(inside, name)) : [],
        ),
    ).to.deep.equal([]);
    for (let file = 0; file < 10; file++) fs.rmSync(path.join(inside, `filler ${file}`));
    await expectPipes(client);
  });
});
