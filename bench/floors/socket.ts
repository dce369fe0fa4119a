/** The least that a Node can do for a WebSocket: no HTTP, no `ws`, one canned answer. Run by run.ts. */
import { createHash } from 'node:crypto';
import net from 'node:net';
import { listening } from './listening.js';

/** RFC 6455 section 1.3. */
const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const handshake = (request: string): string => {
  const key = /^sec-websocket-key: (\S+)/im.exec(request)?.[1] ?? '';
  const accept = createHash('sha1').update(`${key}${MAGIC}`).digest('base64');
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    '\r\n',
  ].join('\r\n');
};

/** The first message of a connection has this number. */
const ANSWER = JSON.stringify({
  id: 1,
  result: { protocolVersion: 'exec-server.v0', sessionId: 'x'.repeat(36) },
});
const FRAME = Buffer.concat([Buffer.from([0x81, ANSWER.length]), Buffer.from(ANSWER)]);

const server = net.createServer({ noDelay: true }, (socket) => {
  socket.once('data', (request) => {
    socket.write(handshake(request.toString('latin1')));
    socket.once('data', () => socket.write(FRAME));
  });
  socket.on('error', () => undefined); // the client is gone
});
listening(server);
