import type { AnyStateMachine, AnyStateNode } from 'xstate';

type Arrow = { readonly from: AnyStateNode; readonly to: AnyStateNode; readonly label: string };

const guardName = (guard: unknown): string => (typeof guard === 'string' ? guard : 'guard');

/** The guard in brackets; for what is taken when no guard before it holds, that they don't. */
const condition = (guard: unknown, before: readonly unknown[]): string => {
  if (guard !== undefined) return ` [${guardName(guard)}]`;
  return before.length === 0 ? '' : ` [${before.map((other) => `not ${guardName(other)}`).join(', ')}]`;
};

/** Every transition of one state that has a target: those without one change nothing that is drawn. */
const arrowsOf = (node: AnyStateNode): Arrow[] => {
  const delays = new Map(
    node.after.map(({ eventType, delay }) => [
      eventType,
      `after ${typeof delay === 'function' ? 'a delay' : delay}`,
    ]),
  );
  const candidates = [...node.transitions.values(), node.always ?? []];
  return candidates.flatMap((alternatives) =>
    alternatives.flatMap(({ target, eventType, guard }, index) =>
      (target ?? []).flatMap((to) => {
        const before = alternatives.slice(0, index).map((alternative) => alternative.guard);
        const label = `${delays.get(eventType) ?? eventType}${condition(guard, before)}`.trim();
        // an arrow from a state into itself can't be drawn: it goes out from each state inside
        const froms = to.id.startsWith(`${node.id}.`) ? Object.values(node.states) : [node];
        return froms.map((from) => ({ from, to, label }));
      }),
    ),
  );
};

const nodesIn = (node: AnyStateNode): AnyStateNode[] => [
  node,
  ...Object.values(node.states).flatMap(nodesIn),
];

/** Mermaid wants an arrow in the innermost state that holds both of its ends. */
const isHome = ({ from, to }: Arrow, node: AnyStateNode): boolean => {
  const holds = (outer: AnyStateNode): boolean =>
    [from, to].every(({ id }) => id.startsWith(`${outer.id}.`)) && outer.type === 'compound';
  return holds(node) && !Object.values(node.states).some(holds);
};

/** Several transitions between the same two states make one arrow. */
const drawn = (arrows: readonly Arrow[]): string[] => {
  const labels = new Map<string, string[]>();
  for (const { from, to, label } of arrows) {
    const ends = `${from.key} --> ${to.key}`;
    labels.set(ends, [...(labels.get(ends) ?? []), label]);
  }
  return [...labels].map(([ends, all]) => `${ends}: ${all.join(', ')}`);
};

const inside = (node: AnyStateNode, arrows: readonly Arrow[]): string[] => [
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
  const lines = inside(machine.root, nodes.flatMap(arrowsOf));
  return ['stateDiagram-v2', ...lines.map((line) => `  ${line}`)].join('\n');
};
