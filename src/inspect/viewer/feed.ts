import type { ServerMessage } from '../messages.js';

/** The first try to reach the server again, and the longest time between two. */
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 5_000;

export type FeedEvents = {
  message(message: ServerMessage): void;
  connected(): void;
  /** It is tried again. */
  lost(): void;
  ended(): void;
};

/** The WebSocket to the server: tries again when it is lost, unless the server said that it ends. */
export class Feed {
  #socket: WebSocket | undefined;
  #retryMs = FIRST_RETRY_MS;
  #ended = false;

  constructor(private readonly events: FeedEvents) {
    this.#connect();
  }

  choose(key: number): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(String(key));
  }

  #connect(): void {
    const socket = new WebSocket(new URL('events', location.href.replace(/^http/, 'ws')));
    this.#socket = socket;
    socket.addEventListener('open', () => {
      this.#retryMs = FIRST_RETRY_MS;
      this.events.connected();
    });
    socket.addEventListener('message', ({ data }) => {
      const message: ServerMessage = JSON.parse(String(data));
      if (message.type === 'end') this.#ended = true;
      this.events.message(message);
    });
    socket.addEventListener('close', () => {
      if (this.#ended) {
        this.events.ended();
        return;
      }
      this.events.lost();
      setTimeout(() => this.#connect(), this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
    });
  }
}
