import type { ActorSummary, Chart, ChartState } from '../messages.js';
import { type Box, type Drawing, layout, type Point } from './chart-layout.js';
import { el, setText, svg } from './dom.js';
import { plural } from './format.js';

const CORNER = 6;

/** A path along points, with round corners. */
const pathOf = (points: readonly Point[]): string => {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  const parts = [`M${first.join(' ')}`];
  for (const [at, [x, y]] of rest.entries()) {
    const next = rest[at + 1];
    if (next === undefined) {
      parts.push(`L${x} ${y}`);
      break;
    }
    const [px, py] = points[at] ?? first;
    const back = Math.min(
      CORNER,
      Math.abs(x - px) + Math.abs(y - py),
      Math.abs(next[0] - x) + Math.abs(next[1] - y),
    );
    const before = [x - Math.sign(x - px) * back, y - Math.sign(y - py) * back];
    const after = [x + Math.sign(next[0] - x) * back, y + Math.sign(next[1] - y) * back];
    parts.push(`L${before.join(' ')}`, `Q${x} ${y} ${after.join(' ')}`);
  }
  return parts.join(' ');
};

const arrowHead = (id: string): SVGElement =>
  svg(
    'defs',
    {},
    svg(
      'marker',
      {
        id,
        viewBox: '0 0 8 8',
        refX: 7,
        refY: 4,
        markerWidth: 8,
        markerHeight: 8,
        orient: 'auto-start-reverse',
      },
      svg('path', { d: 'M0 0.6 L7.4 4 L0 7.4 z', class: 'arrow-head' }),
    ),
  );

const statesIn = (states: readonly ChartState[]): ChartState[] =>
  states.flatMap((state) => [state, ...statesIn(state.states)]);

/** One chart; states are lit where actors are. */
export class ChartView {
  readonly element: HTMLElement;
  readonly #boxes = new Map<
    string,
    { readonly group: SVGElement; readonly count: SVGElement; readonly badge: SVGElement }
  >();
  readonly #summary: SVGElement;

  constructor(private readonly chart: Chart) {
    const drawing = layout(chart);
    this.#summary = svg('title', { id: `${chart.name}-summary` });
    this.element = el(
      'figure',
      { class: 'chart', 'data-chart': chart.name },
      el('figcaption', {}, el('h2', {}, `A ${chart.name}`), el('p', {}, chart.description)),
      this.#draw(drawing),
      el(
        'details',
        {},
        el('summary', {}, 'The states in words'),
        el(
          'dl',
          {},
          ...statesIn(chart.states).flatMap(({ name, description }) => [
            el('dt', {}, name),
            el('dd', {}, description),
          ]),
        ),
      ),
    );
  }

  /** @param chosen the actor whose states stand out */
  update(actors: Iterable<ActorSummary>, chosen: ActorSummary | undefined): void {
    const live = new Map<string, number>();
    const ended = new Map<string, number>();
    for (const { kind, states, endedAt, crashed } of actors) {
      if (kind !== this.chart.name || crashed) continue;
      const counts = endedAt === null ? live : ended;
      for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    const own = chosen?.kind === this.chart.name ? chosen.states : [];
    for (const [id, { group, count, badge }] of this.#boxes) {
      const [alive, gone] = [live.get(id) ?? 0, ended.get(id) ?? 0];
      group.classList.toggle('lit', alive > 0);
      group.classList.toggle('ended', alive === 0 && gone > 0);
      group.classList.toggle('chosen', own.includes(id));
      badge.classList.toggle('empty', alive + gone === 0);
      setText(count, String(alive + gone));
    }
    const told = statesIn(this.chart.states)
      .filter(({ id, states }) => states.length === 0 && live.has(id))
      .map(({ id, name }) => `${live.get(id)} in ${name}`);
    setText(
      this.#summary,
      `Chart of a ${this.chart.name}: ${told.length === 0 ? 'none lives' : told.join(', ')}.`,
    );
  }

  #draw({ width, height, boxes, lines, labels, dots }: Drawing): SVGElement {
    const marker = `${this.chart.name}-arrow`;
    return svg(
      'svg',
      {
        viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
        width: Math.ceil(width),
        role: 'img',
        'aria-labelledby': `${this.chart.name}-summary`,
      },
      this.#summary,
      arrowHead(marker),
      ...boxes.filter(({ state }) => state.states.length > 0).map((box) => this.#box(box)),
      ...lines.map(({ points }) =>
        svg('path', { d: pathOf(points), class: 'arrow', 'marker-end': `url(#${marker})` }),
      ),
      ...boxes.filter(({ state }) => state.states.length === 0).map((box) => this.#box(box)),
      ...dots.flatMap(([x, y]) => [
        svg('circle', { cx: x, cy: y, r: 4, class: 'initial' }),
        svg('path', { d: `M${x} ${y} V${y + 17}`, class: 'arrow', 'marker-end': `url(#${marker})` }),
      ]),
      ...labels.map(({ x, y, text }) => svg('text', { x, y, class: 'label' }, text)),
    );
  }

  #box({ state, x, y, width, height, head, stays }: Box): SVGElement {
    const isCompound = state.states.length > 0;
    const middle = isCompound ? y + 19 : y + head / 2 - (stays.length * 16) / 2;
    const count = svg('text', { x: x + width - 23, y: middle + 4, class: 'count' });
    const badge = svg(
      'g',
      { class: 'badge empty' },
      svg('rect', { x: x + width - 36, y: middle - 9, width: 26, height: 18, rx: 9 }),
      count,
    );
    const group = svg(
      'g',
      { class: isCompound ? 'state compound' : 'state', 'data-state': state.id },
      svg('title', {}, `${state.name}: ${state.description}`),
      svg('rect', { x, y, width, height, rx: isCompound ? 12 : 8, class: 'box' }),
      ...(state.final
        ? [svg('rect', { x: x + 3, y: y + 3, width: width - 6, height: height - 6, rx: 6, class: 'inner' })]
        : []),
      svg('text', { x: x + 14, y: middle + 4.5, class: 'name' }, state.name),
      ...stays.map((text, at) => svg('text', { x: x + 14, y: middle + 21 + at * 16, class: 'label' }, text)),
      badge,
    );
    this.#boxes.set(state.id, { group, count, badge });
    return group;
  }
}

export const totals = (connections: number, processes: number): string =>
  `${plural(connections, 'connection')}, ${plural(processes, 'process', 'processes')}`;
