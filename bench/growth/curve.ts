import { logLogSlope } from '../statistics.js';

/** What is measured as it grows, each in the unit that its panel has. */
export type Sample = Readonly<Record<string, number>>;

/** Costs that have a unit in common. */
export type Panel = { readonly unit: string; readonly costs: readonly string[] };

export type Curve = {
  /** Of the file docs/growth-NAME.svg. */
  readonly name: string;
  readonly title: string;
  /** What grows, with its unit. */
  readonly axis: string;
  readonly ticks: readonly (readonly [value: number, label: string])[];
  readonly sizes: readonly number[];
  readonly panels: readonly Panel[];
  measure(size: number): Promise<Sample>;
};

export type Point = readonly [size: number, cost: number];

/** A line of the plot, and how steep it is: 1 is linear. */
export type Line = {
  readonly cost: string;
  readonly points: readonly Point[];
  /** Over all sizes, and over the last decade of them: what is fixed hides growth at the small ones. */
  readonly slope: number;
  readonly lastSlope: number;
};

/**
 * From the smallest size to the largest, and again. Of each the least cost of all rounds: what others do on the
 * machine only adds to it.
 */
export const measured = async (
  curve: Curve,
  rounds: number,
): Promise<ReadonlyMap<Panel, readonly Line[]>> => {
  const samples = new Map<number, Sample[]>(curve.sizes.map((size) => [size, []]));
  for (let round = 0; round < rounds; round++) {
    for (const size of curve.sizes) samples.get(size)?.push(await curve.measure(size));
  }
  const lineOf = (cost: string): Line => {
    const points = [...samples].map(([size, all]): Point => [
      size,
      Math.min(...all.map((sample) => sample[cost] ?? NaN)),
    ]);
    const decade = (points.at(-1)?.[0] ?? 0) / 11;
    const last = points.filter(([size]) => size >= decade);
    // one decade may be one step: then the last step
    const upper = last.length > 1 ? last : points.slice(-2);
    return { cost, points, slope: logLogSlope(points), lastSlope: logLogSlope(upper) };
  };
  return new Map(curve.panels.map((panel) => [panel, panel.costs.map(lineOf)]));
};
