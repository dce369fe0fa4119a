import type { Server } from 'node:net';

/** Prints the URL, as servers do that the load generator launches. */
export const listening = (server: Server): void => {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null)
      process.stdout.write(`ws://127.0.0.1:${address.port}\n`);
  });
};
