import { expect } from 'chai';
import { once } from 'node:events';
import fs from 'node:fs';
import { Cgroup } from '../../src/process/cgroup.js';
import { Cookies } from '../../src/process/cookie.js';
import { ProcessGroup } from '../../src/process/groups.js';
import { startTimeOf } from '../../src/process/process-table.js';
import { Broom } from '../../src/process/sweep.js';
import type { TestClient } from '../support/client.js';
import { cookie } from '../support/environment.js';
import { connectLocal } from '../support/local.js';
import { allGone, isAlive, startSleeper, startTree } from '../support/processes.js';

const PATH = process.env['PATH'] ?? '/usr/bin:/bin';

const nobody = { groups: [], cookie: 'nobody has this', found: new Map<number, number>() };

/** Runs a script that prints a pid; resolves with it. */
const pidFrom = async (client: TestClient, processId: string, script: string): Promise<number> => {
  await client.start(processId, ['sh', '-c', script]);
  return Number(await client.waitOutput(processId, '\n'));
};

/** A daemon by double fork, in a session of its own; nothing of the client's environment is in it. */
const SCRUBBED = '(setsid env -i sh -c "echo \\$\\$; exec sleep 300 <&- >&- 2>&-" &)';

describe('the cookies of a server', () => {
  it('are UUIDs v4 by their shape, alike in their beginning by server and session', () => {
    const cookies = new Cookies();
    const [one, other] = [cookies.session(), cookies.session()];
    const all = [one.next(), one.next(), other.next()];
    expect(new Set(all).size).to.equal(3);
    for (const made of all) {
      expect(made).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(made.startsWith(cookies.server)).to.equal(true);
    }
    expect(all.map((made) => made.startsWith(one.prefix))).to.deep.equal([true, true, false]);
    expect(new Cookies().server).not.to.equal(cookies.server);
  });

  it('are the one variable that is added to an environment, and only by a server that sweeps', async () => {
    const env = { PATH, ...cookie };
    for (const sweep of [true, false]) {
      const client = await connectLocal({ sweep });
      for (const tty of [true, false]) {
        await client.start(`p${tty}`, ['cat', '/proc/self/environ'], { tty, env });
        await client.processClosed(`p${tty}`);
        const got = client.output(`p${tty}`).toString().split('\0').filter(Boolean);
        const added = got.filter((variable) => variable.startsWith('EXEC_SERVER_PROCESS='));
        expect(added).to.have.length(sweep ? 1 : 0);
        expect(got.filter((variable) => !added.includes(variable)).sort()).to.deep.equal(
          Object.entries(env)
            .map(([name, value]) => `${name}=${value}`)
            .sort(),
        );
      }
    }
  });
});

describe('a sweep', () => {
  it('kills no stranger to whom a pid has gone', () => {
    const stranger = startSleeper();
    const startTime = Number(startTimeOf(stranger.pid)) - 1;
    const group = new ProcessGroup(stranger.pid, { startTime });
    const found = new Map([[stranger.pid, startTime]]);
    const target = { groups: [group], cookie: 'nobody has this', found };
    expect(new Broom('nobody has this', 0).sweepOnce([target]).get(target)).to.equal(0);
    group.kill();
    group.release();
    expect(isAlive(stranger.pid)).to.equal(true);
  });

  it('kills whoever it has found before, wherever they have gone', async () => {
    const sleeper = startSleeper();
    const target = { ...nobody, found: new Map([[sleeper.pid, Number(startTimeOf(sleeper.pid))]]) };
    const broom = new Broom('nobody has this', 0);
    expect(broom.sweepOnce([target]).get(target)).to.equal(1);
    await once(sleeper, 'exit');
    expect(sleeper.signalCode).to.equal('SIGKILL');
    expect(broom.sweepOnce([target]).get(target)).to.equal(0);
  });

  it('goes by whole cookies: one that is longer, or in another variable, is another’s', () => {
    const { server } = new Cookies();
    const others = [
      startSleeper({ NOT_EXEC_SERVER_PROCESS: `${server}1` }),
      startSleeper({ X: `EXEC_SERVER_PROCESS=${server}1` }),
    ];
    const target = { ...nobody, cookie: server };
    expect(new Broom(server, 0).sweepOnce([target]).get(target)).to.equal(0);
    expect(others.map(({ pid }) => isAlive(pid))).to.deep.equal([true, true]);
  });

  it('spares the process that sweeps, though it bears the cookie', () => {
    const sleeper = startSleeper();
    const target = {
      ...nobody,
      found: new Map([process.pid, sleeper.pid].map((pid) => [pid, Number(startTimeOf(pid))])),
    };
    const broom = new Broom('nobody has this', 0);
    broom.spared.add(sleeper.pid);
    expect(broom.sweepOnce([target]).get(target)).to.equal(0);
    expect(isAlive(sleeper.pid)).to.equal(true);
  });
});

describe('a server that sweeps', () => {
  it('kills the tree of one process, and nothing of another', async () => {
    const client = await connectLocal({ sweep: true });
    const one = await startTree(client, 'one');
    const other = await startTree(client, 'other', { tty: true });
    expect(await client.request('process/terminate', { processId: 'one' })).to.deep.equal({
      running: true,
      survivors: 0,
    });
    await client.processClosed('one');
    await allGone([one]);
    expect([...other.values()].map(isAlive)).to.deep.equal([true, true, true, true]);
  });

  it('finds a descendant that has neither group, session nor environment of its process', async () => {
    const client = await connectLocal({ sweep: true });
    const script = 'env -i setsid sh -c "echo \\$\\$; exec sleep 300" & wait';
    const pid = await pidFrom(client, 'p', script);
    await client.request('process/terminate', { processId: 'p' });
    await allGone([new Map([['scrubbed', pid]])]);
  });

  it('lets what a process has left behind live as long as the session, and no longer', async () => {
    const client = await connectLocal({ sweep: true, retentionMs: 1 });
    const script = '(setsid sh -c "echo \\$\\$; exec sleep 300 <&- >&- 2>&-" &)';
    const pid = await pidFrom(client, 'p', script);
    await client.processClosed('p');
    let known = 1;
    while (known > 0) known = (await client.list()).length;
    expect(isAlive(pid)).to.equal(true);
    await client.close();
    await allGone([new Map([['daemon', pid]])]);
  });

  it('finds by the cgroup what left nothing else to find it by', async function () {
    try {
      Cgroup.make('probe').remove();
    } catch (error) {
      // where the server may not make one it goes by /proc alone
      if (this.test !== undefined) this.test.title += ` (no cgroup can be made here: ${String(error)})`;
      this.skip();
    }
    const client = await connectLocal({ sweep: true });
    // the child is moved there right after its fork, and what it forks before that is not
    await client.start('p', ['sh', '-c', `read line; ${SCRUBBED}; exec sleep 300`], { pipeStdin: true });
    await client.write('p', 'go\n');
    const pid = Number(await client.waitOutput('p', '\n'));
    const [, own = ''] = /^0::(.*)$/m.exec(fs.readFileSync(`/proc/${pid}/cgroup`, 'utf8')) ?? [];
    expect(own).to.match(/\/exec-server-[0-9a-f-]{13}\/[0-9a-f-]{36}$/);
    await client.request('process/terminate', { processId: 'p' });
    await allGone([new Map([['daemon', pid]])]);
  });
});
