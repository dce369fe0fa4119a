type Dispatcher = NonNullable<RequestInit['dispatcher']>;

/** Where undici, which is behind fetch, keeps what fetch sends by. Its documentation names this key. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

const isDispatcher = (value: unknown): value is Dispatcher =>
  typeof value === 'object' &&
  value !== null &&
  ['dispatch', 'destroy'].every((method) => typeof Reflect.get(value, method) === 'function');

/**
 * What fetch is to send by: a connection for each request, closed after it, so that none is left behind; and no
 * time limits, since an event stream may be silent for as long as it likes. (fetch by itself gives up after
 * 5 minutes.) The caller destroys it.
 *
 * @returns undefined where undici is not the one we know; fetch then does as it does
 */
export const ownConnections = (): Dispatcher | undefined => {
  // loads undici
  void Headers;
  const ofAll: unknown = Reflect.get(globalThis, GLOBAL_DISPATCHER);
  if (!isDispatcher(ofAll)) return undefined;
  const own: unknown = Reflect.construct(ofAll.constructor, [
    { pipelining: 0, headersTimeout: 0, bodyTimeout: 0 },
  ]);
  return isDispatcher(own) ? own : undefined;
};
