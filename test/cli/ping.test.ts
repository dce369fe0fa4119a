import { expect } from 'chai';
import { launchListener } from '../support/client.js';
import { runText } from './command-line.js';

describe('exec-server ping', () => {
  it('tells the time of the handshake and of each round trip', async () => {
    const { url } = await launchListener();
    const { status, stdout, stderr } = await runText(['ping', '--connect', url, '--count', '2']);
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    const [first = '', ...trips] = stdout.trimEnd().split('\n');
    expect(first).to.match(/^ws:\/\/127\.0\.0\.1:\d+: exec-server \d+\.\d+\.\d+, handshake \d+\.\d ms$/);
    expect(trips).to.have.lengthOf(2);
    for (const trip of trips) expect(trip).to.match(/^round trip \d+\.\d\d ms$/);
  });

  it('tells them as JSON, of a local server if no other is named', async () => {
    const { status, stdout, stderr } = await runText(['ping', '--json']);
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    const told: Record<string, unknown> = JSON.parse(stdout);
    expect(Object.keys(told)).to.deep.equal(['server', 'version', 'handshakeMs', 'roundTripsMs']);
    expect(told['server']).to.equal('the local server');
    expect(told['handshakeMs']).to.be.a('number').above(0);
    expect(told['roundTripsMs']).to.be.an('array').with.lengthOf(1);
  });

  it('exits with 125 when nobody listens', async () => {
    const { status, stdout } = await runText(['ping', '--connect', 'ws://127.0.0.1:1']);
    expect({ status, stdout }).to.deep.equal({ status: 125, stdout: '' });
  });
});
