import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Ms } from './clock.ts';

/** Statistics of samples, each of which is the time by which the event loop has run a timer too late. */
export interface EventLoopDelays {
  readonly min: Ms;
  readonly max: Ms;
  readonly mean: Ms;
  readonly stddev: Ms;
  readonly p50: Ms;
  readonly p90: Ms;
  readonly p99: Ms;
}

export interface EventLoopMonitor {
  /** The delays since the last call of `takeDelays`; all 0 without a sample. */
  takeDelays(): EventLoopDelays;
}

type Histogram = Pick<
  ReturnType<typeof monitorEventLoopDelay>,
  'count' | 'min' | 'max' | 'mean' | 'stddev' | 'percentile' | 'reset'
>;

/** Measures with a timer that is due every `interval` ms and does not keep the process alive. */
export function monitorEventLoop(interval: Ms): EventLoopMonitor {
  const histogram = monitorEventLoopDelay({ resolution: interval });
  histogram.enable();
  return newEventLoopMonitor(histogram, interval);
}

/** The histogram of Node.js holds the nanoseconds between two runs of a timer, from which the interval is subtracted. */
export function newEventLoopMonitor(histogram: Histogram, interval: Ms): EventLoopMonitor {
  const late = (ns: number): Ms => Math.max(0, ns / 1e6 - interval);
  return {
    takeDelays: () => {
      if (histogram.count === 0) return NO_DELAYS;
      const delays = {
        min: late(histogram.min),
        max: late(histogram.max),
        mean: late(histogram.mean),
        stddev: histogram.stddev / 1e6,
        p50: late(histogram.percentile(50)),
        p90: late(histogram.percentile(90)),
        p99: late(histogram.percentile(99)),
      };
      histogram.reset();
      return delays;
    },
  };
}

export const NO_DELAYS: EventLoopDelays = { min: 0, max: 0, mean: 0, stddev: 0, p50: 0, p90: 0, p99: 0 };
