#!/usr/bin/env node
import { plainServe } from './cli/plain-serve.js';

const words = process.argv.slice(2);
const { stdout } = process;

const run = async (): Promise<number | undefined> => {
  const server = plainServe(words);
  if (server !== undefined) {
    const { runServer } = await import('./cli/run-server.js');
    return runServer({ ...server, stdout });
  }
  const { runCommandLine } = await import('./cli/parse.js');
  return runCommandLine(words, stdout);
};

const main = async (): Promise<void> => {
  const status = await run();
  // without a status there is only output that may still be on its way
  if (status !== undefined) process.exit(status);
};

// not awaited: the bundle is no ES module (scripts/bundle.mjs)
void main();
