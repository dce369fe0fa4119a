import { expect } from 'chai';
import { childEnvironment } from '../src/environment-policy.js';

const own = {
  PATH: '/bin',
  HOME: '/home/lab',
  LANG: 'C',
  PLAIN: 'plain',
  API_KEY: 'key',
  my_token_2: 'token',
  Secretive: 'secret',
  EXEC_SERVER_TOKEN: 'canary',
  EXEC_SERVER_ANYTHING: 'canary',
};

const nothing = {
  inherit: 'none',
  ignoreDefaultExcludes: false,
  exclude: [],
  set: new Map(),
  includeOnly: [],
} as const;

type Policy = NonNullable<Parameters<typeof childEnvironment>[0]>;

const environment = (policy: Partial<Policy> | undefined, env: Record<string, string> = {}): object =>
  Object.fromEntries(
    childEnvironment(
      policy === undefined ? undefined : { ...nothing, exclude: [], includeOnly: [], ...policy },
      new Map(Object.entries(env)),
      own,
    ),
  );

describe('the environment of a child', () => {
  it('is what the client sent where there is no policy', () => {
    expect(environment(undefined, { A: '1' })).to.deep.equal({ A: '1' });
  });

  it('inherits nothing, the core, or all but what looks secret', () => {
    expect(environment({ inherit: 'none' })).to.deep.equal({});
    expect(environment({ inherit: 'core' })).to.deep.equal({ PATH: '/bin', HOME: '/home/lab', LANG: 'C' });
    expect(environment({ inherit: 'all' })).to.deep.equal({
      PATH: '/bin',
      HOME: '/home/lab',
      LANG: 'C',
      PLAIN: 'plain',
    });
  });

  it('inherits what looks secret if that is asked for, but never the settings of the server', () => {
    const all = environment({ inherit: 'all', ignoreDefaultExcludes: true });
    expect(all).to.include({ API_KEY: 'key', my_token_2: 'token', Secretive: 'secret' });
    expect(JSON.stringify(all)).not.to.include('canary');
  });

  it('is built in this order: inherit, exclude, set, includeOnly, env', () => {
    const policy = {
      inherit: 'all',
      exclude: ['pl?in', 'HOME'],
      set: new Map([
        ['HOME', '/set'],
        ['SET_KEY', 'a key that is set is no secret'],
        ['GONE', 'not included'],
      ]),
      includeOnly: ['h*', 'set_*'],
    } as const;
    expect(
      environment(
        { ...policy, exclude: [...policy.exclude], includeOnly: [...policy.includeOnly] },
        { PATH: '/env', TOKEN: 't' },
      ),
    ).to.deep.equal({
      HOME: '/set',
      SET_KEY: 'a key that is set is no secret',
      PATH: '/env',
      TOKEN: 't',
    });
  });

  it('takes patterns word for word but for * and ?', () => {
    expect(environment({ inherit: 'all', includeOnly: ['P.*', '[PH]*', 'PLAI?'] })).to.deep.equal({
      PLAIN: 'plain',
    });
  });
});
