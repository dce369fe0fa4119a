import { expect } from 'chai';
import { located } from '../../src/files/request.js';
import { sandboxIsHarmless } from '../../src/files/sandbox.js';

const own = { externalSandbox: false };
const refusal = (message: string): object => ({ refusal: { code: -32602, message } });

const managed = (fileSystem: unknown): object => ({
  permissions: { type: 'managed', file_system: fileSystem, network: 'enabled' },
});

describe('the sandbox of a request about files', () => {
  const harmless: readonly unknown[] = [
    undefined,
    null,
    { permissions: { type: 'disabled' } },
    { permissions: { type: 'external', network: 'restricted' } },
    { permissions: { type: 'disabled' }, cwd: 'file:///', windowsSandboxLevel: 'elevated' },
    managed({ type: 'unrestricted' }),
  ];
  const refused: readonly unknown[] = [
    {},
    [],
    '',
    'disabled',
    0,
    false,
    true,
    { type: 'disabled' },
    { permissions: null },
    { permissions: 'disabled' },
    { permissions: { type: 'Disabled' } },
    { permissions: { type: ['disabled'] } },
    { permissions: { type: 'unrestricted' } },
    { permissions: [{ type: 'disabled' }] },
    { permissions: { type: 'managed' } },
    { permissions: { type: 'managed', fileSystem: { type: 'unrestricted' } } },
    managed('unrestricted'),
    managed({ type: 'restricted', entries: [] }),
    managed({ type: 'restricted', entries: [{ path: { type: 'special' }, access: 'write' }] }),
    JSON.parse('{"__proto__":{"permissions":{"type":"disabled"}}}'),
    JSON.parse('{"permissions":{"__proto__":{"type":"disabled"}}}'),
  ];

  for (const sandbox of harmless) {
    it(`${JSON.stringify(sandbox)} restricts no files`, () => {
      expect(sandboxIsHarmless(sandbox)).to.equal(true);
    });
  }

  for (const sandbox of refused) {
    it(`${JSON.stringify(sandbox)} can't be enforced, but where the machine is the sandbox`, () => {
      expect(located({ path: '/x', sandbox }, own)).to.deep.equal(
        refusal('sandbox intent cannot be enforced on this executor'),
      );
      expect(located({ path: '/x', sandbox }, { externalSandbox: true })).to.have.property('params');
    });
  }
});

describe('the paths of a request about files', () => {
  it('are made absolute paths', () => {
    expect(located({ path: 'file:///a%20b', other: 'file:///c' }, own)).to.deep.equal({
      params: { path: '/a b', other: 'file:///c' },
    });
    expect(located({ sourcePath: 'file:///a', destinationPath: '/b' }, own)).to.deep.equal({
      params: { sourcePath: '/a', destinationPath: '/b' },
    });
    expect(located({ handleId: 'h', sandbox: null }, own)).to.deep.equal({
      params: { handleId: 'h', sandbox: null },
    });
  });

  for (const member of ['path', 'sourcePath', 'destinationPath']) {
    it(`${member} is named if it is wrong, before the sandbox is looked at`, () => {
      expect(located({ [member]: 'relative', sandbox: {} }, own)).to.deep.equal(
        refusal(`${member}: expected an absolute path, or a file: URI without query and fragment`),
      );
      expect(located({ [member]: 'file://host/x' }, own)).to.deep.equal(
        refusal(`${member}: the host of a file: URI must be localhost`),
      );
    });
  }
});
