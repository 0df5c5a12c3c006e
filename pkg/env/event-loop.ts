import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Ms } from './clock.ts';

type Histogram = Pick<
  ReturnType<typeof monitorEventLoopDelay>,
  'count' | 'min' | 'max' | 'mean' | 'stddev' | 'percentile' | 'reset'
>;

/** Statistics of samples, each of which is the time by which the event loop has run a timer too late. */
export type EventLoopDelays = ReturnType<typeof takeDelays>;

/** Measures with a timer that does not keep the process alive. The result returns the delays since its last call. */
export function monitorEventLoop(interval: Ms): () => EventLoopDelays {
  const histogram = monitorEventLoopDelay({ resolution: interval });
  histogram.enable();
  return () => takeDelays(histogram, interval);
}

/** The histogram holds the nanoseconds between two runs of the timer. Without a sample all delays are 0. */
export function takeDelays(histogram: Histogram, interval: Ms) {
  const inMs = (ns: number): Ms => (histogram.count === 0 ? 0 : ns / 1e6);
  const late = (ns: number): Ms => Math.max(0, inMs(ns) - interval);
  const delays = {
    min: late(histogram.min),
    max: late(histogram.max),
    mean: late(histogram.mean),
    stddev: inMs(histogram.stddev),
    p50: late(histogram.percentile(50)),
    p90: late(histogram.percentile(90)),
    p99: late(histogram.percentile(99)),
  };
  histogram.reset();
  return delays;
}
