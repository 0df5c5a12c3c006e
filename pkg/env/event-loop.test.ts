import { expect } from 'chai';
import { takeDelays } from './event-loop.ts';

const INTERVAL = 100;

/**
 * Returns a fake of Node's event loop histogram, whose values are in nanoseconds. `spans` are the times between two
 * runs of the histogram's timer, in ms.
 */
function histogramOf(spans: readonly number[]) {
  const sorted = spans.map((ms) => ms * 1e6).toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return {
    get count() {
      return sorted.length;
    },
    get min() {
      return sorted[0] ?? 2 ** 63;
    },
    get max() {
      return sorted.at(-1) ?? 0;
    },
    get mean() {
      return sorted.reduce((sum, ns) => sum + ns, 0) / sorted.length;
    },
    stddev: 3e6,
    percentile: (percent: number) => at(percent / 100),
    reset: () => void sorted.splice(0),
  };
}

describe('The monitor of the event loop', () => {
  it('reports how late the timer ran, without the interval of the timer', () => {
    const delays = takeDelays(histogramOf([100, 101, 102, 350]), INTERVAL);
    expect(delays).to.deep.equal({ min: 0, max: 250, mean: 63.25, stddev: 3, p50: 1, p90: 250, p99: 250 });
  });

  it('reports no negative delay of a timer that ran a little early', () => {
    expect(takeDelays(histogramOf([99.8]), INTERVAL)).to.include({ min: 0, max: 0 });
  });

  it('reports each sample once, and zeros without a sample', () => {
    const histogram = histogramOf([130]);
    expect(takeDelays(histogram, INTERVAL).max).to.equal(30);
    const none = takeDelays(histogram, INTERVAL);
    expect(none).to.deep.equal({ min: 0, max: 0, mean: 0, stddev: 0, p50: 0, p90: 0, p99: 0 });
  });
});
