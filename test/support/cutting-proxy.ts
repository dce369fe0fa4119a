import net from 'node:net';
import { cleanup } from './environment.js';

/** A TCP proxy on loopback that can cut what goes through it, as a network does. */
export class CuttingProxy {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  cuts = 0;
  url = '';

  private constructor(private readonly target: URL) {
    this.#server = net.createServer((incoming) => this.#join(incoming));
  }

  /** In front of a server at this URL. It is closed after the test. */
  static async before(url: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(new URL(url));
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    const address = proxy.#server.address();
    proxy.url = `ws://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    cleanup(async () => {
      proxy.cut();
      await new Promise((resolve) => {
        proxy.#server.close(resolve);
      });
    });
    return proxy;
  }

  /** Ends every connection at once, without a word. */
  cut(): void {
    this.cuts++;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #join(incoming: net.Socket): void {
    const outgoing = net.connect({ host: this.target.hostname, port: Number(this.target.port) });
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => undefined); // it was cut
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
