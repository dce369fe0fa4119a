// node precompile.mjs BUNDLE [WORD…]: runs a bundle to its end, then keeps what V8 has compiled, for launcher.mjs.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import vm from 'node:vm';
import { V8_FLAGS } from './v8-flags.mjs';

setFlagsFromString(V8_FLAGS);

// the bundle is to see the words alone
const [file = ''] = process.argv.splice(2, 1);
const script = new vm.Script(fs.readFileSync(file, 'latin1'), { filename: file });
process.once('exit', () => {
  fs.writeFileSync(`${file}.${process.version}-${process.arch}`, script.createCachedData());
});
script.runInThisContext()(createRequire(file), pathToFileURL(file).href);
