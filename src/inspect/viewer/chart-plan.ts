/** How large the parts of a chart are, and in which of three ways each arrow is drawn (chart-layout.ts). */
import type { Chart, ChartArrow, ChartState } from '../messages.js';

/** A label is written in a monospace font of 11 px, whose characters are 0.6 em wide; a name in one of 13 px. */
export const LABEL_CHAR = 6.65;
export const LABEL_LINE = 14;
const NAME_CHAR = 7.85;

const HEAD = 36;
const SUBTITLE = 16;
export const PADDING = 14;
const GAP = 28;
export const FIRST_GAP = 20;
/** Room for the number of actors, right of a name. */
const BADGE = 46;

type Size = { readonly width: number; readonly height: number; readonly head: number };

export const textWidth = (texts: readonly string[], char: number): number =>
  Math.max(0, ...texts.map(({ length }) => length * char));

const isBetween = (siblings: readonly ChartState[], from: string, to: string, step: number): boolean => {
  const at = siblings.findIndex(({ id }) => id === from);
  return at >= 0 && siblings[at + step]?.id === to;
};

const levelsOf = (states: readonly ChartState[]): (readonly ChartState[])[] =>
  states.length === 0 ? [] : [states, ...states.flatMap((state) => levelsOf(state.states))];

/** Sorts the arrows of a chart by the way in which they are drawn, and measures. */
export class Plan {
  readonly #down = new Map<string, ChartArrow>();
  readonly #up = new Map<string, ChartArrow>();
  readonly #stays = new Map<string, readonly string[]>();
  /** All others. */
  readonly side: readonly ChartArrow[];
  readonly #entered: ReadonlySet<string>;

  constructor(chart: Chart) {
    const levels = levelsOf(chart.states);
    const side: ChartArrow[] = [];
    for (const arrow of chart.arrows) {
      const { from, to, labels } = arrow;
      if (from === to) this.#stays.set(from, labels);
      else if (levels.some((level) => isBetween(level, from, to, 1))) this.#down.set(from, arrow);
      else if (levels.some((level) => isBetween(level, from, to, -1))) this.#up.set(to, arrow);
      else side.push(arrow);
    }
    this.side = side;
    this.#entered = new Set(side.map(({ to }) => to));
  }

  staysOf = (id: string): readonly string[] => (this.#stays.get(id) ?? []).map((label) => `↻ ${label}`);

  /** The arrows between a state and the next one. */
  between = (id: string): { readonly down?: ChartArrow; readonly up?: ChartArrow } => {
    const [down, up] = [this.#down.get(id), this.#up.get(id)];
    return { ...(down === undefined ? {} : { down }), ...(up === undefined ? {} : { up }) };
  };

  gapBelow(id: string): number {
    const { down, up } = this.between(id);
    const lines = Math.max(down?.labels.length ?? 0, up?.labels.length ?? 0);
    return Math.max(GAP, lines * LABEL_LINE + 16);
  }

  /** The rows at its right side: one for what enters, then one for each label that leaves. */
  rows(id: string): {
    readonly enter: boolean;
    readonly leave: readonly ChartArrow[];
    readonly height: number;
  } {
    const enter = this.#entered.has(id);
    const leave = this.side.filter(({ from }) => from === id);
    const labels = leave.reduce((sum, arrow) => sum + arrow.labels.length, 0);
    return { enter, leave, height: (enter ? 12 : 0) + labels * LABEL_LINE + leave.length * 3 };
  }

  size(state: ChartState): Size {
    const stays = this.staysOf(state.id);
    const name = state.name.length * NAME_CHAR + BADGE + 14;
    const head = Math.max(HEAD + stays.length * SUBTITLE, this.rows(state.id).height + 12);
    if (state.states.length === 0) {
      return { width: Math.max(150, name, textWidth(stays, LABEL_CHAR) + 28), height: head, head };
    }
    const inside = this.level(state.states);
    return {
      width: Math.max(name, inside.width + 2 * PADDING),
      height: head + inside.height + PADDING,
      head,
    };
  }

  level(states: readonly ChartState[]): { readonly width: number; readonly height: number } {
    let width = 0;
    let height = FIRST_GAP;
    for (const [at, state] of states.entries()) {
      const size = this.size(state);
      const { down, up } = this.between(state.id);
      const labels =
        textWidth(down?.labels ?? [], LABEL_CHAR) +
        (up === undefined ? 0 : textWidth(up.labels, LABEL_CHAR) + 34);
      width = Math.max(width, size.width, labels + 44);
      height += size.height + (at < states.length - 1 ? this.gapBelow(state.id) : 0);
    }
    return { width, height };
  }
}
