import { expect } from 'chai';
import { isRight } from 'fp-ts/lib/Either.js';
import { decode } from '../src/codecs.js';
import { createLog } from '../src/log.js';
import { methods, type Result } from '../src/protocol.js';
import { ExecServer } from '../src/server.js';
import { version } from '../src/version.js';
import { memoryClient, type TestClient } from './support/client.js';
import { cleanup } from './support/environment.js';

const stateFor = async (client: TestClient): Promise<Result<'server/state'>> => {
  const state = decode(methods['server/state'].result, await client.request('server/state'));
  if (isRight(state)) return state.right;
  throw new Error(state.left);
};

describe('server/state', () => {
  it('tells a session all of its own processes, and of others no more than how many there are', async () => {
    const server = new ExecServer(createLog('silent'));
    cleanup(() => server.close('the test is over'));
    const connect = async (params: object): Promise<{ client: TestClient; closed: Promise<void> }> => {
      const { client, wire } = memoryClient();
      const { closed } = server.accept(wire);
      await client.initialize(params);
      return { client, closed };
    };
    const { client: own } = await connect({ clientName: 'own' });
    const { client: other, closed } = await connect({ clientName: 'a stranger' });
    await other.start('hidden', ['sleep', '60']);
    await own.start('ended', ['sh', '-c', 'printf 12345; exit 3', 'argument'], { outputBytesCap: 0 });
    await own.processClosed('ended');
    await own.start('shell', ['cat'], {
      tty: true,
      env: { PATH: process.env['PATH'] ?? '', SECRET: 'value' },
    });

    const { server: told, session } = await stateFor(own);
    const { uptimeMs, ...counts } = told;
    expect(uptimeMs).to.be.a('number');
    expect(counts).to.deep.equal({ version, attachedSessions: 2, detachedSessions: 0, processes: 3 });
    expect(session.clientName).to.equal('own');
    const [ended, shell] = session.processes.map(({ ageMs: _age, pid: _pid, ...rest }) => rest);
    expect(session.processes).to.have.length(2);
    expect(ended).to.deep.equal({
      processId: 'ended',
      state: 'retained',
      tty: false,
      exitCode: 3,
      program: 'sh',
      outputBytes: 5,
      droppedBytes: 5,
    });
    expect(shell).to.deep.include({ processId: 'shell', state: 'running', tty: true, program: 'cat' });
    const text = own.texts.at(-1);
    for (const hidden of ['hidden', 'stranger', 'argument', 'SECRET', 'value'])
      expect(text).to.not.include(hidden);

    await other.close();
    await closed;
    const { server: later } = await stateFor(own);
    expect(later).to.deep.include({ attachedSessions: 1, processes: 2 });
  });
});
