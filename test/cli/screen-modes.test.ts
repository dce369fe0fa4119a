import { expect } from 'chai';
import { DetachKey } from '../../src/cli/detach-key.js';
import { ScreenModes } from '../../src/cli/screen-modes.js';

const REST = '\x1b[0m';

const undoOf = (...outputs: readonly string[]): string => {
  const modes = new ScreenModes();
  for (const output of outputs) modes.follow(Buffer.from(output, 'latin1'));
  return modes.undo();
};

describe('what is undone in a terminal', () => {
  it('is nothing but colours after plain output', () => {
    expect(undoOf('hello\r\n\x1b[31mred\x1b[H\x1b[2J')).to.equal(REST);
  });

  it('is what is on and not off again, the other screen last', () => {
    expect(undoOf('\x1b[?1049h\x1b[?1h\x1b=\x1b[?2004h', '\x1b[?25l\x1b[?2004l')).to.equal(
      `\x1b>\x1b[?1l\x1b[?25h\x1b[?1049l${REST}`,
    );
  });

  it('is seen in sequences that come in pieces, and with several modes', () => {
    expect(undoOf('x\x1b', '[?10', '02;1006', 'hy', '\x1b[?1006l')).to.equal(`\x1b[?1002l${REST}`);
  });

  it('includes keyboards and the scrolling region', () => {
    expect(undoOf('\x1b[>4;2m\x1b[>1u\x1b[2;10r')).to.equal(`\x1b[>4m\x1b[<9u\x1b7\x1b[r\x1b8${REST}`);
  });
});

/** Whether the key was complete with each of these, typed at these milliseconds. */
const typed = (...keys: readonly (readonly [string, number])[]): boolean[] => {
  const key = new DetachKey();
  return keys.map(([text, now]) => key.isIn(Buffer.from(text), now));
};

describe('the detach key', () => {
  it('is Ctrl-] three times within a second', () => {
    expect(typed(['\x1d', 0], ['\x1d', 500], ['\x1d', 1000])).to.deep.equal([false, false, true]);
    expect(typed(['\x1d\x1d\x1d', 0])).to.deep.equal([true]);
  });

  it('is not with another key between, nor slowly', () => {
    expect(typed(['\x1d\x1dx\x1d', 0], ['\x1d', 1])).to.deep.equal([false, false]);
    expect(typed(['\x1d', 0], ['\x1d', 600], ['\x1d', 1001], ['\x1d', 1600])).to.deep.equal([
      false,
      false,
      false,
      true,
    ]);
  });
});
