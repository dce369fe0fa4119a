import { expect } from 'chai';
import path from 'node:path';
import { createLog } from '../src/log.js';
import { ExecServer, type ServerOptions } from '../src/server.js';
import { bufferBytesOf, bytesCopiedBy, heapBytesOf } from './support/allocations.js';
import { connectStdio } from './support/client.js';
import { CountingWire } from './support/counting-wire.js';
import { cleanup, cookie } from './support/environment.js';
import { temporaryDirectory } from './support/files.js';
import { countingInto, movingCalls, whyNoStrace } from './support/syscalls.js';

/*
 * What makes the server fast, as counts: they say the same on a busy machine, where times say nothing (those are for
 * `npm run bench`). A change that needs a higher bound has to earn it.
 */
const MIB = 1024 * 1024;

/** Measured: 16 to 32. A pipe gives 64 KiB at most in a read, and `head` writes 8 KiB at a time: 16 to 128. */
const NOTIFICATIONS_A_MIB = 64;
/** Measured: 137 to 144. A terminal gives 4,095 bytes at most in a read: 257, if none were put together. */
const TTY_NOTIFICATIONS_A_MIB = 200;
/** Measured: 1.336. 4/3 is base64. */
const BYTES_SENT_A_BYTE = 1.36;
/** Measured: 1.002, 1.004 in a terminal. The copy into the log, and what is around each chunk. */
const BYTES_COPIED_A_BYTE = 1.05;
/** Measured: 1.37 to 1.39, 1.5 to 1.71 in a terminal. 4/3 is the base64 text of a chunk on its way to the buffer. */
const HEAP_BYTES_A_BYTE = 2;
/** Measured: 0.15 to 0.35. A block is used again, but one that is given back together with others is not. */
const BUFFER_BYTES_A_BYTE = 0.8;
/** Measured: 54 to 83, and on a busy machine 238: `head`, slowed by strace, is read at its heels, 8 KiB at a time. */
const CALLS_A_MIB = 288;
/** Measured: 307 to 354; 257 reads are the least, and each could be followed by a write. */
const TTY_CALLS_A_MIB = 544;

const FLOOD = 16 * MIB;
const TTY_FLOOD = 4 * MIB;

const head = (bytes: number): readonly string[] => ['head', '-c', String(bytes), '/dev/zero'];
const rawHead = (bytes: number): readonly string[] => [
  'sh',
  '-c',
  `stty raw -echo; exec head -c ${bytes} /dev/zero`,
];

/** A server in this process, and a client that takes all at once. */
const serve = async (options: ServerOptions = {}): Promise<CountingWire> => {
  const server = new ExecServer(createLog('silent'), options);
  cleanup(() => server.close('the test is over'));
  const wire = new CountingWire();
  server.accept(wire);
  await wire.initialize();
  return wire;
};

/** A server that is watched, and how many events its actors get while something runs. */
const watched = async (): Promise<{
  wire: CountingWire;
  eventsOf: (work: () => Promise<void>) => Promise<number>;
}> => {
  let events = 0;
  const wire = await serve({
    inspect: [
      {
        next: ({ type }) => {
          if (type === '@xstate.event') events++;
        },
      },
    ],
  });
  const eventsOf = async (work: () => Promise<void>): Promise<number> => {
    const before = events;
    await work();
    return events - before;
  };
  return { wire, eventsOf };
};

/** How many reads and writes a server makes over stdio, from its launch to its end, with one process. */
const callsOf = async (argv: readonly string[], tty: boolean): Promise<number> => {
  const file = path.join(temporaryDirectory(), 'calls');
  const client = await connectStdio([], cookie, countingInto(file));
  await client.initialize();
  await client.start('p', argv, { tty });
  await client.processClosed('p', 20_000);
  await client.close();
  return movingCalls(file);
};

describe('what a flood costs', () => {
  const floods = [
    { from: 'a pipe', argv: head(FLOOD), bytes: FLOOD, tty: false, most: NOTIFICATIONS_A_MIB },
    {
      from: 'a terminal',
      argv: rawHead(TTY_FLOOD),
      bytes: TTY_FLOOD,
      tty: true,
      most: TTY_NOTIFICATIONS_A_MIB,
    },
  ];

  for (const { from, argv, bytes, tty, most } of floods) {
    it(`few notifications, from ${from}`, async () => {
      const wire = await serve();
      await wire.run('p', argv, tty);
      expect(wire.outputBytes).to.equal(bytes);
      expect(wire.notifications / (bytes / MIB)).to.be.at.most(most);
      expect(wire.notifiedBytes / bytes).to.be.at.most(BYTES_SENT_A_BYTE);
    });

    it(`one copy of each byte, from ${from}`, async () => {
      const wire = await serve();
      const copied = await bytesCopiedBy(() => wire.run('p', argv, tty));
      // fewer would mean that they are no longer made in the way that is counted
      expect(copied / bytes).to.be.within(1, BYTES_COPIED_A_BYTE);
    });

    it(`no more of JavaScript's heap than its base64, from ${from}`, async () => {
      const wire = await serve();
      const allocated = await heapBytesOf(() => wire.run('p', argv, tty));
      expect(allocated / bytes).to.be.at.most(HEAP_BYTES_A_BYTE);
    });
  }

  it('buffers that are used again', async () => {
    const wire = await serve();
    const made = await bufferBytesOf(() => wire.run('p', head(4 * FLOOD)));
    expect(made / (4 * FLOOD)).to.be.at.most(BUFFER_BYTES_A_BYTE);
  });
});

describe('what the actors are told', () => {
  it('nothing of a chunk: as much of a process that prints 8 MiB as of one that prints nothing', async () => {
    const { wire, eventsOf } = await watched();
    const silent = await eventsOf(() => wire.run('silent', ['true']));
    expect(await eventsOf(() => wire.run('loud', head(8 * MIB)))).to.equal(silent);
    expect(silent).to.be.within(1, 7);
  });

  it('one event a request, and three if it is about a process', async () => {
    const { wire, eventsOf } = await watched();
    await wire.run('p', ['true']);
    const asked = (method: string, params: object): Promise<number> =>
      eventsOf(() => wire.call(method, params));
    expect(await asked('process/list', {})).to.equal(1);
    expect(await asked('process/read', { processId: 'p' })).to.equal(3);
  });
});

describe('what a flood asks of the system', () => {
  const why = whyNoStrace();
  // 16 reads a MiB are the least: where there are fewer, they have not been counted
  for (const { from, argv, bytes, tty, most } of [
    { from: 'a pipe', argv: head(FLOOD), bytes: FLOOD, tty: false, most: CALLS_A_MIB },
    { from: 'a terminal', argv: rawHead(TTY_FLOOD), bytes: TTY_FLOOD, tty: true, most: TTY_CALLS_A_MIB },
  ]) {
    const title = `few reads and writes, from ${from}`;
    if (why === undefined) {
      it(title, async () => {
        expect((await callsOf(argv, tty)) / (bytes / MIB)).to.be.within(16, most);
      });
    } else it.skip(`${title}: ${why}`);
  }
});
