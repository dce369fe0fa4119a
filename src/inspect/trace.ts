import {
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateNode,
  type InspectionEvent,
  isMachineSnapshot,
  type Observer,
  type StateValue,
} from 'xstate';
import { actorNames, escaped, rootOf } from './names.js';

const isInitial = (node: AnyStateNode): boolean => node.parent?.initial.target.includes(node) === true;

/** The states that an actor is in, outermost first; neither chart has parallel ones. */
const nodesOf = (parent: AnyStateNode, value: StateValue): AnyStateNode[] => {
  const [[key, inner] = ['']] = typeof value === 'string' ? [[value]] : Object.entries(value);
  const node = parent.states[key];
  if (node === undefined) return [];
  return inner === undefined ? [node] : [node, ...nodesOf(node, inner)];
};

/**
 * The state in words: its path in the chart without the outermost state, and without an innermost one that
 * says no more than its parent (`exited`, `exited.closing`, `retained`).
 */
export const stateName = ({ value, machine }: AnyMachineSnapshot): string => {
  const path = nodesOf(machine.root, value);
  const inner = path.length > 1 ? path.slice(1) : path;
  const last = inner.at(-1);
  if (inner.length > 1 && last !== undefined && isInitial(last)) inner.pop();
  return inner.map(({ key }) => key).join('.');
};

/** What XState tells by itself, in fewer words: `after retention`, `done process:p1`, `failed process:p1`. */
const eventName = (type: string): string => {
  const delay = /^xstate\.after\.(\w+)/.exec(type)?.[1];
  if (delay !== undefined) return `after ${delay}`;
  const [, kind, actor] = /^xstate\.(done|error)\.actor\.(.*)$/s.exec(type) ?? [];
  if (actor === undefined) return escaped(type);
  return `${kind === 'done' ? 'done' : 'failed'} ${escaped(actor)}`;
};

const isPlain = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && /^\w+$/.test(value));

/** The event, with how a process ended and, if it was made to end, who did that. */
const eventText = (event: AnyEventObject, snapshot: AnyMachineSnapshot): string => {
  const ended = event.type === 'child.exited';
  const members = {
    code: ended ? event['exitCode'] : undefined,
    signal: ended ? event['signal'] : undefined,
    reason: ended ? snapshot.context.endedBy : undefined,
  };
  const shown = Object.entries(members).flatMap(([name, value]) =>
    isPlain(value) ? [`${name}=${value}`] : [],
  );
  return [eventName(event.type), ...shown].join(' ');
};

/**
 * An observer that writes a line for each transition to another state, such as
 * `process:p1 running → exited (child.exited code=0)`, and for a crash. Connections are numbered from 1 as they
 * come; as soon as there was a second one, the line of a process ends with that of its own: ` connection:2`. Lines
 * hold names of actors, states and events, exit codes, signals and reasons: nothing else of what is sent.
 *
 * @param write gets each line, without its end; what it throws is thrown into the transition
 */
export const traceTransitions = (write: (line: string) => void): Observer<InspectionEvent> => {
  const states = new WeakMap<object, string>();
  const roots = new WeakSet<object>();
  const nameOf = actorNames(':');
  let connections = 0;

  return {
    next: (event) => {
      if (event.type !== '@xstate.snapshot' || !isMachineSnapshot(event.snapshot)) return;
      const { actorRef } = event;
      const root = rootOf(actorRef);
      if (!roots.has(root)) connections++;
      roots.add(root);
      const name = nameOf(actorRef);
      const state = stateName(event.snapshot);
      const before = states.get(actorRef);
      states.set(actorRef, state);
      const crashed = event.event.type.startsWith('xstate.error.actor.');
      if (before === undefined || (before === state && !crashed)) return;
      const whose = connections > 1 && root !== actorRef ? ` ${nameOf(root)}` : '';
      write(`${name} ${before} → ${state} (${eventText(event.event, event.snapshot)})${whose}`);
    },
  };
};
