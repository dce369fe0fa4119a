#!/usr/bin/env node
// Becomes dist/src/cli.js (bundle.mjs): runs the bundle beside it.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import vm from 'node:vm';

// What is young stays in 1 MiB, twice: grown to its 16 MiB it made 84 KiB of each of 1,000 idle processes, now it
// is 31; floods take up to a tenth more CPU for it (npm run bench -- idle-pipe pipe). What V8 compiled is taken
// only where the flags are the same: precompile.mjs has this too.
setFlagsFromString('--semi-space-growth-factor=1 --no-parallel-scavenge');

const file = fileURLToPath(new URL('cli.bundle.cjs', import.meta.url));

/** What V8 compiled at the build. Another Node has no file of that name, and compiles as usual. */
const compiled = () => {
  try {
    return fs.readFileSync(`${file}.${process.version}-${process.arch}`);
  } catch {
    return undefined;
  }
};

const script = new vm.Script(fs.readFileSync(file, 'latin1'), { filename: file, cachedData: compiled() });
script.runInThisContext()(createRequire(file), import.meta.url, (target) => import(target));
