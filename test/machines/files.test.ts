import { expect } from 'chai';
import { createActor } from 'xstate';
import { type ConnectionEmitted, connectionMachine } from '../../machines/connection.js';
import { EncodedJson } from '../../src/encoded-json.js';
import { type FileCommand, type FileEvent, serveFiles } from '../../src/files/actor.js';
import { connectionInput } from '../support/machines.js';
import { fileRequest, initialize } from '../support/requests.js';
import { connectionWith } from '../support/stub-actor.js';

const connection = (resumable = false) =>
  connectionWith<FileCommand, FileEvent>(
    (files) => connectionMachine.provide({ actors: { files } }),
    resumable,
  );

describe('the actor for files', () => {
  it('is made with the first request, gets them all, and its replies are passed on', () => {
    const { made, emitted, actor } = connection();
    expect(made).to.deep.equal([]);
    const refused = { type: 'fs.open', id: 'b', refusal: { code: -32602, message: 'no' } } as const;
    actor.send(fileRequest('a'));
    actor.send(refused);
    expect(made).to.have.lengthOf(1);
    expect(made[0]?.commands).to.deep.equal([fileRequest('a'), refused]);
    const reply = { type: 'reply.encoded', id: 'a', result: new EncodedJson('{}') } as const;
    made[0]?.tell(reply);
    expect(emitted).to.deep.equal([reply]);
  });

  it('is waited for when the session is closed', () => {
    const { made, emitted, actor } = connection();
    actor.send(fileRequest('a'));
    actor.send({ type: 'session.close' });
    expect(made[0]?.commands).to.deep.equal([fileRequest('a'), { type: 'session.end' }]);
    expect(actor.getSnapshot().value).to.equal('closing');
    const reply = { type: 'reply', id: 'a', result: {} } as const;
    made[0]?.tell(reply);
    expect(emitted).to.deep.equal([reply]);
    made[0]?.tell({ type: 'files.closed' });
    expect(actor.getSnapshot().value).to.equal('closed');
    expect(made[0]?.stopped).to.equal(true);
  });

  it('is stopped with the wire; who comes back gets another', () => {
    const { made, actor } = connection(true);
    actor.send(fileRequest('a'));
    actor.send({ type: 'wire.closed' });
    expect(made[0]?.stopped).to.equal(true);
    expect(actor.getSnapshot().children).to.deep.equal({});
    actor.send({ type: 'attach', id: 'again' });
    actor.send({ type: 'initialized' });
    actor.send(fileRequest('b'));
    expect(made).to.have.lengthOf(2);
    expect(made[1]?.commands).to.deep.equal([fileRequest('b')]);
    actor.stop();
  });

  it('does not keep a session whose wire has ended', () => {
    const { made, actor } = connection();
    actor.send(fileRequest('a'));
    actor.send({ type: 'wire.closed' });
    expect(made[0]?.stopped).to.equal(true);
    expect(actor.getSnapshot().value).to.equal('closed');
  });

  it('breaks off what is still under way some time after the end', async () => {
    const actor = createActor(connectionMachine.provide({ actors: { files: serveFiles(10) } }), {
      input: connectionInput(),
    });
    const emitted: ConnectionEmitted[] = [];
    actor.on('*', (event) => emitted.push(event));
    const over = new Promise<void>((resolve) => {
      actor.subscribe({ complete: resolve });
    });
    actor.start();
    actor.send(initialize('i'));
    actor.send({ type: 'initialized' });
    emitted.splice(0);
    // files that do not tell their size count as the largest: there is room for one, and nobody takes it
    const params = { path: '/proc/self/status', followSymlinks: undefined, sandbox: undefined };
    const first = new Promise((resolve) => actor.on('reply.encoded', resolve));
    for (const id of ['a', 'b']) actor.send({ type: 'fs.readFile', id, params });
    await first;
    actor.send({ type: 'session.close' });
    await over;
    // they run at the same time: either may come to the room first
    expect(emitted.map(({ type }) => type)).to.deep.equal(['reply.encoded', 'reply']);
    expect(new Set(emitted.map((event) => 'id' in event && event.id))).to.deep.equal(new Set(['a', 'b']));
    expect(emitted[1]).to.deep.include({ error: { code: -32603, message: 'the session has ended' } });
  });
});
