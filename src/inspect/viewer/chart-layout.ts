/**
 * Where the parts of a chart are drawn, in pixels. States of one level stand below each other in the order of
 * the chart, compound ones around theirs. What leads to the next or the last one is an arrow between the two;
 * everything else leaves to the right, past a column of labels, into a lane that all arrows to the same state
 * share. So no arrow crosses a text.
 */
import type { Chart, ChartArrow, ChartState } from '../messages.js';
import { FIRST_GAP, LABEL_CHAR, LABEL_LINE, PADDING, Plan, textWidth } from './chart-plan.js';

export type Box = {
  readonly state: ChartState;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** The part for its name; all of it, if there is nothing inside. */
  readonly head: number;
  /** Transitions into itself. */
  readonly stays: readonly string[];
};
export type Point = readonly [x: number, y: number];
export type Line = { readonly from: string; readonly to: string; readonly points: readonly Point[] };
export type Text = { readonly x: number; readonly y: number; readonly text: string };
export type Drawing = {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  readonly labels: readonly Text[];
  /** Where the initial states are entered. */
  readonly dots: readonly Point[];
};

/** Between two lanes, and around the picture. */
const LANE = 14;
const MARGIN = 6;

/** Puts boxes, and the arrows between neighbours. */
class Placing {
  readonly boxes = new Map<string, Box>();
  readonly lines: Line[] = [];
  readonly labels: Text[] = [];
  readonly dots: Point[] = [];

  constructor(private readonly plan: Plan) {}

  /** @param width of every state of this level, as their compound state has it */
  level(states: readonly ChartState[], x: number, top: number, width: number): void {
    this.dots.push([x + 22, top + 2]);
    let y = top + FIRST_GAP;
    for (const state of states) {
      const { height, head } = this.plan.size(state);
      this.boxes.set(state.id, { state, x, y, width, height, head, stays: this.plan.staysOf(state.id) });
      if (state.states.length > 0) this.level(state.states, x + PADDING, y + head - 6, width - 2 * PADDING);
      const bottom = y + height;
      y = bottom + this.plan.gapBelow(state.id);
      this.#neighbours(state.id, x, bottom, y);
    }
  }

  #neighbours(id: string, x: number, bottom: number, top: number): void {
    const { down, up } = this.plan.between(id);
    if (down !== undefined) this.#arrow(down, [x + 22, bottom], [x + 22, top]);
    const right = x + 22 + textWidth(down?.labels ?? [], LABEL_CHAR) + 34;
    if (up !== undefined) this.#arrow(up, [right, top], [right, bottom]);
  }

  #arrow({ from, to, labels }: ChartArrow, start: Point, end: Point): void {
    this.lines.push({ from, to, points: [start, end] });
    const middle = (start[1] + end[1]) / 2;
    for (const [at, text] of labels.entries()) {
      this.labels.push({
        x: start[0] + 9,
        y: middle + (at - (labels.length - 1) / 2) * LABEL_LINE + 4,
        text,
      });
    }
  }
}

/** How a chart is drawn. */
export const layout = (chart: Chart): Drawing => {
  const plan = new Plan(chart);
  const placing = new Placing(plan);
  const spine = plan.level(chart.states);
  placing.level(chart.states, MARGIN, MARGIN, spine.width);
  const { boxes, lines, labels, dots } = placing;
  const labelX = MARGIN + spine.width + 10;
  const sideLabels = plan.side.flatMap((arrow) => arrow.labels);
  const lanesX = labelX + textWidth(sideLabels, LABEL_CHAR) + 12;

  const entries = new Map<string, number>();
  const exits: { readonly arrow: ChartArrow; readonly x: number; readonly y: number }[] = [];
  for (const { state, x, y, width } of boxes.values()) {
    const rows = plan.rows(state.id);
    let at = y + 8;
    if (rows.enter) {
      entries.set(state.id, at + 4);
      at += 12;
    }
    for (const arrow of rows.leave) {
      for (const text of arrow.labels) {
        at += LABEL_LINE;
        labels.push({ x: labelX, y: at - 2, text });
      }
      at += 3;
      exits.push({ arrow, x: x + width, y: at });
    }
  }

  // the shortest lane is the innermost: it is crossed by the fewest
  const reach = (to: string): number => {
    const ys = exits
      .filter(({ arrow }) => arrow.to === to)
      .map(({ y }) => Math.abs(y - (entries.get(to) ?? 0)));
    return Math.max(...ys);
  };
  const targets = [...entries.keys()].toSorted((a, b) => reach(a) - reach(b));
  for (const { arrow, x, y } of exits) {
    const lane = lanesX + targets.indexOf(arrow.to) * LANE;
    const target = boxes.get(arrow.to);
    const entry = entries.get(arrow.to);
    if (target === undefined || entry === undefined) continue;
    lines.push({
      from: arrow.from,
      to: arrow.to,
      points: [
        [x, y],
        [lane, y],
        [lane, entry],
        [target.x + target.width, entry],
      ],
    });
  }
  return {
    width: targets.length === 0 ? labelX : lanesX + (targets.length - 1) * LANE + MARGIN,
    height: spine.height + 2 * MARGIN,
    boxes: [...boxes.values()],
    lines,
    labels,
    dots,
  };
};
