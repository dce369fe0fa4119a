import { expect } from 'chai';
import { isLeft, left } from 'fp-ts/lib/Either.js';
import { decode } from '../src/codecs.js';
import type { Launch } from '../src/process/launch.js';
import { methods, type StartParams } from '../src/protocol.js';
import { toLaunch } from '../src/start.js';

const params = (more: object = {}): StartParams => {
  const decoded = decode(methods['process/start'].params, {
    processId: 'p',
    argv: ['sh', '-c', 'true'],
    cwd: '/tmp',
    env: {},
    tty: false,
    ...more,
  });
  if (isLeft(decoded)) throw new Error(decoded.left);
  return decoded.right;
};

const launchOf = (more?: object): Launch => {
  const launch = toLaunch(params(more));
  if (isLeft(launch)) throw new Error(launch.left.message);
  return launch.right;
};

const refusal = (message: string): unknown => left({ code: -32602, message });

describe('toLaunch', () => {
  it('takes what it is given', () => {
    const launch = launchOf({
      cwd: 'file:///tmp/a%20b',
      env: JSON.parse('{"A":"1","__proto__":"2"}'),
      tty: true,
      arg0: 'name',
      pipeStdin: true,
      size: { rows: 10, cols: 20 },
    });
    expect(launch).to.deep.include({
      argv: ['sh', '-c', 'true'],
      cwd: '/tmp/a b',
      env: new Map([
        ['A', '1'],
        ['__proto__', '2'],
      ]),
      tty: true,
      arg0: 'name',
      pipeStdin: true,
      size: { rows: 10, cols: 20 },
    });
  });

  it('has defaults: stdin at its end, 24 rows, 80 columns, no arg0', () => {
    for (const more of [{}, { arg0: null, pipeStdin: null, size: null }]) {
      expect(launchOf(more)).to.deep.include({
        arg0: undefined,
        pipeStdin: false,
        size: { rows: 24, cols: 80 },
      });
    }
  });

  it('adds nothing to the environment', () => {
    for (const tty of [false, true]) expect(launchOf({ tty }).env).to.deep.equal(new Map());
  });

  it('takes what asks for nothing', () => {
    for (const more of [
      { sandbox: null },
      { enforceManagedNetwork: false },
      { enforceManagedNetwork: null },
      { networkProxy: null },
      { envPolicy: null },
    ]) {
      expect(launchOf(more).argv, JSON.stringify(more)).to.deep.equal(['sh', '-c', 'true']);
    }
  });

  it('refuses an empty argv', () => {
    expect(toLaunch(params({ argv: [] }))).to.deep.equal(refusal('argv must not be empty'));
  });

  it('refuses a cwd that is no place, and says why', () => {
    expect(toLaunch(params({ cwd: 'tmp' }))).to.deep.equal(
      refusal('cwd: expected an absolute path, or a file: URI without query and fragment'),
    );
    expect(toLaunch(params({ cwd: 'file:///a%00b' }))).to.deep.equal(
      refusal('cwd: expected a path without NUL'),
    );
  });

  it('refuses any sandbox, in these words', () => {
    for (const sandbox of [{}, { type: 'read-only' }, [], 'none', false, 0, '']) {
      expect(toLaunch(params({ sandbox }))).to.deep.equal(
        refusal('sandbox intent cannot be enforced on this executor'),
      );
    }
  });

  it('refuses a managed network and a proxy', () => {
    for (const more of [
      { enforceManagedNetwork: true },
      { networkProxy: {} },
      { networkProxy: false },
      { networkProxy: 'canary' },
    ]) {
      const launch = toLaunch(params(more));
      const error = isLeft(launch) ? launch.left : undefined;
      expect(error?.code, JSON.stringify(more)).to.equal(-32602);
      expect(error?.message).to.match(/^(enforceManagedNetwork|networkProxy): .* cannot be enforced/);
      expect(error?.message).not.to.include('canary');
    }
  });

  it('runs what asks for a sandbox where the operator says that this machine is one', () => {
    const launch = toLaunch(params({ sandbox: { type: 'read-only' } }), { externalSandbox: true });
    expect(isLeft(launch)).to.equal(false);
  });

  it('builds the environment by a policy, out of the own one', () => {
    const envPolicy = {
      inherit: 'core',
      ignoreDefaultExcludes: false,
      exclude: [],
      set: { SET: 's' },
      includeOnly: [],
    };
    const launch = toLaunch(params({ envPolicy, env: { PATH: '/p' } }));
    const env = isLeft(launch) ? new Map() : launch.right.env;
    expect(env.get('SET')).to.equal('s');
    expect(env.get('PATH')).to.equal('/p');
    expect(env.get('HOME')).to.equal(process.env['HOME']);
  });

  it('checks argv, then cwd, then the sandbox', () => {
    const bad = { argv: [], cwd: 'tmp', sandbox: {} };
    expect(toLaunch(params(bad))).to.deep.equal(refusal('argv must not be empty'));
    const launch = toLaunch(params({ ...bad, argv: ['true'] }));
    expect(isLeft(launch) ? launch.left.message : '').to.match(/^cwd: /);
    expect(toLaunch(params({ ...bad, argv: ['true'], cwd: '/' }))).to.deep.equal(
      refusal('sandbox intent cannot be enforced on this executor'),
    );
  });

  it('shows as JSON no argument and no value of the environment', () => {
    const launch = launchOf({ argv: ['sh', 'canary'], env: { NAME: 'canary' }, arg0: 'canary' });
    expect(JSON.parse(JSON.stringify(launch))).to.deep.equal({
      program: 'sh',
      cwd: '/tmp',
      env: ['NAME'],
      tty: false,
    });
  });
});
