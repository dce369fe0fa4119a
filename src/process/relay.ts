import { isLeft } from 'fp-ts/lib/Either.js';
import type { Launch } from './launch.js';
import { preflight } from './preflight.js';

/**
 * Two things that neither node-pty nor child_process can do are done by perl, between the fork and the
 * program: it sets argv[0] in a PTY, and closes descriptors that are not close-on-exec. (node-pty's
 * masters are not, so each pipe child would hold every terminal open; Node has no fcntl.)
 *
 * perl and not a shell, because the environment must stay exact: shells add PWD, SHLVL and `_`. It is
 * started with an empty environment, so that no PERL5OPT or locale of the client's speaks to it, and takes
 * the real one from its arguments. perl is part of the base of Debian, Ubuntu and macOS.
 */
const SCRIPT = [
  'use POSIX ();',
  'POSIX::close($_) for split /,/, shift;',
  'my $file = shift;',
  'my $count = shift;',
  '%ENV = map { split /=/, $_, 2 } splice @ARGV, 0, $count;',
  'exec { $file } @ARGV;',
  'print STDERR "exec failed: $!\\n";',
  'POSIX::_exit(127);',
].join(' ');

const PERL = 'perl';

let knownPerl: string | undefined;

/** Where perl is, by the server's own PATH; undefined if there is none. */
export const findPerl = (): string | undefined => {
  if (knownPerl !== undefined) return knownPerl;
  const env = new Map([['PATH', process.env['PATH'] ?? '']]);
  const found = preflight({ argv: [PERL], cwd: '/', env });
  if (!isLeft(found)) knownPerl = found.right;
  return knownPerl;
};

/**
 * perl's arguments for running `file` with argv[0], arguments and environment of the launch.
 *
 * @param descriptors closed before it runs
 */
export const relayArguments = (launch: Launch, file: string, descriptors: Iterable<number>): string[] => {
  const env = [...launch.env].map(([name, value]) => `${name}=${value}`);
  const [program = '', ...args] = launch.argv;
  return [
    '-e',
    SCRIPT,
    [...descriptors].join(','),
    file,
    String(env.length),
    ...env,
    launch.arg0 ?? program,
    ...args,
  ];
};
