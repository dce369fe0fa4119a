import { setTimeout as sleep } from 'node:timers/promises';
import { connectWebSocket, type Incoming, type TestClient } from '../support/client.js';
import { eventually, hasEnded } from '../support/processes.js';

/** A session that can be asked for again where its server listens. */
export const resume = async (
  url: string,
  sessionId: string,
): Promise<{ client: TestClient; error: Incoming['error'] }> => {
  const client = await connectWebSocket(url);
  for (;;) {
    const { error } = await client.call('initialize', { clientName: 'model', resumeSessionId: sessionId });
    // the server has not heard yet that the other wire has gone
    if (error?.code !== -32010) return { client, error };
  }
};

/** Resolves when a server has given up another session, which is left now: any that was left before is over, too. */
export const outlastSession = async (url: string): Promise<void> => {
  const witness = await connectWebSocket(url);
  await witness.initialize({ resumeSessionId: null });
  await witness.start('witness', ['sleep', '300']);
  const [{ pid } = { pid: null }] = await witness.list();
  await witness.close();
  await eventually(() => pid !== null && hasEnded(pid), 'the end of a session');
};

/** Nobody is told when a process is evicted: it is asked for now and then. */
const LOOK_EVERY_MS = 20;

/** Resolves when a server knows nothing of a process any more. */
export const evicted = async (client: TestClient, processId: string): Promise<void> => {
  while ((await client.list()).some((known) => known.processId === processId)) await sleep(LOOK_EVERY_MS);
};
