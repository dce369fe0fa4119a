import { expect } from 'chai';
import type { AnyStateNode } from 'xstate';
import { connectionMachine } from '../../machines/connection.js';
import { processMachine } from '../../machines/process.js';

const nodesIn = (node: AnyStateNode): AnyStateNode[] => [
  node,
  ...Object.values(node.states).flatMap(nodesIn),
];

/** What a picture shows and an event does not explain: arrows that are taken under a condition, or by themselves. */
const unexplained = (node: AnyStateNode): string[] =>
  [...[...node.transitions.values()].flat(), ...(node.always ?? [])]
    .filter(({ target, guard, eventType }) => {
      const byItself = eventType === '' || eventType.startsWith('xstate.after.');
      return byItself || (target !== undefined && guard !== undefined);
    })
    .filter(({ description = '' }) => !description.endsWith('.'))
    .map(({ eventType, target }) => `${node.id}: ${eventType} to ${target?.map(({ key }) => key).join()}`);

describe('the descriptions', () => {
  for (const machine of [connectionMachine, processMachine]) {
    it(`say of each state of a ${machine.id} what it means, in a sentence of its own`, () => {
      const nodes = nodesIn(machine.root);
      const described = nodes.filter(({ description = '' }) => description.endsWith('.'));
      expect(nodes.filter((node) => !described.includes(node)).map(({ id }) => id)).to.deep.equal([]);
      expect(new Set(described.map(({ description }) => description)).size).to.equal(nodes.length);
    });

    it(`say of each arrow of a ${machine.id} that depends on more than its event when it is taken`, () => {
      expect(nodesIn(machine.root).flatMap(unexplained)).to.deep.equal([]);
    });
  }
});
