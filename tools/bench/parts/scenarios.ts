import type { Lifecycle } from './lifecycle.ts';

const FLEET = { clusters: 40, profilesEach: 5, lifecycleMs: 2_000 };
const AIMS = { overLimit: 1.6, cpuMs: 30, delayMs: 50, peakMiB: 140 };

export const BURST: readonly Lifecycle[] = [
  { name: '40 × 5, CONFIG_MAP', ...FLEET, authenticationMode: 'CONFIG_MAP', aims: { ...AIMS, calls: 12 } },
  { name: '40 × 5, API', ...FLEET, authenticationMode: 'API', aims: { ...AIMS, calls: 14 } },
];

const QUIET = { overLimit: 1.1, writes: 8, callsWithoutPolls: 8, peakMiB: 110 };

export const SIZES: readonly Lifecycle[] = [
  { name: '1 × 1', clusters: 1, profilesEach: 1, lifecycleMs: 2_000, aims: QUIET },
  { name: '1 × 1, warmed up', clusters: 1, profilesEach: 1, lifecycleMs: 2_000, isWarmedUp: true, aims: QUIET },
  { name: '1 × 10', clusters: 1, profilesEach: 10, lifecycleMs: 2_000, aims: { overLimit: 1.1 } },
  { name: '40 × 5, 20 s', ...FLEET, lifecycleMs: 20_000, aims: { overLimit: 1.1, peakMiB: 140 } },
  { name: '40 × 5, 10 calls/s', ...FLEET, throttledTo: 10, aims: { peakMiB: 140 } },
];
