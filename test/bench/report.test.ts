import { expect } from 'chai';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeBetweenMarkers } from '../../bench/markdown.js';
import { asMarkdown, asText, pairwise } from '../../bench/report.js';
import { fairness, logLogSlope, median, percentile } from '../../bench/statistics.js';
import { exec } from '../../bench/targets.js';
import { workloads } from '../../bench/workloads/index.js';
import { temporaryDirectory } from '../support/files.js';

describe('the figures of the benchmark', () => {
  it('medians, percentiles, fairness, and how steep a curve is', () => {
    expect(median([3, 1, 2])).to.equal(2);
    expect(median([4, 1, 2, 3])).to.equal(2.5);
    expect(percentile([1, 2, 3, 4], 0.99)).to.equal(4);
    expect(fairness([1, 1, 1, 1])).to.equal(1);
    expect(fairness([1, 0, 0, 0])).to.equal(0.25);
    const quadratic = [1, 10, 100].map((x) => [x, 5 * x * x] as const);
    expect(logLogSlope(quadratic)).to.be.closeTo(2, 1e-9);
  });

  it('ratios of each round, without those that failed', () => {
    expect(pairwise([1, 20, undefined, 3], [2, 10, 5, undefined])).to.equal(1.25);
    expect(pairwise([undefined], [1])).to.be.NaN;
  });

  it('a table for a terminal, and one for a document', () => {
    const results = new Map([
      ['ours', [{ 'MiB/s': 200 }, { 'MiB/s': 300 }]],
      ['peer', [{ 'MiB/s': 100 }, { 'MiB/s': 100 }]],
    ]);
    expect(asText('pipe', results).split('\n')).to.deep.equal([
      'pipe     ours            peer            ours / peer  must',
      '  MiB/s  250 (200..300)  100 (100..100)  2.50         ≥ 1.3 ✓',
    ]);
    expect(asMarkdown(new Map([['pipe', results]])).split('\n')).to.deep.equal([
      '| workload | figure | ours           | peer           | ours / peer | must    |',
      '| -------- | ------ | -------------- | -------------- | ----------- | ------- |',
      '| pipe     | MiB/s  | 250 (200..300) | 100 (100..100) | 2.50        | ≥ 1.3 ✓ |',
    ]);
  });

  it('goes between the markers of a file, and nowhere else', () => {
    const file = path.join(temporaryDirectory(), 'file.md');
    fs.writeFileSync(file, 'before\n<!-- table -->\nold\n<!-- /table -->\nafter\n');
    writeBetweenMarkers(file, 'new');
    expect(fs.readFileSync(file, 'utf8')).to.equal(
      'before\n<!-- table -->\n\nnew\n\n<!-- /table -->\nafter\n',
    );
    fs.writeFileSync(file, 'none');
    expect(() => writeBetweenMarkers(file, 'new')).to.throw('has no <!-- table -->');
  });

  for (const name of ['pipe', 'stdio-read']) {
    it(`${name} measures the built server`, async () => {
      const ours = exec('ours', fileURLToPath(new URL('../..', import.meta.url)));
      const figures = await workloads.get(name)?.run(ours, 0.001);
      expect(figures?.['MiB/s']).to.be.above(0);
      expect(figures?.['peak MiB']).to.be.above(10);
    });
  }
});
