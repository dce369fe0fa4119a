import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { cookie } from '../support/environment.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const runFile = promisify(execFile);

/** Runs node in the project's folder, to its end; it must succeed. */
const node = async (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
  runFile(process.execPath, args, { cwd: project, env: { ...process.env, ...cookie } });

/** What README.md tells to run, and what it says that this prints. */
const example = (name: string): { code: string; shown: string } => {
  const readme = fs.readFileSync(`${project}/README.md`, 'utf8');
  const [, code, shown] =
    new RegExp(`<!-- client:${name} -->\\s*\`\`\`js\\n(.*?)\`\`\`\\s*\`\`\`text\\n(.*?)\`\`\``, 's').exec(
      readme,
    ) ?? [];
  if (code === undefined || shown === undefined) throw new Error(`README.md has no example ${name}`);
  return { code, shown };
};

describe('what is written about the client', () => {
  for (const name of ['run', 'in-process']) {
    it(`README.md: the example ${name} prints what it says`, async () => {
      const { code, shown } = example(name);
      const printed = await node('--input-type=module', '--eval', code);
      expect(printed).to.deep.equal({ stdout: shown, stderr: '' });
    });
  }

  it('examples/client.mjs runs', async () => {
    expect(await node('examples/client.mjs')).to.deep.equal({
      stdout: [
        'sort: "a\\nb\\n", exit code 0',
        'cat: "hello"',
        'in a terminal: "40 120\\r\\n"',
        'the shell: {"exitCode":3,"signal":null,"reason":"exited"}',
        'sleep: TimeoutError: sleep ran for more than 100 ms',
        'no-such-program: SERVER_ERROR -32603: process/start: cannot run "no-such-program": ' +
          "not found in the PATH of the child's environment",
        '',
      ].join('\n'),
      stderr: '',
    });
  });
});

describe('the core of the client', () => {
  it('loads no module of Node', () => {
    const loaded = new Set<string>();
    const load = (url: URL): void => {
      if (loaded.has(url.href)) return;
      loaded.add(url.href);
      const code = fs.readFileSync(url, 'utf8');
      for (const [, target = ''] of code.matchAll(/^(?:import|export) (?!type )[^;']*? from '([^']+)';/gm)) {
        if (target.startsWith('.')) load(new URL(target.replace(/\.js$/, '.ts'), url));
        else loaded.add(target);
      }
    };
    load(new URL('../../src/client/client.ts', import.meta.url));
    const names = [...loaded].map((name) => name.replace(/^file:.*\/src\//, ''));
    expect(names).to.include.members(['client/sequencer.ts', 'client/output.ts', 'codecs.ts', 'io-ts']);
    expect(names.filter((name) => /^(node:|fs$|net$|child_process$|stream$|ws$)/.test(name))).to.deep.equal(
      [],
    );
  });
});
