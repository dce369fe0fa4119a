import { expect } from 'chai';
import { createMachine } from 'xstate';
import { connectionMachine } from '../machines/connection.js';
import { processMachine } from '../machines/process.js';
import { chartOf, charts, nodesIn } from '../src/inspect/chart.js';
import { type Box, type Drawing, layout } from '../src/inspect/viewer/chart-layout.js';

const plain = (id: string, name: string, more: object = {}): object => ({
  id,
  name,
  description: '',
  final: false,
  states: [],
  ...more,
});

describe('chartOf', () => {
  it('has nested states, the initial one first, and arrows with guards and delays', () => {
    const machine = createMachine({
      id: 'lamp',
      description: 'A lamp.',
      initial: 'off',
      states: {
        on: {
          description: 'It shines.',
          initial: 'dim',
          on: { press: [{ guard: 'isBroken', target: 'dead' }, { target: 'off' }], look: {} },
          states: { bright: {}, dim: { after: { 500: 'bright' } } },
        },
        off: { on: { press: 'on', pull: 'on' } },
        dead: { type: 'final' },
      },
    });
    expect(chartOf(machine, 'process')).to.deep.equal({
      name: 'process',
      description: 'A lamp.',
      states: [
        plain('off', 'off'),
        plain('on', 'on', {
          description: 'It shines.',
          states: [plain('on.dim', 'dim'), plain('on.bright', 'bright')],
        }),
        plain('dead', 'dead', { final: true }),
      ],
      arrows: [
        { from: 'on', to: 'dead', labels: ['press [isBroken]'] },
        { from: 'on', to: 'off', labels: ['press [not isBroken]'] },
        { from: 'on.dim', to: 'on.bright', labels: ['after 500'] },
        { from: 'off', to: 'on', labels: ['press', 'pull'] },
      ],
    });
  });
});

const CHAR = 6.6;

type Rectangle = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };

const overlap = (a: Rectangle, b: Rectangle): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const contains = (outer: Rectangle, inner: Rectangle): boolean =>
  outer.x <= inner.x &&
  outer.y <= inner.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

const labelBoxes = ({ labels }: Drawing): (Rectangle & { text: string })[] =>
  labels.map(({ x, y, text }) => ({ x, y: y - 9, width: text.length * CHAR, height: 11, text }));

const frame = ({ width, height }: Drawing): Rectangle => ({ x: 0, y: 0, width, height });

const isInside = (inner: Box, outer: Box): boolean => inner.state.id.startsWith(`${outer.state.id}.`);

const ends = ({ from, to }: { readonly from: string; readonly to: string }): string => `${from} → ${to}`;

for (const chart of charts()) {
  describe(`the drawing of a ${chart.name}`, () => {
    const drawing = layout(chart);
    const machine = chart.name === 'process' ? processMachine : connectionMachine;

    it('has every state of the machine, and every arrow between two', () => {
      const ids = nodesIn(machine.root)
        .slice(1)
        .map(({ path }) => path.join('.'));
      expect(drawing.boxes.map(({ state }) => state.id)).to.have.members(ids);
      const between = chart.arrows.filter(({ from, to }) => from !== to);
      expect(drawing.lines.map(ends)).to.have.members(between.map(ends));
      expect(drawing.labels.map(({ text }) => text)).to.have.members(between.flatMap(({ labels }) => labels));
    });

    it('puts states into the states that hold them, and beside all others', () => {
      for (const one of drawing.boxes) {
        expect(contains(frame(drawing), one), one.state.id).to.equal(true);
        for (const other of drawing.boxes) {
          if (one === other || isInside(other, one)) continue;
          if (isInside(one, other)) expect(contains(other, one), one.state.id).to.equal(true);
          else expect(overlap(one, other), `${one.state.id} ${other.state.id}`).to.equal(false);
        }
      }
    });

    it('writes no label over another, over a state without states inside, or out of the picture', () => {
      const labels = labelBoxes(drawing);
      for (const label of labels) {
        expect(contains(frame(drawing), label), label.text).to.equal(true);
        for (const other of labels) {
          if (other !== label) expect(overlap(label, other), `${label.text}, ${other.text}`).to.equal(false);
        }
        for (const box of drawing.boxes) {
          if (box.state.states.length === 0)
            expect(overlap(label, box), `${label.text} ${box.state.id}`).to.equal(false);
        }
      }
    });

    it('leads no arrow through a label', () => {
      for (const { points, from, to } of drawing.lines) {
        for (const [at, [x, y]] of points.entries()) {
          const [nextX, nextY] = points[at + 1] ?? [x, y];
          const line = {
            x: Math.min(x, nextX),
            y: Math.min(y, nextY),
            width: Math.abs(nextX - x),
            height: Math.abs(nextY - y),
          };
          const crossed = labelBoxes(drawing).filter((label) => overlap(line, label));
          expect(
            crossed.map(({ text }) => text),
            `${from} → ${to}`,
          ).to.deep.equal([]);
        }
      }
    });
  });
}
