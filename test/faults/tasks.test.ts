import { expect } from 'chai';
import fs from 'node:fs';
import path from 'node:path';
import { launchServer, startParams, stdioClient, type TestClient } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { temporaryDirectory } from '../support/files.js';
import { asLimitedUser, limitProcess } from '../support/nobody.js';

const NO_TASKS = 'No processes left for this user or container (EAGAIN; see ulimit -u and pids.max)';

const failure = (message: string): object => ({ code: -32603, message, data: { kind: 'spawnFailed' } });

const noFifos = failure(`cannot make the FIFOs of the process (mkfifo): ${NO_TASKS}`);
const noProcess = failure(`cannot start the process: ${NO_TASKS}`);

const pidOf = ({ server }: TestClient): number => {
  if (server?.pid === undefined) throw new Error('no server');
  return server.pid;
};

/** Processes and threads of the server. */
const tasksOf = (client: TestClient): number => fs.readdirSync(`/proc/${pidOf(client)}/task`).length;

const expectToWork = async (client: TestClient): Promise<void> => {
  for (const tty of [false, true]) {
    const id = `works ${tty}`;
    await client.start(id, ['echo', 'works'], { tty });
    expect((await client.waitOutput(id, '\n')).trim()).to.equal('works');
    await client.processClosed(id);
  }
};

/** A server, and what sets the limit of its user. */
const launchLimited = async (): Promise<{ client: TestClient; limit: (tasks: number) => void }> => {
  const under = asLimitedUser();
  // the user of its own must be able to make its FIFOs
  const TMPDIR = temporaryDirectory();
  fs.chmodSync(TMPDIR, 0o777);
  const client = stdioClient(launchServer([], { TMPDIR }, under));
  client.server?.stderr?.resume();
  await client.initialize();
  const pid = pidOf(client);
  const hard = /^Max processes\s+\S+\s+(\S+)/m.exec(fs.readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1];
  return {
    client,
    limit: (tasks) => limitProcess(under, pid, `--nproc=${tasks === Infinity ? hard : tasks}:`),
  };
};

describe('a server whose user may have no more processes', () => {
  it('refuses starts with the reason, serves what runs, and all again when some are free', async () => {
    const { client, limit } = await launchLimited();
    await client.start('cat', ['cat'], { pipeStdin: true });
    await client.start('terminal', ['sh', '-c', 'read line; echo "got $line"'], { tty: true });
    limit(1);
    // the FIFOs for some more are there already
    let refusal: unknown;
    for (let run = 0; run < 3; run++) {
      refusal = await client.refused('process/start', startParams(`pipe ${run}`, ['true']));
      expect(refusal).to.deep.equal(noProcess);
    }
    expect(await client.refused('process/start', startParams('pty', ['true'], { tty: true }))).to.deep.equal(
      noProcess,
    );
    await client.write('cat', 'hello\n');
    await client.waitOutput('cat', 'hello\n');
    await client.write('terminal', 'hello\n');
    await client.waitOutput('terminal', 'got hello');
    await client.request('process/terminate', { processId: 'cat' });
    expect(await client.exited('cat')).to.include({ exitCode: 137 });
    expect(await client.exited('terminal')).to.include({ exitCode: 0 });
    limit(Infinity);
    await expectToWork(client);
  });

  it('tells that it could not make FIFOs, and refuses a terminal for whose thread there is no room', async () => {
    const { client, limit } = await launchLimited();
    limit(tasksOf(client) + 1);
    expect(await client.refused('process/start', startParams('pty', ['true'], { tty: true }))).to.deep.equal(
      noProcess,
    );
    limit(1);
    expect(await client.refused('process/start', startParams('pipe', ['true']))).to.deep.equal(noFifos);
    limit(Infinity);
    await expectToWork(client);
  });
});

describe('a server whose cgroup may have no more processes', () => {
  it('refuses a terminal for whose thread there is no room, and serves it when there is', async function () {
    const cgroup = makeCgroup();
    if (cgroup === undefined) {
      // only root makes cgroups, and in most containers not even root
      this.skip();
    }
    const enter = ['sh', '-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"', cgroup];
    const client = stdioClient(launchServer([], {}, enter));
    client.server?.stderr?.resume();
    await client.initialize();
    const limit = (room: number | 'max'): void =>
      fs.writeFileSync(path.join(cgroup, 'pids.max'), String(room === 'max' ? room : tasksOf(client) + room));
    for (const room of [0, 1]) {
      limit(room);
      expect(
        await client.refused('process/start', startParams('pty', ['true'], { tty: true })),
        `room for ${room}`,
      ).to.deep.equal(noProcess);
    }
    limit(2);
    await client.start('pty', ['sh', '-c', 'read line; echo "got $line"'], { tty: true });
    expect(await client.refused('process/start', startParams('pipe', ['true']))).to.deep.equal(noFifos);
    await client.write('pty', 'hello\n');
    await client.waitOutput('pty', 'got hello');
    expect(await client.exited('pty')).to.include({ exitCode: 0 });
    limit('max');
    await expectToWork(client);
  });
});

/** A cgroup that limits tasks, removed after the test; undefined where none can be made. */
const makeCgroup = (): string | undefined => {
  for (const root of ['/sys/fs/cgroup/pids', '/sys/fs/cgroup']) {
    const cgroup = path.join(root, `exec-server-test-${process.pid}`);
    try {
      fs.mkdirSync(cgroup);
    } catch {
      continue; // not there, not writable, or not a directory of cgroups
    }
    cleanup(() => fs.rmdirSync(cgroup));
    if (fs.existsSync(path.join(cgroup, 'pids.max'))) return cgroup;
  }
  return undefined;
};
