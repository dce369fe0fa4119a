/** What /proc tells about a process (Linux). */
import fs from 'node:fs';

/** Clock ticks a second in /proc/PID/stat (sysconf(_SC_CLK_TCK); 100 on every Linux that Node runs on). */
const TICKS = 100;

const read = (file: string): string => {
  try {
    return fs.readFileSync(file, 'latin1');
  } catch {
    return ''; // it has ended meanwhile
  }
};

/** CPU seconds that a process has used, without its children; to a hundredth. */
export const cpuSeconds = (pid: number): number => {
  const stat = read(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
};

/** The same exactly, but without threads that have ended. */
export const threadSeconds = (pid: number): number =>
  fs
    .readdirSync(`/proc/${pid}/task`)
    .map((thread) => read(`/proc/${pid}/task/${thread}/schedstat`))
    .reduce((sum, schedstat) => sum + Number(schedstat.split(' ')[0] ?? 0) / 1e9, 0);

const statusMiB = (pid: number, key: string): number =>
  Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(read(`/proc/${pid}/status`))?.[1] ?? NaN) / 1024;

/** Resident, in MiB. */
export const residentMiB = (pid: number): number => statusMiB(pid, 'VmRSS');

/** The most that was resident since `resetPeak`, in MiB. */
export const peakMiB = (pid: number): number => statusMiB(pid, 'VmHWM');

export const resetPeak = (pid: number): void => {
  fs.writeFileSync(`/proc/${pid}/clear_refs`, '5');
};

/** Bytes that the direct children of a process have written so far. */
export const writtenByChildren = (pid: number): number =>
  fs
    .readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => read(`/proc/${pid}/task/${thread}/children`).split(' '))
    .filter((child) => child !== '')
    .reduce((sum, child) => sum + Number(/^wchar: (\d+)/m.exec(read(`/proc/${child}/io`))?.[1] ?? 0), 0);
