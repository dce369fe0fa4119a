import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { connectionMachine } from '../../machines/connection.js';
import { processMachine } from '../../machines/process.js';
import type { Chart, ChartArrow, ChartState } from './messages.js';

export type Transition = { readonly from: AnyStateNode; readonly to: AnyStateNode; readonly label: string };

const guardName = (guard: unknown): string => (typeof guard === 'string' ? guard : 'guard');

/** The guard in brackets; for what is taken when no guard before it holds, that they don't. */
const condition = (guard: unknown, before: readonly unknown[]): string => {
  if (guard !== undefined) return ` [${guardName(guard)}]`;
  return before.length === 0 ? '' : ` [${before.map((other) => `not ${guardName(other)}`).join(', ')}]`;
};

/** Every transition of one state that has a target: those without one change nothing that is drawn. */
export const transitionsOf = (node: AnyStateNode): Transition[] => {
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

export const nodesIn = (node: AnyStateNode): AnyStateNode[] => [
  node,
  ...Object.values(node.states).flatMap(nodesIn),
];

const idOf = (node: AnyStateNode): string => node.path.join('.');

/** The initial state first; the others as the chart has them. */
const childrenOf = (node: AnyStateNode): AnyStateNode[] => {
  const children = Object.values(node.states);
  const [initial] = node.type === 'compound' ? node.initial.target : [];
  return children.toSorted((a, b) => Number(b === initial) - Number(a === initial));
};

const stateOf = (node: AnyStateNode): ChartState => ({
  id: idOf(node),
  name: node.key,
  description: node.description ?? '',
  final: node.type === 'final',
  states: childrenOf(node).map(stateOf),
});

/** A machine as data that a page can draw: nested states with their prose, and what leads from one to another. */
export const chartOf = (machine: AnyStateMachine, name: Chart['name']): Chart => {
  const arrows = new Map<string, ChartArrow>();
  for (const { from, to, label } of nodesIn(machine.root).flatMap(transitionsOf)) {
    const ends = `${idOf(from)} ${idOf(to)}`;
    const labels = [...(arrows.get(ends)?.labels ?? []), label];
    arrows.set(ends, { from: idOf(from), to: idOf(to), labels });
  }
  return {
    name,
    description: machine.root.description ?? '',
    states: childrenOf(machine.root).map(stateOf),
    arrows: [...arrows.values()],
  };
};

/** Both charts of a server. */
export const charts = (): readonly Chart[] => [
  chartOf(connectionMachine, 'connection'),
  chartOf(processMachine, 'process'),
];
