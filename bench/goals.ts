/**
 * What the server is to be, compared with its peer: ratios of ours to theirs, or figures of ours alone where
 * `of` says so. They hold only for a comparison with the peer on a quiet machine.
 */
type Goal = {
  readonly workloads: readonly string[];
  readonly figure: RegExp;
  readonly least?: number;
  readonly most?: number;
  readonly of?: 'ours';
};

const flood = ['pipe', 'pipe-64k'];
const small = ['lines', 'write-80', 'write-1'];
const terminal = ['tty', 'tty-lines'];
const many = ['many-pipe', 'many-tty'];
const idle = ['idle-pipe', 'idle-tty'];
const stdio = ['stdio-pipe', 'stdio-tty', 'stdio-read'];

const goals: readonly Goal[] = [
  { workloads: flood, figure: /^MiB\/s/, least: 1.3 },
  { workloads: small, figure: /^MiB\/s/, least: 1 },
  { workloads: terminal, figure: /^MiB\/s/, least: 0.9 },
  { workloads: [...flood, ...small, ...terminal], figure: /^server CPU/, most: 0.9 },
  { workloads: many, figure: /^MiB\/s/, least: 1 },
  { workloads: many, figure: /^fairness/, least: 0.9, of: 'ours' },
  { workloads: ['echo-idle', 'echo-flood', 'echo-flood-other'], figure: /^echo p/, most: 0.5 },
  { workloads: ['echo-spawn'], figure: /^echo p99/, most: 1 },
  {
    workloads: ['spawn-pipe', 'spawn-tty', 'spawn32-pipe', 'spawn32-tty'],
    figure: /^processes\/s/,
    least: 1.2,
  },
  { workloads: ['connections'], figure: /^connections\/s/, least: 1.3 },
  { workloads: ['connections'], figure: /^KiB each/, most: 0.3 },
  { workloads: idle, figure: /^(KiB a process|read p50)/, most: 1 },
  { workloads: idle, figure: /^read p99/, most: 2.5 },
  { workloads: ['slow'], figure: /^growth/, most: 16, of: 'ours' },
  { workloads: ['read'], figure: /^MiB\/s/, least: 1.2 },
  { workloads: stdio, figure: /^MiB\/s/, least: 1.3 },
  { workloads: ['cold'], figure: /^launch/, most: 2.5 },
  { workloads: [...flood, ...small, ...terminal, ...many], figure: /^peak/, most: 1.2 },
];

/** `≥ 1.3 ✓`: what a figure must be, and whether it is; empty if nothing is asked of it. */
export const mustOf = (workload: string, figure: string, ratio: number, ours: number): string => {
  const goal = goals.find((one) => one.workloads.includes(workload) && one.figure.test(figure));
  if (goal === undefined) return '';
  const value = goal.of === 'ours' ? ours : ratio;
  const { least = -Infinity, most = Infinity } = goal;
  const bound = goal.least === undefined ? `≤ ${most}` : `≥ ${least}`;
  return `${bound} ${value >= least && value <= most ? '✓' : '✗'}${goal.of === 'ours' ? ' (ours)' : ''}`;
};
