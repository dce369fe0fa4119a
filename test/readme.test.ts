import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { launchListener } from './support/client.js';
import { cleanup, cookie } from './support/environment.js';

const project = fileURLToPath(new URL('..', import.meta.url));
const readme = fs.readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** The fenced blocks that follow a marker: what to type, and what it shows. */
const session = (name: string): { commands: string; shown: string[] } => {
  const [, commands, shown] =
    new RegExp(
      `<!-- session:${name} -->\\s*\`\`\`bash\\n(.*?)\`\`\`.*?\`\`\`(?:json|text)\\n(.*?)\`\`\``,
      's',
    ).exec(readme) ?? [];
  if (commands === undefined || shown === undefined) throw new Error(`README.md has no session ${name}`);
  return { commands, shown: shown.trimEnd().split('\n') };
};

type Finished = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Runs a program in the project's folder, to its end. */
const run = async (program: string, ...args: string[]): Promise<Finished> => {
  const child = spawn(program, args, {
    cwd: project,
    env: { ...process.env, ...cookie },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  cleanup(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  await once(child, 'close');
  return { code: child.exitCode, stdout, stderr };
};

/** Lines that are the same on every machine; those with an ellipsis are shortened for the reader. */
const isExact = (line: string): boolean => !line.includes('…');

describe('README.md', () => {
  it('names a first command that shows what real programs print in a terminal', async () => {
    expect(readme).to.include('npm install && npm run demo');
    const { code, stdout, stderr } = await run(process.execPath, 'examples/hello.mjs');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.match(/^ {2}(Linux|Darwin) \w+\n {2}\/dev\/\S+\n {2}24 80\n/m);
    expect(stdout).to.match(/^ {2}CHANGELOG\.md, .*README\.md/m);
    expect(stdout).to.include('The program has ended by itself, with exit code 0.\n');
    expect(stdout).to.match(/The server has ended too, with exit code 0\.\n$/);
  });

  it('has a session over stdio that answers as shown', async () => {
    const { commands, shown } = session('stdio');
    const { code, stdout, stderr } = await run('bash', '-c', commands);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).to.have.lengthOf(shown.length);
    expect(lines[0]).to.match(/^\{"id":1,"result":\{"protocolVersion":"exec-server\.v0","sessionId":"/);
    expect(lines.slice(1)).to.deep.equal(shown.slice(1));
    expect(shown.filter(isExact)).to.deep.equal(shown.slice(1));
  });

  it('has a session over a WebSocket that goes as shown', async () => {
    const { commands, shown } = session('ws');
    expect(commands).to.include('node examples/ws-session.mjs ws://127.0.0.1:8765');
    const { url } = await launchListener();
    const { code, stdout, stderr } = await run(process.execPath, 'examples/ws-session.mjs', url);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    // a terminal gives its output in as many pieces as it likes: only what a client sends is certain
    expect(lines.filter((line) => line.startsWith('→'))).to.deep.equal(
      shown.filter((line) => line.startsWith('→')),
    );
    expect(lines.at(-2)).to.match(/^← \{"method":"process\/exited",.*"exitCode":3,"signal":null,/);
    expect(lines.at(-1)).to.match(/^← \{"method":"process\/closed",/);
  });
});
