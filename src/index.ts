/** The public API: everything an embedder may rely on. */
export { DEFAULT_LIMITS, type Limits } from './limits.js';
export { createLog, type Log, type LogLevel, logLevels } from './log.js';
export { ListenUrlError, serve, type ServeOptions, type Serving } from './serve.js';
export { ExecServer, type ServerOptions } from './server.js';
export { Tokens } from './token.js';
export { memoryWires } from './wire/memory.js';
export { UnixSocketError } from './wire/unix.js';
export type { Framing, Wire, WireEvents } from './wire/wire.js';
