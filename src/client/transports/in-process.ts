import { createLog } from '../../log.js';
import { ExecServer } from '../../server.js';
import { directWire } from '../../wire/direct.js';
import { parseJson, type Transport, type TransportEvents } from '../transport.js';

/** A server of its own in this process, for one client. */
export const inProcessTransport = (): Transport => {
  let events: TransportEvents | undefined;
  const server = new ExecServer(createLog('warn'));
  const { wire, peer } = directWire({
    message: (text) => events?.message(parseJson(text)),
    closed: (reason) => events?.closed(reason),
  });
  return {
    open: (opened) => {
      events = opened;
      server.accept(wire);
    },
    send: (message) => peer.send(JSON.stringify(message)),
    close: async () => {
      peer.close();
      await server.close('its client has gone');
    },
  };
};
