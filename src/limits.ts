/** What a client may make this server hold at most, so that none can bring it down for the others. */
export type Limits = {
  /** Open at a time, to the listener. */
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** Open or waiting for their clients. */
  readonly sessions: number;
  /** Starting, running, or exited and not closed. */
  readonly processes: number;
  readonly processesPerSession: number;
  /** Not answered yet, of one connection. */
  readonly requests: number;
  /** `process/read` that waits, of one connection. */
  readonly parkedReads: number;
  readonly messageBytes: number;
  readonly jsonValues: number;
  /** Memory for the output of all processes, in bytes. */
  readonly retainedBytes: number;
};

export type LimitName = keyof Limits;

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: Limits = {
  // a connection costs a descriptor and some 50 KiB; the usual limit of descriptors is some thousands
  connections: 1_024,
  // behind a proxy or ssh all clients come from one address: stricter is for who knows better
  connectionsPerAddress: 1_024,
  // each connection has one, and as many may wait for clients that lost theirs
  sessions: 2_048,
  // two to four descriptors each
  processes: 4_096,
  // a quarter of the server: four clients that leak processes don't stop a fifth any sooner than a second
  processesPerSession: 1_024,
  // far more than a client asks for at a time that waits for its answers
  requests: 1_024,
  // one for each process of a session
  parkedReads: 1_024,
  // a file of 34 MiB as base64 is a third longer
  messageBytes: 64 * MIB,
  // 10 to 50 MiB once they are built; argv and env of a process are some thousands
  jsonValues: 262_144,
  // a thousand processes that each keep the 1 MiB they may by default
  retainedBytes: 1024 * MIB,
};

/** How each is set, and what it counts. */
const names: Readonly<Record<LimitName, readonly [flag: string, counted: string]>> = {
  connections: ['max-connections', 'connections'],
  connectionsPerAddress: ['max-connections-per-address', 'connections from one address'],
  sessions: ['max-sessions', 'sessions, open or waiting for their clients'],
  processes: ['max-processes', 'processes on this server'],
  processesPerSession: ['max-processes-per-session', 'processes in this session'],
  requests: ['max-requests', 'requests in flight on this connection'],
  parkedReads: ['max-parked-reads', 'reads that wait on this connection'],
  messageBytes: ['max-message-bytes', 'bytes in a message'],
  jsonValues: ['max-json-values', 'JSON values in a message'],
  retainedBytes: ['max-retained-bytes', 'bytes of retained output'],
};

/** The sentence that refuses what would be one too many. */
export const limitReached = (name: LimitName, limits: Limits): string => {
  const [flag, counted] = names[name];
  return `limit reached: ${limits[name]} ${counted} (--${flag})`;
};
