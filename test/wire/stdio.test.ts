import { expect } from 'chai';
import { once } from 'node:events';
import { PassThrough, type Stream, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { memoryWires } from '../../src/wire/memory.js';
import { streamWire } from '../../src/wire/stdio.js';
import type { Wire } from '../../src/wire/wire.js';

/** Opens a wire, and records its events in order. */
const recorded = (wire: Wire): string[] => {
  const events: string[] = [];
  wire.open({
    message: (text) => void events.push(`message ${text}`),
    malformed: () => void events.push('malformed'),
    ended: () => void events.push('ended'),
    drain: () => void events.push('drain'),
    closed: (reason) => void events.push(`closed: ${reason}`),
  });
  return events;
};

const open = (
  output: Writable = new PassThrough(),
  maxMessageBytes = 1_000,
): { input: PassThrough; output: Writable; wire: Wire; events: string[] } => {
  const input = new PassThrough();
  const wire = streamWire('test', input, output, maxMessageBytes);
  return { input, output, wire, events: recorded(wire) };
};

/** Resolves when a stream is closed, with an error or without; `once` would reject with the error. */
const closing = async (stream: Stream): Promise<void> =>
  new Promise((resolve) => {
    stream.once('close', resolve);
  });

/** A stream that takes a write only when it is told to. */
const slowStream = (): { stream: Writable; written: string[]; take: () => void } => {
  const written: string[] = [];
  let taken: (() => void) | undefined;
  const stream = new Writable({
    write: (chunk, _encoding, callback) => {
      written.push(String(chunk));
      taken = () => callback();
    },
  });
  return {
    stream,
    written,
    take: () => {
      const callback = taken;
      taken = undefined;
      callback?.();
    },
  };
};

describe('streamWire', () => {
  it('delivers lines as messages, and the last one though nothing ends it', async () => {
    const { input, events } = open();
    input.write('one\r\n\ntw');
    input.end('o\nthree');
    await once(input, 'end');
    expect(events).to.deep.equal(['message one', 'message two', 'message three', 'ended']);
  });

  it('tells of bytes that are no UTF-8, and goes on', async () => {
    const { input, events } = open();
    input.write(
      Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff]), Buffer.from('","method":"m"}\nnext\n')]),
    );
    await nextTurn();
    expect(events).to.deep.equal(['malformed', 'message next']);
  });

  it('is still written to after its input has ended', async () => {
    const output = new PassThrough();
    const { input, wire, events } = open(output);
    input.end();
    await once(input, 'end');
    wire.write(Buffer.concat(wire.framing.frame(Buffer.from('last words'))));
    expect(String(output.read())).to.equal('last words\n');
    expect(events.filter((event) => event.startsWith('closed'))).to.deep.equal([]);
  });

  it('is closed for a message that is too long, and delivers nothing after it', async () => {
    const { input, events } = open(new PassThrough(), 5);
    input.write('12345\n123456\nok\n');
    await nextTurn();
    input.write('ok\n');
    input.end();
    await nextTurn();
    expect(events).to.deep.equal(['message 12345', 'closed: a message of more than 5 bytes']);
  });

  it('is closed once, whatever goes wrong', async () => {
    const output = new Writable({
      write: (_chunk, _encoding, callback) => {
        callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
      },
    });
    const { input, wire, events } = open(output);
    const outputClosed = closing(output);
    wire.write(Buffer.from('x\n'));
    await outputClosed;
    const inputClosed = closing(input);
    input.destroy(new Error('read EIO'));
    await inputClosed;
    wire.close('again');
    expect(events.filter((event) => event !== 'drain')).to.deep.equal([
      'closed: writing failed: write EPIPE',
    ]);
  });

  it('is closed when its input fails', async () => {
    const { input, events } = open();
    const closed = closing(input);
    input.destroy(new Error('read EIO'));
    await closed;
    expect(events).to.deep.equal(['closed: reading failed: read EIO']);
  });

  it('is closed when its output is', async () => {
    const { output, events } = open();
    output.destroy();
    await once(output, 'close');
    expect(events).to.deep.equal(['closed: the output was closed']);
  });

  it('delivers nothing once it is closed', async () => {
    const { input, wire, events } = open();
    wire.close('enough');
    wire.close('twice');
    input.write('one\n');
    input.end();
    await nextTurn();
    expect(events).to.deep.equal(['closed: enough']);
  });

  it('delivers no more of a read that closed it', async () => {
    const input = new PassThrough();
    const wire = streamWire('test', input, new PassThrough(), 100);
    const messages: string[] = [];
    wire.open({
      message: (text) => {
        messages.push(text);
        wire.close('enough');
      },
      malformed: () => undefined,
      ended: () => undefined,
      drain: () => undefined,
      closed: () => undefined,
    });
    input.write('one\ntwo\nthree\n');
    await nextTurn();
    expect(messages).to.deep.equal(['one']);
  });

  it('reads nothing while it is paused', async () => {
    const { input, wire, events } = open();
    wire.pause();
    input.write('one\n');
    await nextTurn();
    await nextTurn();
    expect(events).to.deep.equal([]);
    wire.resume();
    await nextTurn();
    expect(events).to.deep.equal(['message one']);
  });

  it('says whether a write was taken, and tells once when the rest is', async () => {
    const { stream, written, take } = slowStream();
    const { wire, events } = open(stream);
    expect(wire.write(Buffer.from('one\n'))).to.equal(false);
    await nextTurn();
    expect(events).to.deep.equal([]);
    take();
    await nextTurn();
    expect(events).to.deep.equal(['drain']);
    expect(written).to.deep.equal(['one\n']);
  });

  it('says that a write was taken where the stream has it all', () => {
    const { wire, events } = open();
    expect(wire.write(Buffer.from('one\n'))).to.equal(true);
    expect(events).to.deep.equal([]);
  });
});

describe('memoryWires', () => {
  it('carry messages both ways', async () => {
    const [one, two] = memoryWires();
    const [atOne, atTwo] = [recorded(one), recorded(two)];
    one.write(Buffer.concat(one.framing.frame(Buffer.from('to two'))));
    two.write(Buffer.concat(two.framing.frame(Buffer.from('to one'))));
    await nextTurn();
    expect([atOne, atTwo]).to.deep.equal([['message to one'], ['message to two']]);
  });

  it('end together: what was written arrives, then the other end knows', async () => {
    const [one, two] = memoryWires();
    const [atOne, atTwo] = [recorded(one), recorded(two)];
    one.write(Buffer.concat(one.framing.frame(Buffer.from('last words'))));
    one.close('enough');
    for (let turns = 0; turns < 5; turns++) await nextTurn();
    expect(atOne).to.deep.equal(['closed: enough']);
    expect(atTwo[0]).to.equal('message last words');
    expect(atTwo[1]).to.match(/^(ended|closed: )/);
  });
});
