/** What a server of `http` and `ws` alone can do: it parses each message, and has one answer. Run by run.ts. */
import http from 'node:http';
import { WebSocketServer } from 'ws';
import { listening } from './listening.js';

const sockets = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false });
const server = http.createServer();
server.on('upgrade', (request, socket, head) => {
  sockets.handleUpgrade(request, socket, head, (webSocket) => {
    webSocket.on('message', (data: Buffer) => {
      const message: unknown = JSON.parse(data.toString());
      if (typeof message !== 'object' || message === null || !('id' in message)) return;
      const result = { protocolVersion: 'exec-server.v0', sessionId: 'x'.repeat(36), chunks: [], nextSeq: 1 };
      webSocket.send(JSON.stringify({ id: message.id, result }));
    });
  });
});
listening(server);
