import type { InspectionEvent, Observer } from 'xstate';
import type { Log } from '../log.js';

/**
 * Several observers as one, or undefined if there are none: then actors have nothing attached and pay
 * nothing. XState calls an observer in the middle of a transition, so what it throws must not get out: it is
 * logged, and that observer is left out from then on.
 */
export const combineObservers = (
  observers: readonly Observer<InspectionEvent>[],
  log: Log,
): Observer<InspectionEvent> | undefined => {
  if (observers.length === 0) return undefined;
  const attached = new Set(observers);
  return {
    next: (event) => {
      for (const observer of attached) {
        try {
          observer.next?.(event);
        } catch (error) {
          attached.delete(observer);
          log.warn({ err: error }, 'an observer of the actors failed, and is left out from now on');
        }
      }
    },
  };
};
