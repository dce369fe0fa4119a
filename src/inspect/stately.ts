import { setTimeout as wait } from 'node:timers/promises';
import { createInspector } from '@statelyai/inspect';
import type { ActorRefLike, AnyActorRef, InspectionEvent } from 'xstate';
import type { Loopback } from './loopback.js';
import { redacted } from './redact.js';
import { type Relay, serveRelay } from './relay.js';
import { childrenOf, type Roots, type Watcher } from './roots.js';

/** The actor as it may be shown. The inspector asks for its snapshot a turn later: now it has none yet. */
const shown = (actorRef: ActorRefLike, name: string): ActorRefLike => {
  const getSnapshot = (): unknown => {
    try {
      return redacted(actorRef.getSnapshot());
    } catch {
      return { status: 'active' }; // thrown here, from a timer, it would take the server with it
    }
  };
  return Object.create(actorRef, { getSnapshot: { value: getSnapshot }, id: { value: name } });
};

/** Hands Stately's inspector what it may see: it makes texts of snapshots first, and asks its sanitizers after. */
const statelyWatcher = (roots: Roots, send: (message: string) => void): Watcher => {
  const { inspect } = createInspector({ send: (event) => send(JSON.stringify(event)) });
  const tell = (actorRef: ActorRefLike, rootId: string): void =>
    inspect.next?.({ type: '@xstate.actor', actorRef: shown(actorRef, roots.nameOf(actorRef)), rootId });
  const tellAll = (actor: AnyActorRef, rootId: string): void => {
    tell(actor, rootId);
    for (const child of childrenOf(actor)) tellAll(child, rootId);
  };
  const next = (event: InspectionEvent): void => {
    switch (event.type) {
      case '@xstate.actor':
        tell(event.actorRef, event.rootId);
        break;
      case '@xstate.event':
        inspect.next?.({ ...event, event: redacted(event.event) });
        break;
      case '@xstate.snapshot':
        inspect.next?.({ ...event, event: redacted(event.event), snapshot: redacted(event.snapshot) });
        break;
      case '@xstate.action':
      case '@xstate.microstep':
      case '@xstate.transition':
        break; // the inspector has no use for them
    }
  };
  return {
    observer: { next },
    root: ({ actor }) => tellAll(actor, actor.sessionId),
    ended: () => undefined, // its last snapshot says so
  };
};

/** Stately's viewer, and how to let its last messages out before the server is closed. */
export type StatelyPage = Pick<Relay, 'url' | 'pageUrl'> & { flush(): Promise<void> };

/**
 * Serves the Stately inspector. The events go from it to the relay by a call: its own WebSocket client would try
 * again every 5 s for ever and outlive its `stop`, its own server listens on all interfaces for everybody, and
 * its Sky variant sends all to a third party. Actors are watched only while a viewer is connected.
 */
export const serveStately = (server: Loopback, roots: Roots): StatelyPage => {
  let stop: (() => void) | undefined;
  const relay = serveRelay(server, (isLookedAt) => {
    stop?.();
    stop = isLookedAt ? roots.watch(statelyWatcher(roots, (message) => relay.publish(message))) : undefined;
  });
  return {
    url: relay.url,
    pageUrl: relay.pageUrl,
    // the inspector passes an event on from a timer of 0 ms: the last ones are still to come
    flush: () => wait(1),
  };
};
