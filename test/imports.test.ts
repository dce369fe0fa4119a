import { expect } from 'chai';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

type Import = {
  /** From the root of the project, without its ending (`src/rpc`); a package by its name. */
  readonly target: string;
  /** Nothing of it is left when the program runs. */
  readonly typeOnly: boolean;
  /** By `import()`: loaded when it is needed. */
  readonly lazy: boolean;
};

type Source = { readonly file: string; readonly code: string; readonly imports: readonly Import[] };

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');

/** `import … from`, `export … from`, `import '…'` and `import('…')`. */
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(?<clause>[^'";]*?)\s*from\s*'(?<from>[^']+)'|(?:^|\n)import\s*'(?<bare>[^']+)'|\bimport\s*\(\s*'(?<dynamic>[^']+)'\s*\)/g;

const isTypeOnly = (clause: string): boolean => {
  if (/^type\s/.test(clause)) return true;
  const names = /^\{([^}]*)\}$/s.exec(clause)?.[1];
  return (
    names !== undefined && names.split(',').every((name) => name.trim() === '' || /^\s*type\s/.test(name))
  );
};

const importsOf = (file: string, code: string): Import[] =>
  [...code.matchAll(IMPORT)].map(({ groups = {} }) => {
    const specifier = groups['from'] ?? groups['bare'] ?? groups['dynamic'] ?? '';
    const target = specifier.startsWith('.')
      ? path.posix.join(path.posix.dirname(file), specifier).replace(/\.[jt]s$/, '')
      : specifier;
    return { target, typeOnly: isTypeOnly(groups['clause'] ?? ''), lazy: groups['dynamic'] !== undefined };
  });

const sourcesIn = (directory: string): Source[] =>
  fs
    .readdirSync(path.join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${directory}/${name.replaceAll(path.sep, '/')}`)
    .map((file) => {
      const code = withoutComments(fs.readFileSync(path.join(root, file), 'utf8'));
      return { file, code, imports: importsOf(file, code) };
    });

const sources = [...sourcesIn('machines'), ...sourcesIn('src')];
const within = (room: string): Source[] => sources.filter(({ file }) => file.startsWith(`${room}/`));

/** Imports that break a rule, as `file → target`: shown when the test fails. */
const offences = (files: readonly Source[], isOffence: (found: Import) => boolean): string[] =>
  files.flatMap(({ file, imports }) => imports.filter(isOffence).map(({ target }) => `${file} → ${target}`));

const isIn = ({ target }: Import, ...rooms: readonly string[]): boolean =>
  rooms.some((room) => target === room || target.startsWith(`${room}/`));

describe('the reader of imports', () => {
  it('sees every kind of import, and which of them are types', () => {
    const code = [
      "import a from './a.js';",
      "import { b } from '../b.js';",
      "import type { c } from './c.js';",
      "import { type d, type e } from './d.js';",
      "import { type f, g } from './f.js';",
      "import {\n  h,\n} from 'h';",
      "import './i.js';",
      "export { j } from './j.js';",
      "export type { k } from './k.js';",
      "const l = await import('./l.js');",
      'import * as t from "io-ts";'.replaceAll('"', "'"),
    ].join('\n');
    expect(importsOf('src/x/y.ts', code).map(({ target, typeOnly }) => [target, typeOnly])).to.deep.equal([
      ['src/x/a', false],
      ['src/b', false],
      ['src/x/c', true],
      ['src/x/d', true],
      ['src/x/f', false],
      ['h', false],
      ['src/x/i', false],
      ['src/x/j', false],
      ['src/x/k', true],
      ['src/x/l', false],
      ['io-ts', false],
    ]);
  });

  it('finds the sources, and what is known of them', () => {
    const files = sources.map(({ file }) => file);
    expect(files).to.include.members(['machines/process.ts', 'src/cli.ts', 'src/wire/listener.ts']);
    const serve = sources.find(({ file }) => file === 'src/serve.ts');
    expect(serve?.imports).to.deep.include({ target: 'src/wire/listener', typeOnly: false, lazy: true });
    expect(serve?.imports).to.deep.include({ target: 'src/server', typeOnly: false, lazy: false });
  });

  it('reads relative imports that lead to a file', () => {
    expect(
      offences(
        sources,
        ({ target }) => /^(src|machines)\//.test(target) && !fs.existsSync(path.join(root, `${target}.ts`)),
      ),
    ).to.deep.equal([]);
  });
});

describe('the directions of imports', () => {
  it('machines import xstate, each other, and types', () => {
    expect(
      offences(
        within('machines'),
        (found) => found.target !== 'xstate' && !isIn(found, 'machines') && !found.typeOnly,
      ),
    ).to.deep.equal([]);
    expect(
      offences(within('machines'), (found) => found.target !== 'xstate' && !isIn(found, 'machines', 'src')),
    ).to.deep.equal([]);
  });

  for (const room of ['src/wire', 'src/process']) {
    it(`${room} knows no JSON-RPC, no connection and no machine`, () => {
      expect(
        offences(within(room), (found) =>
          isIn(found, 'src/rpc', 'src/routes', 'src/connect', 'src/serve', 'src/server', 'machines'),
        ),
      ).to.deep.equal([]);
    });
  }

  it('src/process knows no wire, and src/wire no process', () => {
    expect(offences(within('src/process'), (found) => isIn(found, 'src/wire'))).to.deep.equal([]);
    expect(offences(within('src/wire'), (found) => isIn(found, 'src/process', 'src/output'))).to.deep.equal(
      [],
    );
  });

  it('src/output knows no process, no machine and no envelope', () => {
    expect(
      offences(within('src/output'), (found) =>
        isIn(
          found,
          'src/process',
          'src/rpc',
          'src/routes',
          'src/connect',
          'src/serve',
          'src/server',
          'machines',
        ),
      ),
    ).to.deep.equal([]);
  });

  it('protocol, codecs and the envelope know none of what uses them', () => {
    const files = sources.filter(({ file }) => /^src\/(protocol|codecs|base64|rpc)\.ts$/.test(file));
    expect(files).to.have.length(4);
    expect(
      offences(
        files,
        (found) =>
          isIn(found, 'src', 'machines') &&
          !isIn(found, 'src/protocol', 'src/codecs', 'src/base64', 'src/rpc'),
      ),
    ).to.deep.equal([]);
  });

  it('nothing imports the command line', () => {
    const others = sources.filter(({ file }) => file !== 'src/cli.ts' && !file.startsWith('src/cli/'));
    expect(offences(others, (found) => isIn(found, 'src/cli'))).to.deep.equal([]);
  });

  it('a server over stdio loads no http and no ws', () => {
    const loaded = new Set<string>();
    const load = (target: string): void => {
      if (loaded.has(target)) return;
      loaded.add(target);
      const source = sources.find(({ file }) => file === `${target}.ts`);
      for (const found of source?.imports ?? []) if (!found.typeOnly && !found.lazy) load(found.target);
    };
    load('src/cli');
    load('src/cli/run-server');
    expect([...loaded]).to.include.members([
      'src/serve',
      'src/connect',
      'machines/process',
      'src/wire/stdio',
    ]);
    for (const heavy of ['ws', 'http', 'node:http', '@statelyai/inspect'])
      expect(loaded.has(heavy), heavy).to.equal(false);
  });
});

/** Files in whose code a pattern occurs. */
const filesWith = (pattern: RegExp): string[] =>
  sources.filter(({ code }) => pattern.test(code)).map(({ file }) => file);

describe('the process’s own things', () => {
  it('nothing speaks to the console', () => {
    expect(filesWith(/\bconsole\s*[.[]/)).to.deep.equal([]);
  });

  it('stdout is touched by the command line and by serve alone', () => {
    const allowed = new Set(['src/cli.ts', 'src/serve.ts']);
    expect(filesWith(/\bprocess\s*\.\s*stdout\b/).filter((file) => !allowed.has(file))).to.deep.equal([]);
    expect(filesWith(/\bimport\s*\{[^}]*\bstdout\b[^}]*\}\s*from\s*'(node:)?process'/)).to.deep.equal([]);
  });

  it('process.argv and process.exit are the command line’s', () => {
    expect(filesWith(/\bprocess\s*\.\s*(argv|exit)\b(?!Code)/)).to.deep.equal(['src/cli.ts']);
  });
});
