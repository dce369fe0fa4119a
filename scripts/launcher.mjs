#!/usr/bin/env node
// Becomes dist/src/cli.js (bundle.mjs): runs the bundle beside it.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import vm from 'node:vm';
import { V8_FLAGS } from './v8-flags.mjs';

setFlagsFromString(V8_FLAGS);

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
