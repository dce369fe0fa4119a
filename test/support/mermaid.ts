import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { nodesIn, type Transition, transitionsOf } from '../../src/inspect/chart.js';

/** Mermaid wants an arrow in the innermost state that holds both of its ends. */
const isHome = ({ from, to }: Transition, node: AnyStateNode): boolean => {
  const holds = (outer: AnyStateNode): boolean =>
    [from, to].every(({ id }) => id.startsWith(`${outer.id}.`)) && outer.type === 'compound';
  return holds(node) && !Object.values(node.states).some(holds);
};

/** Several transitions between the same two states make one arrow. */
const drawn = (arrows: readonly Transition[]): string[] => {
  const labels = new Map<string, string[]>();
  for (const { from, to, label } of arrows) {
    const ends = `${from.key} --> ${to.key}`;
    labels.set(ends, [...(labels.get(ends) ?? []), label]);
  }
  return [...labels].map(([ends, all]) => `${ends}: ${all.join(', ')}`);
};

const inside = (node: AnyStateNode, arrows: readonly Transition[]): string[] => [
  ...node.initial.target.map(({ key }) => `[*] --> ${key}`),
  ...Object.values(node.states).flatMap((state) =>
    state.type === 'compound'
      ? [`state ${state.key} {`, ...inside(state, arrows).map((line) => `  ${line}`), '}']
      : [state.key],
  ),
  ...drawn(arrows.filter((arrow) => isHome(arrow, node))),
  ...Object.values(node.states).flatMap(({ key, type }) => (type === 'final' ? [`${key} --> [*]`] : [])),
];

/**
 * A machine as a Mermaid `stateDiagram-v2`: nested states, events, guards in brackets, delays, ends. Only
 * what changes the state is drawn. Throws if two states share a name, which Mermaid would take for one.
 */
export const mermaid = (machine: AnyStateMachine): string => {
  const nodes = nodesIn(machine.root);
  const keys = nodes.slice(1).map(({ key }) => key);
  if (new Set(keys).size < keys.length) throw new Error(`two states of ${machine.id} share a name`);
  const lines = inside(machine.root, nodes.flatMap(transitionsOf));
  return ['stateDiagram-v2', ...lines.map((line) => `  ${line}`)].join('\n');
};
