import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { EXEC_SERVER } from '../support/environment.js';
import { runText, startProgram } from './command-line.js';

const LOADED_MODULES = fileURLToPath(new URL('../fixtures/loaded-modules.mjs', import.meta.url));

/** What the shell is offered after these words. */
const complete = async (...words: string[]): Promise<string[]> =>
  (await runText(['--get-yargs-completions', 'exec-server', ...words])).stdout.trimEnd().split('\n');

/** The URLs of the modules that are loaded, and what else is said on stderr. */
const loadedBy = async (...words: string[]): Promise<string> => {
  const command = [process.execPath, '--import', LOADED_MODULES, ...EXEC_SERVER, ...words];
  return (await startProgram(command).finished).stderr;
};

describe('exec-server', () => {
  it('names its commands and the options of the server', async () => {
    const { status, stdout, stderr } = await runText(['--help']);
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    for (const command of ['serve', 'run', 'ps', 'attach', 'logs', 'kill', 'ping', 'schema', 'completion']) {
      expect(stdout).to.match(new RegExp(`^  exec-server ${command} `, 'm'));
    }
    expect(stdout).to.match(/^ +--listen /m);
  });

  it('tells the exit statuses and the detach key of run', async () => {
    const { stdout } = await runText(['run', '--help']);
    for (const status of [2, 124, 125, 126, 127])
      expect(stdout).to.match(new RegExp(`^  ${status} +\\w`, 'm'));
    expect(stdout).to.include('Ctrl-] three times');
  });

  it('completes commands and options', async () => {
    const [commands, options, script] = await Promise.all([
      complete(''),
      complete('run', '--'),
      runText(['completion']),
    ]);
    expect(commands).to.include.members(['serve', 'run', 'ps', 'attach', 'logs', 'kill', 'ping', 'schema']);
    expect(options).to.include.members(['--tty', '--stdin', '--detach', '--cwd', '--connect']);
    expect(script.stdout).to.include('###-begin-exec-server-completions-###');
  });

  it('refuses a command that it does not know', async () => {
    expect(await runText(['nope'])).to.deep.equal({
      status: 2,
      stdout: '',
      stderr: 'exec-server: Unknown argument: nope\nTry exec-server --help.\n',
    });
  });

  it('loads no server for a command that is a client, and no client for the server', async () => {
    const [client, server, mistake] = await Promise.all([
      loadedBy('ping', '--connect', 'ws://127.0.0.1:1'),
      // `=`: a start that is not for the bundle (test/cli/bundle.test.ts), of which no parts are seen
      loadedBy('--log-level=silent'),
      loadedBy('run'),
    ]);
    expect(client).to.match(/client\/rpc-client\.js$/m);
    expect(client).to.not.match(/\/(pino|xstate|node-pty)\/|dist\/src\/server\.js$/m);
    expect(server).to.match(/dist\/src\/server\.js$/m);
    expect(server).to.not.match(/client\/rpc-client\.js$/m);
    expect(mistake).to.not.match(/\/io-ts\/|client\/rpc-client\.js$/m);
  });
});
