import { WebSocket } from 'ws';
import { type Loopback, unguessablePath } from './loopback.js';
import { page, pageHeaders } from './page.js';

/** A page that is opened late gets this much of what was, so that it knows the actors that live. */
const MAX_KEPT_MESSAGES = 500;
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/** A viewer that is so far behind is cut off: it must not fill the memory of the server. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024;

export type Relay = {
  /** Where viewers get the messages: `ws://127.0.0.1:PORT/TOKEN`. */
  readonly url: string;
  /** The page to open in a browser: the same with `http`. */
  readonly pageUrl: string;
  /** Sends a message to every viewer, and keeps it for later ones, until the last one has gone. */
  publish(message: string): void;
};

/** The newest messages, oldest first. */
class History {
  readonly messages: string[] = [];
  #length = 0;

  add(message: string): void {
    this.messages.push(message);
    this.#length += message.length;
    while (this.messages.length > MAX_KEPT_MESSAGES || this.#length > MAX_KEPT_BYTES) {
      this.#length -= this.messages.shift()?.length ?? 0;
    }
  }

  clear(): void {
    this.messages.length = 0;
    this.#length = 0;
  }
}

/**
 * Serves Stately's viewer, in a frame of a page that hands it what the relay sends: the viewer itself opens no
 * socket.
 *
 * @param looking is told when the first viewer comes, and when the last one has gone
 */
export const serveRelay = (server: Loopback, looking: (isLookedAt: boolean) => void): Relay => {
  const path = unguessablePath();
  const history = new History();
  const viewers = new Set<WebSocket>();

  server.serve(path, {
    get: (response) => void response.writeHead(200, pageHeaders(server.host)).end(page),
    socket: (viewer) => {
      for (const message of history.messages) viewer.send(message);
      viewers.add(viewer);
      if (viewers.size === 1) looking(true);
      viewer.on('close', () => {
        viewers.delete(viewer);
        if (viewers.size > 0) return;
        looking(false);
        history.clear();
      });
    },
  });

  return {
    url: `ws://${server.host}${path}`,
    pageUrl: `http://${server.host}${path}`,
    publish: (message) => {
      history.add(message);
      for (const viewer of viewers) {
        if (viewer.bufferedAmount > MAX_UNSENT_BYTES) viewer.terminate();
        else if (viewer.readyState === WebSocket.OPEN) viewer.send(message);
      }
    },
  };
};
