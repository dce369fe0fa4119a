import {
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateNode,
  type InspectionEvent,
  isMachineSnapshot,
  type Observer,
  type StateValue,
} from 'xstate';

/** Clients choose ids as long as they like; a line is to be read. */
const MAX_ID_LENGTH = 100;

/** Control and format characters that JSON leaves as they are: terminals act on some of them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Members of an event that a line shows, where they are numbers or names. No other member is ever shown. */
const details = { exitCode: 'code', signal: 'signal' } as const;

/** A name that a client chose, fit for one line: cut, and without what acts on a terminal or turns text around. */
export const escaped = (text: string, maxLength = MAX_ID_LENGTH): string => {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return JSON.stringify(cut)
    .slice(1, -1)
    .replace(UNPRINTABLE, (character) =>
      // one or two UTF-16 units, as JSON writes them
      character
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
    );
};

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

const eventText = (event: AnyEventObject): string => {
  const shown = Object.entries(details).flatMap(([member, name]) => {
    const value: unknown = event[member];
    const isPlain = typeof value === 'number' || (typeof value === 'string' && /^\w+$/.test(value));
    return event.type.startsWith('child.') && isPlain ? [`${name}=${value}`] : [];
  });
  return [escaped(event.type), ...shown].join(' ');
};

type Seen = { readonly name: string; state: string };

/**
 * An observer that writes a line for each transition to another state, such as
 * `process:p1 running → exited (child.exited code=0)`. Connections are numbered from 1 as they come. Lines
 * hold names of actors, states and events, exit codes and signals: nothing else of what is sent.
 *
 * @param write gets each line, without its end; what it throws is thrown into the transition
 */
export const traceTransitions = (write: (line: string) => void): Observer<InspectionEvent> => {
  const seen = new WeakMap<object, Seen>();
  let connections = 0;

  const nameOf = ({ actorRef, rootId }: InspectionEvent): string => {
    if (actorRef.sessionId === rootId) return `connection:${++connections}`;
    return escaped('id' in actorRef ? String(actorRef.id) : actorRef.sessionId);
  };

  return {
    next: (event) => {
      if (event.type !== '@xstate.snapshot' || !isMachineSnapshot(event.snapshot)) return;
      const state = stateName(event.snapshot);
      const actor = seen.get(event.actorRef);
      if (actor === undefined) {
        seen.set(event.actorRef, { name: nameOf(event), state });
        return;
      }
      if (actor.state === state) return;
      write(`${actor.name} ${actor.state} → ${state} (${eventText(event.event)})`);
      actor.state = state;
    },
  };
};
