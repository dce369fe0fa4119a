/** One process that prints, and many that print at a time. */
import type { Pattern } from '../load/pattern.js';
import { yes, zeros } from '../load/pattern.js';
import { metered, MIB, GIB, throughput } from '../meter.js';
import { fairness } from '../statistics.js';
import { type Listen, withServer } from '../targets.js';
import type { Workload } from './workload.js';

const PAGE = 4096;

const scaledBytes = (bytes: number, scale: number): number =>
  Math.max(PAGE, Math.floor((bytes * scale) / PAGE) * PAGE);

type Printer = {
  readonly bytes: number;
  readonly argv: (bytes: number) => readonly string[];
  readonly content?: Pattern;
  readonly tty?: boolean;
  readonly listen?: Listen;
};

/** One process that prints so many bytes, and ends. */
const prints = ({ bytes: full, argv, content = zeros, tty = false, listen = 'ws' }: Printer): Workload => ({
  listen,
  run: (target, scale) =>
    withServer(target, listen, async (server) => {
      const connection = await server.connect();
      const bytes = scaledBytes(full, scale);
      let notifications = 0;
      let disorder = 0;
      const spent = await metered(server.pid, async () => {
        const remote = await connection.start('p', argv(bytes), { tty, content });
        await remote.closed;
        remote.check(bytes);
        ({ notifications, disorder } = remote);
      });
      return {
        ...throughput(bytes, spent),
        'bytes a notification': bytes / notifications,
        ...(disorder === 0 ? {} : { 'out of order': disorder }),
      };
    }),
});

const head = (bytes: number): readonly string[] => ['head', '-c', String(bytes), '/dev/zero'];
const dd =
  (size: string) =>
  (bytes: number): readonly string[] => [
    'dd',
    'if=/dev/zero',
    `bs=${size}`,
    'iflag=count_bytes',
    `count=${bytes}`,
    'status=none',
  ];
const shell = (command: string): readonly string[] => ['sh', '-c', command];
const rawHead = (bytes: number): readonly string[] => shell(`stty raw -echo; exec ${head(bytes).join(' ')}`);
const lines = (bytes: number): readonly string[] => shell(`yes | head -c ${bytes}`);
const rawLines = (bytes: number): readonly string[] => shell(`stty raw -echo; yes | head -c ${bytes}`);

const MANY = 50;

/** So many at once, and how even their shares are when half of all has come. */
const printTogether = (full: number, tty: boolean): Workload => ({
  listen: 'ws',
  run: (target, scale) =>
    withServer(target, 'ws', async (server) => {
      const connection = await server.connect();
      const each = scaledBytes(full, scale);
      const total = MANY * each;
      let halfway: readonly number[] | undefined;
      const look = (): void => {
        if (halfway !== undefined) return;
        const shares = [...connection.remotes.values()].map(({ bytes }) => bytes);
        if (shares.reduce((sum, share) => sum + share, 0) >= total / 2) halfway = shares;
      };
      const spent = await metered(server.pid, async () => {
        await Promise.all(
          Array.from({ length: MANY }, async (_, at) => {
            const argv = tty ? rawHead(each) : head(each);
            const starting = connection.start(`p${at}`, argv, { tty, content: zeros });
            const known = connection.remotes.get(`p${at}`);
            if (known !== undefined) known.onOutput = look;
            const remote = await starting;
            await remote.closed;
            remote.check(each);
          }),
        );
      });
      return { ...throughput(total, spent), 'fairness halfway (Jain)': fairness(halfway ?? []) };
    }),
});

export const outputWorkloads: Readonly<Record<string, Workload>> = {
  pipe: prints({ bytes: GIB, argv: head }),
  'pipe-64k': prints({ bytes: GIB, argv: dd('64k') }),
  lines: prints({ bytes: 256 * MIB, argv: lines, content: yes }),
  'write-1': prints({ bytes: MIB, argv: dd('1') }),
  'write-80': prints({ bytes: 80 * MIB, argv: dd('80') }),
  tty: prints({ bytes: 256 * MIB, argv: rawHead, tty: true }),
  'tty-lines': prints({ bytes: 64 * MIB, argv: rawLines, content: yes, tty: true }),
  'many-pipe': printTogether(20 * MIB, false),
  'many-tty': printTogether(MIB, true),
  'stdio-pipe': prints({ bytes: GIB, argv: head, listen: 'stdio' }),
  'stdio-tty': prints({ bytes: 256 * MIB, argv: rawHead, tty: true, listen: 'stdio' }),
};
