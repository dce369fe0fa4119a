import type { Curve, Line, Panel } from './curve.js';

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT] = [340, 300, 66, 62, 44, 12];
const COLOURS = ['#3b82f6', '#d97706'];

const STYLE = `text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600;font-size:14px}
.grid{stroke:#d0d7de}.linear{stroke:#8c959f;stroke-dasharray:4 4}.back{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#c9d1d9}.grid{stroke:#30363d}.back{fill:#0d1117}}`;

type Scale = (value: number) => number;

/** A logarithmic axis from one place to another. */
const logScale =
  (least: number, most: number, from: number, to: number): Scale =>
  (value) =>
    from + (Math.log(value / least) / Math.log(most / least)) * (to - from);

const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${words}</text>`;

const line = (from: readonly number[], to: readonly number[], kind: string): string =>
  `<path class="${kind}" fill="none" d="M${from.map((at) => at.toFixed(1)).join(' ')}L${to.map((at) => at.toFixed(1)).join(' ')}"/>`;

const decades = (least: number, most: number): number[] => {
  const first = Math.floor(Math.log10(least));
  const last = Math.max(first + 1, Math.ceil(Math.log10(most)));
  return Array.from({ length: last - first + 1 }, (_, at) => 10 ** (first + at));
};

const drawLine = ({ points, cost, slope }: Line, at: number, x: Scale, y: Scale): string => {
  const colour = COLOURS[at % COLOURS.length];
  const places = points.map(([size, value]) => [x(size), y(value)] as const);
  const path = places.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join('L');
  const dots = places.map(
    ([px, py]) => `<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="3" fill="${colour}"/>`,
  );
  const legend = text(LEFT, 40 + at * 15, `${cost}, slope ${slope.toFixed(2)}`, `style="fill:${colour}"`);
  return `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}${legend}`;
};

/** What linear growth to the last point of a line would look like, as far as there is room. */
const drawLinear = (lines: readonly Line[], x: Scale, y: Scale, least: number, most: number): string => {
  const [first, last] = [lines.at(-1)?.points[0], lines.at(-1)?.points.at(-1)];
  if (first === undefined || last === undefined) return '';
  const [size, cost] = last;
  const back = Math.max(first[0], (size * least) / cost);
  return line([x(back), y(Math.min(most, (cost * back) / size))], [x(size), y(cost)], 'linear');
};

const drawPanel = (curve: Curve, panel: Panel, lines: readonly Line[]): string => {
  const costs = lines.flatMap(({ points }) => points.map(([, cost]) => cost));
  const grid = decades(Math.min(...costs), Math.max(...costs));
  const least = grid[0] ?? 1;
  const most = grid.at(-1) ?? 10;
  const [left, right, top, bottom] = [LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM];
  const x = logScale(Math.min(...curve.sizes), Math.max(...curve.sizes), left + 6, right - 6);
  const y = logScale(least, most, bottom, top);
  return [
    ...grid.map((value) => line([left, y(value)], [right, y(value)], 'grid')),
    ...grid.map((value) =>
      text(left - 6, y(value) + 4, Number(value.toPrecision(1)).toLocaleString('en'), 'text-anchor="end"'),
    ),
    ...curve.ticks.map(([value, label]) => text(x(value), bottom + 17, label, 'text-anchor="middle"')),
    text((left + right) / 2, HEIGHT - 8, curve.axis, 'text-anchor="middle"'),
    text(
      0,
      0,
      panel.unit,
      `transform="translate(12 ${(top + bottom) / 2}) rotate(-90)" text-anchor="middle"`,
    ),
    drawLinear(lines, x, y, least, most),
    ...lines.map((one, at) => drawLine(one, at, x, y)),
  ].join('\n');
};

/** A plot with a panel beside the other, both axes logarithmic; dashed is what linear would be. */
export const svgOf = (curve: Curve, panels: ReadonlyMap<Panel, readonly Line[]>): string => {
  const drawn = [...panels].map(
    ([panel, lines], at) => `<g transform="translate(${at * WIDTH} 0)">${drawPanel(curve, panel, lines)}</g>`,
  );
  const size = `width="${panels.size * WIDTH}" height="${HEIGHT}" viewBox="0 0 ${panels.size * WIDTH} ${HEIGHT}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><style>${STYLE}</style>
<rect class="back" width="100%" height="100%"/>
${text(12, 20, curve.title, 'class="title"')}
${drawn.join('\n')}
</svg>
`;
};
