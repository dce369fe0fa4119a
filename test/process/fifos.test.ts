import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../src/log.js';
import { ExecServer } from '../../src/server.js';
import { memoryClient, startParams } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { temporaryDirectory } from '../support/files.js';
import { connectLocal } from '../support/local.js';

/** Names in the directories of FIFOs below the temporary directory of this test. */
const names = (directory: string): string[] =>
  fs.readdirSync(directory).flatMap((pool) => fs.readdirSync(path.join(directory, pool)));

describe('the FIFOs', () => {
  let directory: string;

  beforeEach(() => {
    directory = temporaryDirectory();
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = directory;
    cleanup(() => {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    });
  });

  it('lie in a private directory, lose their names when they are open, and none is wasted', async () => {
    const client = await connectLocal();
    for (let run = 0; run < 20; run++) {
      await client.start(`p${run}`, ['true'], { pipeStdin: run % 2 === 0 });
      await client.processClosed(`p${run}`);
      await client.refused('process/start', startParams('q', ['/no/such/program']));
    }
    const [pool = ''] = fs.readdirSync(directory);
    expect(fs.statSync(path.join(directory, pool)).mode & 0o777).to.equal(0o700);
    // ten processes took two each and ten took three; below 16 another 64 are made, in their own time
    while (names(directory).length < 64 - 50 + 64) await sleep(5);
    expect(names(directory).length).to.equal(64 - 50 + 64);
  });

  it('are made anew when somebody cleaned the directory up', async () => {
    const client = await connectLocal();
    await client.start('one', ['true']);
    await client.processClosed('one');
    for (const pool of fs.readdirSync(directory)) fs.rmSync(path.join(directory, pool), { recursive: true });
    await client.start('two', ['echo', 'works']);
    await client.processClosed('two');
    expect(client.output('two').toString()).to.equal('works\n');
  });

  it('that cannot be made are a reason told in the answer', async () => {
    const client = await connectLocal();
    process.env['TMPDIR'] = path.join(directory, 'gone');
    const { code, message } = await client.refused('process/start', startParams('p', ['true']));
    expect(code).to.equal(-32603);
    expect(message).to.equal('cannot make the FIFOs of the process (mkfifo): No such file or directory');
  });

  it('of a server that was killed are removed by the next one', async () => {
    const child = spawn('true');
    const gone = once(child, 'exit');
    await gone;
    const leftOver = path.join(directory, `exec-server-fifos-${child.pid}-abc`);
    const inUse = path.join(directory, `exec-server-fifos-${process.pid}-abc`);
    for (const pool of [leftOver, inUse]) fs.mkdirSync(pool);
    const client = await connectLocal();
    await client.start('one', ['true']);
    await client.processClosed('one');
    expect(fs.existsSync(leftOver)).to.equal(false);
    expect(fs.existsSync(inUse)).to.equal(true);
  });

  it('are removed when their server ends', async () => {
    const server = new ExecServer(createLog('silent'));
    const { client, wire } = memoryClient();
    server.accept(wire);
    await client.initialize();
    await client.start('one', ['true']);
    await client.processClosed('one');
    expect(fs.readdirSync(directory)).to.have.length(1);
    await server.close('the test is over');
    expect(fs.readdirSync(directory)).to.deep.equal([]);
  });

  it('are removed though they are only being made when their server ends', async () => {
    for (let run = 0; run < 10; run++) {
      const server = new ExecServer(createLog('silent'));
      const { client, wire } = memoryClient();
      server.accept(wire);
      await client.initialize();
      client.raw(
        JSON.stringify({ id: 'start', method: 'process/start', params: startParams('p', ['true']) }),
      );
      await client
        .until(() => fs.readdirSync(directory).length > 0, 'the directory', 100)
        .catch(() => undefined);
      await server.close('the test is over');
      expect(fs.readdirSync(directory)).to.deep.equal([]);
    }
  });
});
