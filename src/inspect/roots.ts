import {
  type ActorRefLike,
  type AnyActorRef,
  type InspectionEvent,
  isMachineSnapshot,
  type Observer,
  type Subscription,
} from 'xstate';
import type { Log } from '../log.js';
import { combineObservers } from './observers.js';
import { actorNames } from './names.js';

/** The actor of one session. */
export type Root = {
  readonly actor: AnyActorRef;
  /** `connection 3`: numbered from 1 as they come. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
};

/** Who looks at the actors for a while. */
export type Watcher = {
  readonly observer: Observer<InspectionEvent>;
  /** A root that is there already, or that has just come; before its first event. */
  root(root: Root): void;
  /** A root has ended. */
  ended(root: Root, crashed: boolean): void;
};

/** The actors that an actor has started and that still live. */
export const childrenOf = (actor: ActorRefLike): AnyActorRef[] => {
  const snapshot: unknown = actor.getSnapshot();
  if (!isMachineSnapshot(snapshot)) return [];
  return Object.values<AnyActorRef | undefined>(snapshot.children).filter((child) => child !== undefined);
};

/**
 * The actors of all sessions that live, for whoever comes to look. XState calls nobody, and pays nothing, as
 * long as nobody does.
 */
export class Roots {
  readonly #roots = new Map<object, Root>();
  readonly #watchers = new Map<Watcher, Map<Root, Subscription>>();
  /** What people call an actor: `connection 3`, `process build-1`, `child of process build-1`. */
  readonly nameOf = actorNames(' ');

  constructor(private readonly log: Log) {}

  /** To be called with every root actor before it is started. */
  add(actor: AnyActorRef): void {
    const root: Root = { actor, name: this.nameOf(actor), createdAt: Date.now() };
    this.#roots.set(actor, root);
    for (const watcher of this.#watchers.keys()) this.#attach(watcher, root);
    actor.subscribe({ complete: () => this.#remove(root, false), error: () => this.#remove(root, true) });
  }

  /** Attaches the watcher to every root, until the function that is returned is called. */
  watch(watcher: Watcher): () => void {
    this.#watchers.set(watcher, new Map());
    for (const root of this.#roots.values()) this.#attach(watcher, root);
    return () => {
      for (const subscription of this.#watchers.get(watcher)?.values() ?? []) subscription.unsubscribe();
      this.#watchers.delete(watcher);
    };
  }

  #attach(watcher: Watcher, root: Root): void {
    watcher.root(root);
    // what an observer throws would end up in the middle of a transition
    const observer = combineObservers([watcher.observer], this.log);
    if (observer !== undefined) this.#watchers.get(watcher)?.set(root, root.actor.system.inspect(observer));
  }

  #remove(root: Root, crashed: boolean): void {
    this.#roots.delete(root.actor);
    for (const [watcher, subscriptions] of this.#watchers) {
      watcher.ended(root, crashed);
      // its last snapshot is told after this: the observer goes with its system
      subscriptions.delete(root);
    }
  }
}
