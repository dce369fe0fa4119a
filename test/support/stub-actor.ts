import { type CallbackActorLogic, createActor, type EventObject, fromCallback } from 'xstate';
import type { ConnectionEmitted, connectionMachine } from '../../machines/connection.js';
import { connectionInput } from './machines.js';
import { initialize } from './requests.js';

/** In place of an actor that a connection makes when it is needed: keeps what it is asked. */
export class StubActor<C, E> {
  readonly commands: C[] = [];
  stopped = false;

  constructor(readonly tell: (event: E) => void) {}
}

/**
 * A connection that is ready, with stubs in place of one of its actors.
 *
 * @param provide the machine with that actor's logic
 */
export const connectionWith = <C extends EventObject, E extends EventObject>(
  provide: (logic: CallbackActorLogic<C>) => typeof connectionMachine,
  resumable: boolean,
): {
  made: StubActor<C, E>[];
  emitted: ConnectionEmitted[];
  actor: ReturnType<typeof createActor<typeof connectionMachine>>;
} => {
  const made: StubActor<C, E>[] = [];
  const logic = fromCallback<C>(({ sendBack, receive }) => {
    const stub = new StubActor<C, E>(sendBack);
    made.push(stub);
    receive((command) => stub.commands.push(command));
    return () => {
      stub.stopped = true;
    };
  });
  const actor = createActor(provide(logic), { input: connectionInput() });
  const emitted: ConnectionEmitted[] = [];
  actor.on('*', (event) => emitted.push(event));
  actor.start();
  actor.send(initialize('i', { resumable }));
  actor.send({ type: 'initialized' });
  emitted.splice(0);
  return { made, emitted, actor };
};
