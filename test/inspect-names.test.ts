import { expect } from 'chai';
import { createActor, createMachine, fromCallback } from 'xstate';
import { actorNames, rootOf } from '../src/inspect/names.js';

/** An actor with a process, which has a child, and with files. */
const connection = () => {
  const idle = fromCallback(() => undefined);
  const ofProcess = createMachine({ invoke: { id: 'child', src: idle } });
  const root = createActor(
    createMachine({
      invoke: [
        { id: 'process:build-1', src: ofProcess },
        { id: 'process:', src: ofProcess },
        { id: 'process:a\nb', src: ofProcess },
        { id: 'files', src: idle },
      ],
    }),
  ).start();
  const { children } = root.getSnapshot();
  return { root, children, child: children['process:build-1']?.getSnapshot().children.child };
};

describe('the names of actors', () => {
  it('say what each is, and whose', () => {
    const nameOf = actorNames(' ');
    const { root, children, child } = connection();
    expect(nameOf(root)).to.equal('connection 1');
    expect(Object.values(children).map((actor) => nameOf(Object(actor)))).to.deep.equal([
      'process build-1',
      'process ',
      String.raw`process a\nb`,
      'files of connection 1',
    ]);
    expect(nameOf(child)).to.equal('child of process build-1');
    expect(rootOf(child)).to.equal(root);
    root.stop();
  });

  it('number connections in their order, and stay', () => {
    const nameOf = actorNames(':');
    const [one, other] = [connection().root, connection().root];
    expect([nameOf(one), nameOf(other), nameOf(one)]).to.deep.equal([
      'connection:1',
      'connection:2',
      'connection:1',
    ]);
    one.stop();
    other.stop();
  });
});
