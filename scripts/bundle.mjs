// node bundle.mjs [DIRECTORY]: replaces the command that tsc made by one that starts in half the time
// (docs/design.md, Cold start, has the figures and the command for them). Default: dist/src. Takes a second.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = path.resolve(root, process.argv[2] ?? 'dist/src');
const bundle = path.join(directory, 'cli.bundle.cjs');

/**
 * Stay as tsc made them, beside the bundle: all commands but the plain start of a server, the inspector, and what
 * writes the metrics.
 */
const OUTSIDE = /^src\/(cli\/parse|inspect|metrics\/prometheus)\.js$/;

const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));

/** @type {import('esbuild').Plugin} */
const rewriting = {
  name: 'rewriting',
  setup(builder) {
    // asking the package for its manifest takes 2 of 92 ms: 1.36 times a bare Node's start instead of 1.33
    builder.onLoad({ filter: /\/src\/version\.ts$/ }, () => ({
      contents: `export const version = ${JSON.stringify(version)};`,
    }));
    builder.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path: file }) => ({
      loader: 'ts',
      contents: fs
        .readFileSync(file, 'utf8')
        // where each was before: what it looks for beside itself, or in node_modules, is there
        .replaceAll(
          'import.meta.url',
          `new URL('${path.relative(path.join(root, 'src'), file)}', __url).href`,
        )
        // `import()` in a script that is run by `vm` needs an experimental flag of Node: the launcher lends its own
        .replaceAll(/\bimport\('([^']+)'\)/g, (call, target) => {
          const found = path.relative(root, path.resolve(path.dirname(file), target));
          return OUTSIDE.test(found) ? `__import('./${path.relative('src', found)}')` : call;
        }),
    }));
    // its modules for bundlers: of the others nothing can be left out, and they take 6 of 117 ms, or 3 compiled
    builder.onResolve({ filter: /^fp-ts\/lib\// }, ({ path: name, kind }) =>
      builder.resolve(name.replace('/lib/', '/es6/'), { kind, resolveDir: root }),
    );
  },
};

/** The licences of everything in the bundle that isn't ours: they want to be with every copy. */
const licences = (inputs) => {
  const packages = new Set(
    inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []),
  );
  return [...packages]
    .toSorted((a, b) => a.localeCompare(b))
    .map((folder) => {
      const file = fs.readdirSync(path.join(root, folder)).find((name) => /^licen[cs]e/i.test(name));
      if (file === undefined) throw new Error(`${folder} has no licence file: it can't be bundled`);
      const text = fs.readFileSync(path.join(root, folder, file), 'utf8').trim();
      return `${folder.replace(/^.*node_modules\//, '')}\n\n${text}\n`;
    });
};

fs.mkdirSync(directory, { recursive: true });
// what was compiled for another bundle would be taken for this one's, if both are of the same length
for (const name of fs.readdirSync(directory)) {
  if (name.startsWith('cli.bundle.')) fs.rmSync(path.join(directory, name));
}
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/cli.ts'],
  outfile: bundle,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  mainFields: ['module', 'main'],
  // one function, for launcher.mjs
  banner: { js: '(function (require, __url, __import) {' },
  footer: { js: '})' },
  // names stay, for the stacks in the log
  minifyWhitespace: true,
  minifySyntax: true,
  // Node prints the line of an error that nobody caught
  lineLimit: 160,
  // for whoever looks up a line of such a stack
  sourcemap: 'external',
  sourcesContent: false,
  // optional parts of ws, which nobody has to have
  external: ['bufferutil', 'utf-8-validate'],
  plugins: [rewriting],
  metafile: true,
  logLevel: 'warning',
});
fs.writeFileSync(
  path.join(directory, 'cli.bundle.LICENSES.txt'),
  licences(Object.keys(metafile.inputs)).join('\n---\n\n'),
);
fs.rmSync(path.join(directory, 'cli.js.map'), { force: true });
await build({
  absWorkingDir: root,
  entryPoints: ['scripts/launcher.mjs'],
  outfile: path.join(directory, 'cli.js'),
  // with the flags in it
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  logLevel: 'warning',
});
fs.chmodSync(path.join(directory, 'cli.js'), 0o755);

execFileSync(process.execPath, [path.join(root, 'scripts/precompile.mjs'), bundle, '--log-level', 'silent'], {
  input: '{"id":1,"method":"initialize","params":{"clientName":"build"}}\n',
  stdio: ['pipe', 'ignore', 'inherit'],
});
