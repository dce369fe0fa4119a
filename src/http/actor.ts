import { fromCallback } from 'xstate';
import type { Notification, Reply } from '../../machines/reply.js';
import { HttpService } from './service.js';
import type { HttpRequest } from './request.js';

export type HttpCommand = HttpRequest | { readonly type: 'session.end' };

/** What a connection hears of its HTTP requests. */
export type HttpEvent = Reply | Notification | { readonly type: 'http.closed' };

/**
 * Sends the HTTP requests of one connection. What is under way when the session ends is broken off, and its
 * client told; when the wire ends, nobody is.
 */
export const httpActor = fromCallback<HttpCommand>(({ sendBack, receive }) => {
  let stopped = false;
  const tell = (event: HttpEvent): void => {
    if (!stopped) sendBack(event);
  };
  const service = new HttpService(tell);
  const underWay = new Set<Promise<void>>();

  const serve = async (request: HttpRequest): Promise<void> => {
    const served = service.serve(request);
    underWay.add(served);
    await served;
    underWay.delete(served);
  };

  const end = async (): Promise<void> => {
    service.abort();
    await Promise.all(underWay);
    await service.close();
    tell({ type: 'http.closed' });
  };

  receive((command) => {
    if (command.type === 'session.end') void end();
    else void serve(command);
  });
  return () => {
    stopped = true;
    service.abort();
    void service.close();
  };
});
