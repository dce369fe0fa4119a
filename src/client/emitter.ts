type Listeners<Events extends object> = { [K in keyof Events]?: Set<(event: Events[K]) => void> };

/** Typed events, without Node's module of that name. The names are the type's, not a client's. */
export class Emitter<Events extends object> {
  readonly #listeners: Listeners<Events> = {};

  /** Calls `listener` for each event of this name, until the function returned is called. */
  on<K extends keyof Events>(name: K, listener: (event: Events[K]) => void): () => void {
    const listeners = (this.#listeners[name] ??= new Set());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  protected emit<K extends keyof Events>(name: K, event: Events[K]): void {
    for (const listener of this.#listeners[name] ?? []) listener(event);
  }
}
