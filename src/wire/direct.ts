import { lineFraming } from './framing.js';
import type { Wire, WireEvents } from './wire.js';

/** The other end of a direct wire. */
export type DirectPeer = {
  /** Gives the server one message. */
  send(text: string): void;
  close(): void;
};

/**
 * A wire to somebody in this process: messages stay text, and are never made bytes. What is sent is
 * delivered in a later turn, as over any wire, so that nobody is called from within their own call.
 */
export const directWire = (listener: {
  message(text: string): void;
  closed(reason: string): void;
}): { wire: Wire; peer: DirectPeer } => {
  let events: WireEvents | undefined;
  let closed = false;
  const close = (reason: string): void => {
    if (closed) return;
    closed = true;
    events?.closed(reason);
    listener.closed(reason);
  };
  const wire: Wire = {
    name: 'in process',
    framing: lineFraming,
    canResume: false,
    open: (opened) => {
      events = opened;
    },
    sendText: (text) => {
      if (!closed) listener.message(text);
    },
    write: () => true,
    pause: () => undefined,
    resume: () => undefined,
    close,
  };
  const send = (text: string): void => {
    setImmediate(() => {
      if (!closed) events?.message(text);
    });
  };
  return { wire, peer: { send, close: () => close('the client closed it') } };
};
