import { mustOf } from './goals.js';
import type { Results } from './rounds.js';
import { median } from './statistics.js';
import { PEER } from './targets.js';

const figure = (value: number): string => {
  const size = Math.abs(value);
  if (Number.isNaN(value)) return '–';
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
};

const isNumber = (value: number | undefined): value is number => value !== undefined;

/** One figure of one target, in all rounds. */
type Values = readonly (number | undefined)[];

const withSpread = (values: Values): string => {
  const known = values.filter(isNumber);
  const spread = `(${figure(Math.min(...known))}..${figure(Math.max(...known))})`;
  return known.length < 2 ? figure(median(known)) : `${figure(median(known))} ${spread}`;
};

/** Of each round the ratio, and of those the middle: what both suffered cancels out. NaN if there is none. */
export const pairwise = (values: Values, others: Values): number =>
  median(
    values
      .map((value, round) => (value ?? NaN) / (others[round] ?? NaN))
      .filter((ratio) => Number.isFinite(ratio)),
  );

/** A row of the report: a figure of a workload. */
type Row = { readonly name: string; readonly cells: readonly string[] };

const rowsOf = (workload: string, results: Results): readonly Row[] => {
  const runs = [...results.values()];
  const isGoal = results.has(PEER);
  const names = new Set(runs.flatMap((rounds) => rounds.flatMap((figures) => Object.keys(figures ?? {}))));
  return [...names].map((name) => {
    const all = runs.map((rounds) => rounds.map((figures) => figures?.[name]));
    const [ours = [], other] = all;
    const cells = all.map(withSpread);
    if (other === undefined) return { name, cells };
    const ratio = pairwise(ours, other);
    const own = median(ours.filter(isNumber));
    return {
      name,
      cells: [...cells, figure(ratio), ...(isGoal ? [mustOf(workload, name, ratio, own)] : [])],
    };
  });
};

const head = (results: Results): readonly string[] => {
  const names = [...results.keys()];
  if (names.length < 2) return names;
  return [...names, names.join(' / '), ...(results.has(PEER) ? ['must'] : [])];
};

type Lines = readonly (readonly string[])[];

/** Each column as wide as its widest cell. */
const padded = (lines: Lines): Lines => {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) => line.map((cell, column) => cell.padEnd(widths?.[column] ?? 0)));
};

/** A workload as a table for a terminal. */
export const asText = (workload: string, results: Results): string =>
  padded([
    [workload, ...head(results)],
    ...rowsOf(workload, results).map(({ name, cells }) => [`  ${name}`, ...cells]),
  ])
    .map((line) => line.join('  ').trimEnd())
    .join('\n');

/** All workloads as one table of Markdown, as prettier would write it. */
export const asMarkdown = (all: ReadonlyMap<string, Results>): string => {
  const [first] = all.values();
  const titles = ['workload', 'figure', ...head(first ?? new Map())];
  const rows = [...all].flatMap(([workload, results]) =>
    rowsOf(workload, results).map(({ name, cells }, at) => [at === 0 ? workload : '', name, ...cells]),
  );
  const [top = [], ...body] = padded([titles, ...rows]);
  const rule = top.map((cell) => '-'.repeat(cell.length));
  return [top, rule, ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
};
