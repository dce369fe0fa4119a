import { expect } from 'chai';
import { NotificationEncoder, processNames } from '../../src/output/encode.js';
import { OutputLog } from '../../src/output/log.js';
import { OutputMemory } from '../../src/output/memory.js';
import { reader } from '../support/machines.js';

const KiB = 1024;

/** A memory that tells how much of it is taken. */
class CountedMemory extends OutputMemory {
  bytes = 0;

  override grown(bytes: number): void {
    this.bytes += bytes;
    super.grown(bytes);
  }

  override shrunk(bytes: number): void {
    this.bytes -= bytes;
    super.shrunk(bytes);
  }
}

const newLog = (memory: OutputMemory, { cap = KiB * KiB, window = Infinity } = {}): OutputLog => {
  const log = new OutputLog(cap, new NotificationEncoder('p', processNames), window);
  log.countIn(memory);
  return log;
};

const print = (log: OutputLog, bytes: number): void => log.append('stdout', new Uint8Array(bytes), bytes);

const retained = (log: OutputLog): number =>
  log.page(0, Infinity, false).chunks.reduce((sum, { length }) => sum + length, 0);

/** Sends all that waits, as the outbox does. */
const sendAll = (log: OutputLog): number => {
  let bytes = 0;
  for (let record = log.peekUnsent(); record !== undefined; record = log.peekUnsent()) {
    if (record.kind === 'chunk') bytes += record.length;
    log.takeUnsent();
  }
  log.sent();
  return bytes;
};

describe('the memory of all output', () => {
  it('is told of blocks as they come and go, and is empty when all is released', () => {
    const memory = new CountedMemory(Infinity);
    const flood = newLog(memory, { cap: 100 * KiB });
    const short = newLog(memory);
    print(short, 10);
    expect(memory.bytes).to.equal(4 * KiB);
    for (let round = 0; round < 100; round++) print(flood, 50_000);
    // the cap, a block that is not full, one that is half dropped, one that is free
    expect(memory.bytes).to.be.within(100 * KiB, (4 + 100 + 3 * 64) * KiB);
    flood.closed();
    flood.release();
    expect(memory.bytes).to.equal(4 * KiB);
    short.release();
    expect(memory.bytes).to.equal(0);
  });

  it('takes from the closed ones, the first of them first, and no more than it must', () => {
    const memory = new CountedMemory(32 * KiB);
    const first = newLog(memory);
    const second = newLog(memory);
    const third = newLog(memory);
    const running = newLog(memory);
    for (const log of [running, third, second, first]) print(log, 4 * KiB);
    for (const log of [first, second, third]) log.closed();
    expect(memory.bytes).to.equal(16 * KiB);
    print(running, 10 * KiB);
    expect([first, second, third, running].map(retained)).to.deep.equal([0, 0, 4 * KiB, 14 * KiB]);
    expect([first.droppedBytes, second.droppedBytes]).to.deep.equal([4 * KiB, 4 * KiB]);
    print(running, 100 * KiB);
    expect([third, running].map(retained)).to.deep.equal([0, 114 * KiB]);
  });

  it('takes from one that closes while too much is taken, but never what is unsent', () => {
    const memory = new CountedMemory(1);
    const log = newLog(memory);
    log.attach(reader);
    print(log, 50_000);
    expect(sendAll(log)).to.equal(50_000);
    print(log, 20_000);
    log.exited(0, null, 'exited');
    log.closed();
    expect(retained(log)).to.equal(20_000);
    expect(sendAll(log)).to.equal(20_000);
    expect([retained(log), log.droppedBytes, memory.bytes]).to.deep.equal([0, 70_000, 0]);
    expect(log.hasEventAfter(0)).to.equal(true);
  });

  it('leaves what a client with a window has not taken', () => {
    const memory = new CountedMemory(1);
    const log = newLog(memory, { window: 100 * KiB });
    log.attach(reader);
    print(log, 30_000);
    sendAll(log);
    log.closed();
    sendAll(log);
    expect(retained(log)).to.equal(30_000);
    log.acknowledge(30_000);
    expect([retained(log), memory.bytes]).to.deep.equal([0, 0]);
  });

  it('forgets one that is released', () => {
    const memory = new CountedMemory(8 * KiB);
    const gone = newLog(memory);
    print(gone, 1);
    gone.closed();
    gone.release();
    const log = newLog(memory);
    print(log, 12 * KiB);
    expect([retained(gone), retained(log), memory.bytes]).to.deep.equal([0, 12 * KiB, 12 * KiB]);
  });
});
