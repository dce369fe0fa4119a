/**
 * What the client can do, on a server of its own: run a command, talk to a program, follow a terminal, give up.
 *
 *     node examples/client.mjs
 */
import { launchExecServer, ServerError } from 'exec-server/client';

const say = (text) => process.stdout.write(`${text}\n`);

const client = await launchExecServer();
try {
  const { stdout, exitCode } = await client.run(['sort'], { input: 'b\na\n' });
  say(`sort: ${JSON.stringify(stdout)}, exit code ${exitCode}`);

  const cat = await client.start({ argv: ['cat'], pipeStdin: true });
  await cat.write('hello');
  await cat.end();
  for await (const text of cat.stdout.text()) say(`cat: ${JSON.stringify(text)}`);

  const shell = await client.start({
    argv: ['sh', '-c', 'stty size; exit 3'],
    tty: true,
    size: { rows: 40, cols: 120 },
  });
  for await (const text of shell.stdout.text()) say(`in a terminal: ${JSON.stringify(text)}`);
  say(`the shell: ${JSON.stringify(await shell.exit)}`);

  await client
    .run(['sleep', '60'], { timeoutMs: 100 })
    .catch((error) => say(`sleep: ${error.name}: ${error.message}`));

  await client.run(['no-such-program']).catch((error) => {
    if (!(error instanceof ServerError)) throw error;
    say(`no-such-program: ${error.code} ${error.rpcCode}: ${error.message}`);
  });
} finally {
  await client.close();
}
