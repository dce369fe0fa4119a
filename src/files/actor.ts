import { type CallbackActorLogic, fromCallback } from 'xstate';
import type { Reply } from '../../machines/reply.js';
import { EncodedJson } from '../encoded-json.js';
import { sessionEnded } from './errors.js';
import { FileService } from './service.js';
import type { FileRequest } from './request.js';

export type FileCommand = FileRequest | { readonly type: 'session.end' };

/** What a connection hears from its files. */
export type FileEvent = Reply | { readonly type: 'files.closed' };

/**
 * What is still under way when the session ends may take this long, then it is broken off. A call into a dead
 * network file system may never return.
 */
const END_MS = 2_000;

/**
 * Serves the files of one connection: every request at once, each answered when it is done, so that none
 * waits for another. The handles that its client opened are closed with it.
 *
 * @param endMs what is under way at the end of the session is broken off after so many milliseconds
 */
export const serveFiles = (endMs: number): CallbackActorLogic<FileCommand> =>
  fromCallback<FileCommand>(({ sendBack, receive }) => {
    const service = new FileService();
    const unanswered = new Set<FileRequest>();
    let timer: NodeJS.Timeout | undefined;
    let ending = false;
    let stopped = false;

    const tell = (event: FileEvent): void => {
      if (!stopped) sendBack(event);
    };

    const close = async (): Promise<void> => {
      clearTimeout(timer);
      timer = undefined;
      await service.close();
      tell({ type: 'files.closed' });
    };

    const answer = (request: FileRequest, reply: Reply): void => {
      if (!unanswered.delete(request)) return;
      tell(reply);
      if (ending && unanswered.size === 0) void close();
    };

    const serve = async (request: FileRequest): Promise<void> => {
      unanswered.add(request);
      const outcome = await service.serve(request);
      const { id } = request;
      answer(
        request,
        outcome instanceof EncodedJson
          ? { type: 'reply.encoded', id, result: outcome }
          : { type: 'reply', id, ...outcome },
      );
    };

    const end = (): void => {
      ending = true;
      if (unanswered.size === 0) {
        void close();
        return;
      }
      timer = setTimeout(() => {
        service.abort();
        const error = sessionEnded().rpcError;
        for (const { id } of unanswered) tell({ type: 'reply', id, error });
        unanswered.clear();
        // what hangs keeps its handle from being closed: not waited for
        void service.close();
        tell({ type: 'files.closed' });
      }, endMs);
    };

    receive((command) => {
      if (command.type === 'session.end') end();
      else void serve(command);
    });
    return () => {
      stopped = true;
      clearTimeout(timer);
      service.abort();
      void service.close();
    };
  });

export const filesActor = serveFiles(END_MS);
