import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { webSocketFraming } from './framing.js';
import { StreamWriter } from './stream-writer.js';
import type { Wire, WireEvents } from './wire.js';

/** A peer is asked for a sign of life this often, and dropped when it missed two (docs/protocol.md section 6). */
const PING_INTERVAL_MS = 30_000;

/** A peer that doesn't answer a close frame within this time isn't waited for. */
const CLOSE_TIMEOUT_MS = 2_000;

const textOf = (data: RawData): string => {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
};

/**
 * One WebSocket. `ws` did the handshake and does receiving, ping and close; frames of ours go straight to
 * the socket (see webSocketFraming), each in one write, so they don't mix with those that `ws` writes.
 */
export const webSocketWire = (name: string, socket: WebSocket, stream: Duplex): Wire => {
  let events: WireEvents | undefined;
  let closed = false;
  let missedPings = 0;
  let failure: string | undefined;

  const writer = new StreamWriter(stream, () => events?.drain());

  const alive = (): void => {
    missedPings = 0;
  };
  const pinger = setInterval(() => {
    if (missedPings >= 2) {
      failure = 'the peer missed two pings';
      socket.terminate();
      return;
    }
    missedPings++;
    socket.ping();
  }, PING_INTERVAL_MS);

  const over = (reason: string): void => {
    if (closed) return;
    closed = true;
    clearInterval(pinger);
    events?.closed(failure ?? reason);
  };

  return {
    name,
    framing: webSocketFraming,
    open: (listener) => {
      events = listener;
      socket.on('message', (data) => {
        alive();
        if (!closed) listener.message(textOf(data));
      });
      socket.on('pong', alive);
      socket.on('ping', alive);
      // a frame that breaks RFC 6455, or a message that is too long: ws closes with the right code
      socket.on('error', (error) => {
        failure ??= error.message;
      });
      socket.on('close', (code) => over(`closed with code ${code}`));
    },
    write: (bytes) => writer.write(bytes),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: (reason) => {
      if (closed) return;
      failure ??= reason;
      socket.resume();
      socket.close(1000);
      const timer = setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS);
      socket.once('close', () => clearTimeout(timer));
      over(reason);
    },
  };
};
