import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The package's own version: found from src/ and from dist/src/ by the package's name. */
const manifest: unknown = require('exec-server/package.json');

export const version =
  typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : '0.0.0';
