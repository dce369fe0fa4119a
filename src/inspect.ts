import { setTimeout as wait } from 'node:timers/promises';
import { createInspector } from '@statelyai/inspect';
import type { ActorRefLike, InspectionEvent, Observer } from 'xstate';
import { redacted } from './inspect/redact.js';
import { type Relay, startRelay } from './inspect/relay.js';

export type Inspector = Pick<Relay, 'url' | 'pageUrl' | 'close'> & {
  /** To be attached to every root actor. */
  readonly observer: Observer<InspectionEvent>;
};

/** The actor as it may be shown. The inspector asks for its snapshot a turn later: now it has none yet. */
const shown = (actorRef: ActorRefLike): ActorRefLike => {
  const getSnapshot = (): unknown => {
    try {
      return redacted(actorRef.getSnapshot());
    } catch {
      return { status: 'active' }; // thrown here, from a timer, it would take the server with it
    }
  };
  return Object.create(actorRef, { getSnapshot: { value: getSnapshot } });
};

/**
 * Starts the Stately inspector behind a relay on loopback (src/inspect/relay.ts). Everything is redacted
 * before the inspector gets it: it makes texts of snapshots first and asks its sanitizers afterwards.
 *
 * The events go from the inspector to the relay by a call. Its own WebSocket client would try again every
 * 5 s for ever and outlive its `stop`, its own server listens on all interfaces for everybody, and its Sky
 * variant sends all to a third party.
 *
 * @param port of the relay; 0: a free one. Rejects with the system's error if it can't be bound.
 */
export const startInspector = async (port: number): Promise<Inspector> => {
  const relay = await startRelay(port);
  const { inspect } = createInspector({ send: (event) => relay.publish(JSON.stringify(event)) });
  return {
    url: relay.url,
    pageUrl: relay.pageUrl,
    observer: {
      next: (event) => {
        switch (event.type) {
          case '@xstate.actor':
            inspect.next?.({ ...event, actorRef: shown(event.actorRef) });
            break;
          case '@xstate.event':
            inspect.next?.({ ...event, event: redacted(event.event) });
            break;
          case '@xstate.snapshot':
            inspect.next?.({
              ...event,
              event: redacted(event.event),
              snapshot: redacted(event.snapshot),
            });
            break;
          case '@xstate.action':
          case '@xstate.microstep':
          case '@xstate.transition':
            break; // the inspector has no use for them
        }
      },
    },
    close: async () => {
      // the inspector passes an event on from a timer of 0 ms: the last ones are still to come
      await wait(1);
      await relay.close();
    },
  };
};
