import type { StartParams } from './protocol.js';

type Policy = NonNullable<StartParams['envPolicy']>;
type Environment = ReadonlyMap<string, string>;

/** What a program needs to find its way about (docs/protocol.md, envPolicy). */
const CORE = [
  'PATH',
  'SHELL',
  'TMPDIR',
  'TEMP',
  'TMP',
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'USER',
];

/** Names that look like those of secrets. */
const DEFAULT_EXCLUDES = ['*KEY*', '*SECRET*', '*TOKEN*'];

/** The server's own settings are nobody else's: its token is one of them. */
const OWN_SETTINGS = /^EXEC_SERVER_/;

/** `*` is any run of characters, `?` any one; without regard to case. */
const matcher = (patterns: readonly string[]): ((name: string) => boolean) => {
  const expressions = patterns.map((pattern) => {
    const source = pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.');
    return new RegExp(`^${source}$`, 'is');
  });
  return (name) => expressions.some((expression) => expression.test(name));
};

const inherited = (inherit: Policy['inherit'], own: NodeJS.ProcessEnv): Map<string, string> => {
  const base = new Map<string, string>();
  if (inherit === 'none') return base;
  for (const [name, value] of Object.entries(own)) {
    const wanted = inherit === 'all' ? !OWN_SETTINGS.test(name) : CORE.includes(name);
    if (wanted && value !== undefined) base.set(name, value);
  }
  return base;
};

/**
 * The whole environment of a child, from the server's own by the client's policy (docs/protocol.md,
 * envPolicy). Without a policy it is what the client sent, and nothing else.
 *
 * @param own the server's environment
 */
export const childEnvironment = (
  policy: Policy | undefined,
  env: Environment,
  own: NodeJS.ProcessEnv,
): Environment => {
  if (policy === undefined) return env;
  const environment = inherited(policy.inherit, own);
  const isExcluded = matcher([...(policy.ignoreDefaultExcludes ? [] : DEFAULT_EXCLUDES), ...policy.exclude]);
  for (const name of environment.keys()) if (isExcluded(name)) environment.delete(name);
  for (const [name, value] of policy.set) environment.set(name, value);
  if (policy.includeOnly.length > 0) {
    const isIncluded = matcher(policy.includeOnly);
    for (const name of environment.keys()) if (!isIncluded(name)) environment.delete(name);
  }
  for (const [name, value] of env) environment.set(name, value);
  return environment;
};
