import { once } from 'node:events';
import net from 'node:net';

/** What opens a WebSocket, besides the line of the request and its Host. */
export const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/**
 * Sends one request, exactly these lines, and resolves with all that comes until the server ends it; of a WebSocket
 * that was opened, with what comes first.
 *
 * @param to a port of 127.0.0.1, or the path of a Unix socket
 */
export const ask = async (to: number | string, lines: readonly string[]): Promise<string> => {
  const socket = typeof to === 'number' ? net.connect(to, '127.0.0.1') : net.connect(to);
  const over = once(socket, 'close');
  let answer = '';
  socket.setEncoding('latin1').on('data', (text) => {
    answer += String(text);
    if (answer.startsWith('HTTP/1.1 101 ') && answer.includes('\r\n\r\n')) socket.destroy();
  });
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  await over;
  return answer;
};

/** The status of an answer. */
export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
