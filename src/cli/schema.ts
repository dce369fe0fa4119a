import type { Command } from './command.js';
import { failureOf } from './failure.js';
import { watchErrors, write } from './streams.js';

/** `exec-server schema`: prints the JSON Schemas of the protocol, as in docs/schema.json. */
export const schemaCommand: Command<unknown> = {
  name: 'schema',
  describe: 'print the JSON Schema of every method and notification',
  options: (parser) => parser,
  run: async (_argv, { stdout }) => {
    const { schemaText } = await import('../schema.js');
    for (const stream of [stdout, process.stderr]) watchErrors(stream);
    try {
      await write(stdout, schemaText());
      return 0;
    } catch (error) {
      const { status, line } = failureOf(error, 'stdout');
      if (line !== undefined) process.stderr.write(`exec-server: ${line}\n`);
      return status;
    }
  },
};
