import { isUtf8 } from 'node:buffer';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { webSocketFraming } from './framing.js';
import { bytesOf } from './raw-data.js';
import { StreamWriter } from './stream-writer.js';
import type { Traffic, Wire, WireEvents } from './wire.js';

/** A peer is asked for a sign of life this often, and dropped when it missed two (docs/protocol.md section 6). */
const PING_INTERVAL_MS = 30_000;

/** A peer that doesn't answer a close frame within this time isn't waited for. */
const CLOSE_TIMEOUT_MS = 2_000;

/** What came from the peer so far, if the stream counts it, as a socket does. */
const bytesReadOf = (stream: Duplex): number =>
  'bytesRead' in stream && typeof stream.bytesRead === 'number' ? stream.bytesRead : 0;

/**
 * One WebSocket. `ws` did the handshake and does receiving, ping and close; frames of ours go straight to
 * the socket (see webSocketFraming), each in one write, so they don't mix with those that `ws` writes.
 */
export const webSocketWire = (
  name: string,
  socket: WebSocket,
  stream: Duplex,
  { principal, handshakeTimeoutMs }: Pick<Wire, 'principal' | 'handshakeTimeoutMs'> = {},
): Wire => {
  let events: WireEvents | undefined;
  let closed = false;
  let missedPings = 0;
  let failure: string | undefined;

  const writer = new StreamWriter(stream, () => events?.drain());

  let bytesBefore = bytesReadOf(stream);
  const pinger = setInterval(() => {
    // while we don't read, the answers can't be seen
    if (socket.isPaused) return;
    // a pong has to wait for the end of the frame that is being sent, which may take minutes: all is a sign of life
    const bytes = bytesReadOf(stream);
    if (bytes !== bytesBefore) missedPings = 0;
    bytesBefore = bytes;
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
    canResume: true,
    principal,
    handshakeTimeoutMs,
    open: (listener) => {
      events = listener;
      socket.on('message', (data) => {
        if (closed) return;
        const bytes = bytesOf(data);
        // ws checks text messages only
        if (isUtf8(bytes)) listener.message(bytes.toString('utf8'));
        else listener.malformed('the message is not UTF-8');
      });
      // a frame that breaks RFC 6455, or a message that is too long: ws closes with the right code
      socket.on('error', (error) => {
        failure ??= error.message;
      });
      socket.on('close', (code) => over(`closed with code ${code}`));
    },
    get traffic(): Traffic {
      return stream instanceof net.Socket
        ? { received: stream.bytesRead, sent: stream.bytesWritten }
        : { received: 0, sent: 0 };
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
