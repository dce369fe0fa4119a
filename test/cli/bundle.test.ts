import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { version } from '../../src/version.js';
import { type Finished, startProgram } from './command-line.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/bundle.mjs', import.meta.url));
const LOADED_BUILTINS = fileURLToPath(new URL('../fixtures/loaded-builtins.mjs', import.meta.url));

const INITIALIZE = '{"id":1,"method":"initialize","params":{"clientName":"test"}}\n';

describe('the bundle', () => {
  const directory = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'exec-server-test-'));
  const file = (name: string): string => path.join(directory, name);
  const bundle = file('cli.bundle.cjs');
  const compiled = `${bundle}.${process.version}-${process.arch}`;

  before(() => {
    fs.writeFileSync(file('package.json'), '{"type":"module"}');
    fs.writeFileSync(`${bundle}.v0.0.0-none`, 'of an earlier build');
    execFileSync(process.execPath, [SCRIPT, directory]);
  });

  after(() => fs.rmSync(directory, { recursive: true }));

  /** Starts it over stdio, and ends with its client. */
  const answer = (...nodeOptions: string[]): Promise<Finished> =>
    startProgram([process.execPath, ...nodeOptions, file('cli.js'), '--log-level', 'warn'], {
      input: INITIALIZE,
    }).finished;

  const expectAnswer = async (): Promise<void> => {
    const { status, stdout, stderr } = await answer();
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    expect(stdout.toString()).to.match(
      /^\{"id":1,"result":\{"protocolVersion":"exec-server\.v0",[^\n]*\}\n$/,
    );
    expect(stdout.toString()).to.include(`"executorVersion":"${version}"`);
  };

  it('is a server over stdio', expectAnswer);

  it('comes with what this Node compiled, and with nothing of an earlier build', () => {
    const flags = /V8_FLAGS = "(.*)"/.exec(fs.readFileSync(file('cli.js'), 'utf8'))?.[1];
    const code = `
      v8.setFlagsFromString('${flags}'); // as the launcher does
      const [bundle, compiled] = process.argv.slice(1);
      const cachedData = fs.readFileSync(compiled);
      const script = new vm.Script(fs.readFileSync(bundle, 'latin1'), { filename: bundle, cachedData });
      process.stdout.write(String(script.cachedDataRejected));`;
    const words = ['--eval', code, bundle, compiled];
    expect(execFileSync(process.execPath, words).toString()).to.equal('false');
    expect(fs.existsSync(`${bundle}.v0.0.0-none`)).to.equal(false);
  });

  it('works where V8 refuses what was compiled, and where it is missing', async () => {
    const cachedData = fs.readFileSync(compiled);
    fs.writeFileSync(compiled, 'something else');
    await expectAnswer();
    fs.rmSync(compiled);
    await expectAnswer();
    fs.writeFileSync(compiled, cachedData);
  });

  it('holds the server and its listener, no client, no other command, no inspector', () => {
    const sources = fs.readFileSync(`${bundle}.map`, 'utf8');
    for (const part of ['/src/session.ts"', '/src/wire/listener.ts"', '/machines/process.ts"'])
      expect(sources).to.include(part);
    for (const part of ['/src/client/', '/src/cli/parse.ts', '/src/inspect.ts', '/node_modules/yargs/'])
      expect(sources).to.not.include(part);
  });

  it('names the functions in its stacks', () => {
    expect(fs.readFileSync(bundle, 'utf8')).to.match(/\bExecServer\s*=\s*class|class ExecServer\b/);
  });

  it('comes with the licence of every package in it', () => {
    const licences = fs.readFileSync(file('cli.bundle.LICENSES.txt'), 'utf8');
    for (const name of ['fp-ts', 'io-ts', 'pino', 'ws', 'xstate'])
      expect(licences).to.match(new RegExp(`^${name}$`, 'm'));
    expect(licences).to.include('Permission is hereby granted');
  });

  it('loads neither http nor tls for a server over stdio', async () => {
    const { stderr } = await answer('--import', LOADED_BUILTINS);
    expect(stderr).to.match(/^builtin net$/m);
    expect(stderr).to.not.match(/^builtin (http|https|tls|zlib|inspector|readline)$/m);
  });

  it('listens', async () => {
    const { child, printed } = startProgram([
      process.execPath,
      file('cli.js'),
      '--listen',
      'ws://127.0.0.1:0',
    ]);
    await printed('ws://127.0.0.1:');
    expect(child.exitCode).to.equal(null);
  });
});
