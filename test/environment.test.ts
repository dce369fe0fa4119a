import { expect } from 'chai';
import { launchServer, stdioClient } from './support/client.js';

describe('a server without a home', () => {
  it('says that it is /, for a user whom the system does not know', async function () {
    if (process.getuid?.() !== 0) this.skip(); // only root can become such a user
    const server = launchServer([], {}, [
      'env',
      '-u',
      'HOME',
      'setpriv',
      `--reuid=${2_000_000 + process.pid}`,
      '--clear-groups',
    ]);
    const client = stdioClient(server);
    server.stderr?.resume();
    await client.initialize();
    expect(await client.request('environment/info')).to.include({ userHomeDir: 'file:///' });
  });
});
