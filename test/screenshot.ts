/**
 * Takes docs/viewer.png and docs/viewer-dark.png: `npm run screenshot`. A server of its own, three clients, ten
 * processes in all five states, and a headless Chromium that looks at it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { ExecServerClient, type RemoteProcess } from '../src/client/index.js';

const inProject = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** A start waits here: while `hold` is there the server gets no FIFOs, and the process stays in `starting`. */
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'exec-server-screenshot-'));
const hold = path.join(directory, 'hold');
fs.mkdirSync(path.join(directory, 'bin'));
fs.writeFileSync(
  path.join(directory, 'bin', 'mkfifo'),
  `#!/bin/sh\nwhile [ -e '${hold}' ]; do sleep 0.05; done\nexec /usr/bin/mkfifo "$@"\n`,
  { mode: 0o755 },
);
const holdStarts = (): void => {
  fs.writeFileSync(hold, '');
  for (const name of fs.readdirSync(directory)) {
    if (name.startsWith('exec-server-fifos-')) fs.rmSync(path.join(directory, name), { recursive: true });
  }
};

const firstLine = async (input: NodeJS.ReadableStream): Promise<string> =>
  String((await once(createInterface({ input }), 'line'))[0]);

const launch = async (): Promise<{ server: ChildProcess; url: string; viewerUrl: string }> => {
  const server = spawn(
    process.execPath,
    [inProject('dist/src/cli.js'), '--listen', 'ws://127.0.0.1:0', '--inspect', '--log-level', 'silent'],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH: `${directory}/bin:${process.env['PATH']}`, TMPDIR: directory },
    },
  );
  const [said, url] = await Promise.all([firstLine(server.stderr), firstLine(server.stdout)]);
  const viewerUrl = /http:\S+/.exec(said)?.[0];
  if (viewerUrl === undefined) throw new Error(`the server said ${said}`);
  return { server, url, viewerUrl };
};

const BUILD = String.raw`
stty -echo; printf '\033[1m$ make release\033[0m\n'
step() { printf '\033[32m  ok\033[0m  %-34s \033[2m%s\033[0m\n' "$1" "$2"; sleep 0.15; }
step 'compile   src/wire' '0.41 s'; step 'compile   src/output' '0.38 s'; step 'compile   src/process' '0.66 s'
printf '\033[33mwarn\033[0m  %s\n' 'src/process/pty.ts: 1 deprecated call'
step 'bundle    dist/server.js' '412 KiB'
printf '\033[36m  ..\033[0m  test      214 of 380  \033[42m                 \033[100m             \033[0m'
exec sleep 600`;

const sh = (
  client: ExecServerClient,
  processId: string,
  script: string,
  tty = false,
): Promise<RemoteProcess> => client.start({ processId, argv: ['sh', '-c', script], tty, cwd: '/srv' });

/** The scene. Resolves when all is as the picture shall have it. */
const play = async (url: string, choose: () => Promise<void>): Promise<readonly ExecServerClient[]> => {
  const connect = (clientName: string, resume = false): Promise<ExecServerClient> =>
    ExecServerClient.connectWebSocket({ url, clientName, resume });
  const editor = await connect('editor', true);
  const agent = await connect('build agent');
  const backup = await connect('backup');

  await sh(editor, 'language-server', 'echo ready; exec sleep 600');
  const search = await sh(editor, 'search', 'seq 1 4000');
  await search.exit;
  await sh(editor, 'shell', 'exec sleep 600', true);
  await editor.start({ processId: 'formatter', argv: ['/opt/fmt/bin/fmt'] }).catch(() => undefined);

  const build = await agent.start({
    processId: 'build-1',
    argv: ['sh', '-c', BUILD],
    cwd: '/srv',
    tty: true,
    size: { rows: 12, cols: 100 },
  });
  await choose();
  await build.resize(11, 110);
  await sh(agent, 'build-2', 'echo daemon started; sleep 600 & exit 0');
  const lint = await sh(agent, 'lint', 'echo "2 errors" >&2; exit 1');
  await lint.exit;
  await sh(backup, 'dump', 'head -c 300000 /dev/zero | tr "\\0" x; exec sleep 600');
  await sh(backup, 'watch', 'exec sleep 600');
  holdStarts();
  void agent.start({ processId: 'deploy', argv: ['true'] }).catch(() => undefined);
  for (const text of ['y', 'y\r', '\x0c']) await build.write(text);
  return [editor, agent, backup];
};

/** High enough for all of the page: the terminal draws nothing while it is out of sight. */
const VIEWPORT = { width: 1480, height: 1430 };

const scene = async (page: Page, url: string): Promise<readonly ExecServerClient[]> => {
  const clients = await play(url, async () => {
    await page.getByRole('treeitem', { name: 'process build-1' }).click();
  });
  await page.getByRole('treeitem', { name: 'process deploy, starting' }).waitFor();
  await page.getByText('214 of 380').first().waitFor({ state: 'attached' });
  return clients;
};

const { server, url, viewerUrl } = await launch();
const browser = await chromium.launch({
  executablePath: process.env['CHROME_BIN'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  const page = await browser.newPage({ viewport: VIEWPORT, colorScheme: 'light' });
  await page.goto(viewerUrl);
  const clients = await scene(page, url);
  for (const [colorScheme, name] of [
    ['light', 'docs/viewer.png'],
    ['dark', 'docs/viewer-dark.png'],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    // one more tick of the ages, and the end of every transition
    await page.waitForTimeout(1_200);
    await page.screenshot({ path: inProject(name), fullPage: true });
  }
  fs.rmSync(hold);
  await Promise.all(clients.map((client) => client.close()));
} finally {
  await browser.close();
  server.kill();
  await once(server, 'exit');
  fs.rmSync(directory, { recursive: true, force: true });
}
