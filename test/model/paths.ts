import {
  type ActorLogic,
  type ActorSystem,
  type ActorSystemInfo,
  type AnyStateMachine,
  type AnyStateNode,
  type EventObject,
  type Snapshot,
  type StateValue,
  transition,
} from 'xstate';
import { getShortestPaths } from 'xstate/graph';

export type Step<S, N> = { readonly name: N; readonly before: S; readonly after: S };

/** A way through a chart: from its first state, event by event. */
export type Path<S, N> = { readonly steps: readonly Step<S, N>[]; readonly state: S };

type Leg<E> = { readonly name: string; readonly event: E };

/** Every state of a chart in which there is no other one, by its path in the chart: `live.exited.draining`. */
export const leavesOf = (machine: AnyStateMachine): string[] => {
  const leaves = (node: AnyStateNode): AnyStateNode[] => {
    const inner = Object.values(node.states);
    return inner.length === 0 ? [node] : inner.flatMap(leaves);
  };
  return leaves(machine.root).map(({ path }) => path.join('.'));
};

/** The innermost state that a snapshot is in, by its path in the chart; no chart here has parallel ones. */
export const leafOf = ({ value }: { readonly value: StateValue }): string =>
  typeof value === 'string'
    ? value
    : Object.entries(value)
        .map(([outer, inner]) => (inner === undefined ? outer : `${outer}.${leafOf({ value: inner })}`))
        .join();

/** Every event for which some state of a chart has a transition; of delays the names that XState gives them. */
export const eventsOf = (machine: AnyStateMachine): string[] => {
  const events = (node: AnyStateNode): string[] => [
    ...node.ownEvents,
    ...Object.values(node.states).flatMap(events),
  ];
  return [...new Set(events(machine.root))].sort();
};

/**
 * The shortest path over each arrow: from a state by an event into a state. Events without an effect are
 * arrows, too, from a state to itself.
 *
 * @param legs the events, each under the name of its entry; there may be several of one type
 * @param comes can an event come about in a state?
 * @param keyOf what makes two states the same
 */
export const pathsOver = <
  S extends Snapshot<unknown> & { readonly value: unknown },
  E extends EventObject,
  I,
  T extends EventObject,
  N extends string,
>(
  logic: ActorLogic<S, E, I, ActorSystem<ActorSystemInfo>, T>,
  input: I,
  legs: readonly (Leg<E> & { readonly name: N })[],
  comes: (name: N, state: S) => boolean,
  keyOf: (state: S) => string,
): Path<S, N>[] => {
  const nameOf = (event: EventObject | undefined): N | undefined =>
    legs.find((leg) => leg.event === event)?.name;
  const ways = getShortestPaths(logic, {
    input,
    events: (state) =>
      state.status === 'active'
        ? legs.filter(({ name }) => comes(name, state)).map(({ event }) => event)
        : [],
    serializeState: (state, event, before) => JSON.stringify([keyOf(state), nameOf(event), before?.value]),
    serializeEvent: (event) => nameOf(event) ?? event.type,
  });
  // where several states count as one, each path gets those that it leads through itself
  return ways.map(({ steps: [first, ...rest], state: end }) => {
    let state = first?.state ?? end;
    const steps: Step<S, N>[] = [];
    for (const { event } of rest) {
      const name = nameOf(event);
      if (name === undefined) throw new Error(`an event that nobody gave: ${event.type}`);
      const before = state;
      [state] = transition(logic, before, event);
      steps.push({ name, before, after: state });
    }
    return { steps, state };
  });
};

/** What a path needed was over before it was there: this machine was too slow for the times that it was given. */
export class TooSlow extends Error {}

/** So often a path is tried, each time with times twice as long. */
const ATTEMPTS = 5;

/** So many at a time: more would only wait for each other. */
const LANES = 24;

/**
 * Runs each path, some at a time. Resolves with what went wrong, with the path before it.
 *
 * @param run gets the path, and by how much its times are to be longer than usual
 */
export const failuresOf = async <S, N>(
  paths: readonly Path<S, N>[],
  run: (path: Path<S, N>, slowness: number) => Promise<void>,
): Promise<string[]> => {
  const failures: string[] = [];
  const waiting = [...paths];
  const attempt = async (path: Path<S, N>): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        await run(path, 2 ** (tries - 1));
        return;
      } catch (error) {
        if (!(error instanceof TooSlow) || tries === ATTEMPTS) throw error;
      }
    }
  };
  const lane = async (): Promise<void> => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      try {
        await attempt(path);
      } catch (error) {
        const names = path.steps.map(({ name }) => name).join(', ');
        failures.push(`[${names}]: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return failures;
};
