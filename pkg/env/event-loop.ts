import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Ms } from './clock.ts';

/**
 * Statistics of all samples since the last call of `takeDelays`. Each sample is the time by which the event loop has
 * run a timer too late.
 */
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
  /** Returns the delays since the last call of `takeDelays`. If there is no sample since then, all delays are 0. */
  takeDelays(): EventLoopDelays;
}

type Histogram = Pick<
  ReturnType<typeof monitorEventLoopDelay>,
  'count' | 'min' | 'max' | 'mean' | 'stddev' | 'percentile' | 'reset'
>;

/**
 * Measures the delay of the event loop with a timer that is due every `interval` ms. The timer does not keep the
 * process alive.
 */
export function monitorEventLoop(interval: Ms): EventLoopMonitor {
  const histogram = monitorEventLoopDelay({ resolution: interval });
  histogram.enable();
  return newEventLoopMonitor(histogram, interval);
}

/**
 * Reads the delays of the event loop from a histogram of Node.js, which holds the nanoseconds between two runs of a
 * timer. Each of these times contains the interval of the timer, so the interval is subtracted.
 */
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
