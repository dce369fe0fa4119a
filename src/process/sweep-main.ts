import fs from 'node:fs';
import { Cgroup } from './cgroup.js';
import { ProcessGroup } from './groups.js';
import { Broom, SWEEP_LIMIT_MS } from './sweep.js';

/**
 * The sweep after a server that was killed, run by its guard. On stdin: what the server's cookies begin with, its
 * cgroup or an empty line, and a line `PID STARTTIME` for each group.
 */
const [prefix = '', directory = '', ...lines] = fs.readFileSync(0, 'utf8').trimEnd().split('\n');

const groups = lines.map((line) => {
  const [leader = NaN, startTime = NaN] = line.split(' ').map(Number);
  return new ProcessGroup(leader, { startTime });
});
const cgroup = directory === '' ? undefined : new Cgroup(directory);

const broom = new Broom(prefix, 0);
broom.spared.add(process.ppid);
broom.sweepNow({ groups, cookie: prefix, cgroup, found: new Map() }, SWEEP_LIMIT_MS);
cgroup?.remove();
