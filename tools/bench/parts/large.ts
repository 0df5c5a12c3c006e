import { setTimeout as delay } from 'node:timers/promises';
import type { RunningManager } from '../../../test/world/manager/manager.ts';
import { inBenchWorld, stopManager, type BenchWorld, type MeasuredPhase } from '../bench-world.ts';
import type { Column, Figure } from '../figures.ts';
import { writesOf } from '../manager-usage.ts';
import type { BenchOptions } from '../options.ts';
import { costFigures } from '../phase-figures.ts';
import { scaled, type BenchProfiles } from '../profiles.ts';
import { restFigures, restWhileComparing } from './rest.ts';
import { measureStart } from './start.ts';

/**
 * How long the emulated EKS takes for each operation. A short time is enough, because the manager's processor time
 * limits the creation of 5,000 profiles, and the benchmark has no aim for the duration.
 */
const LIFECYCLE_MS = 1_000;
const FLEET = { prefix: 'large', clusters: 1_000, profilesEach: 5, namespaces: 50 };
const LIMIT_MS = 1_800_000;
const SYNC_PERIOD_MS = 60_000;
const PEAK_MIB = 250;
const CHANGED_PART = 0.01;

/**
 * Measures the manager with 5,000 profiles of 1,000 clusters in 50 namespaces: first while it creates the profiles, and
 * then while all profiles are Ready.
 */
export async function measureLarge(options: BenchOptions): Promise<readonly Column[]> {
  const size = { ...FLEET, clusters: scaled(FLEET.clusters, options) };
  return inBenchWorld('large', { eks: { lifecycleMs: LIFECYCLE_MS }, options }, async (world) => {
    const profiles = await world.createClusters(size);
    await profiles.createProfiles();
    return [await measureNew(world, profiles), await measureReady(world, profiles)];
  });
}

async function measureNew(world: BenchWorld, profiles: BenchProfiles): Promise<Column> {
  const { manager, figures } = await measureStart(world);
  const creation = await world.measure(manager, () => profiles.untilReady(LIMIT_MS));
  await stopManager(manager);
  return {
    name: `${profiles.count} new`,
    figures: [
      ...figures,
      { label: 'Created: all Ready after, s', value: creation.seconds },
      {
        label: 'Created: processor time of the manager each, ms',
        value: (1000 * creation.usage.cpuSeconds) / profiles.count,
        digits: 1,
      },
      { label: 'Created: writes to the API server each', value: writesOf(creation.usage) / profiles.count, digits: 1 },
      ...commonFigures(creation),
    ],
  };
}

async function measureReady(world: BenchWorld, profiles: BenchProfiles): Promise<Column> {
  const { manager, figures } = await measureStart(world, [`--sync-period=${SYNC_PERIOD_MS}ms`]);
  const comparing = await restWhileComparing(world, manager, {
    syncMs: SYNC_PERIOD_MS,
    settlingPeriods: 1,
    periods: 1,
  });
  const changing = await measureChanges(world, manager, profiles);
  await stopManager(manager);
  return {
    name: `${profiles.count} Ready`,
    figures: [...figures, ...restFigures(comparing), ...commonFigures(comparing), ...changing],
  };
}

/**
 * Measures the manager for one sync period, in which it compares all profiles with AWS. At the start of the
 * measurement, the benchmark changes the tags of 1 % of the profiles. If these profiles are not Ready at the end of the
 * sync period, the measurement lasts until they are Ready.
 */
async function measureChanges(
  world: BenchWorld,
  manager: RunningManager,
  profiles: BenchProfiles,
): Promise<readonly Figure[]> {
  const count = Math.max(1, Math.round(profiles.count * CHANGED_PART));
  let seconds = 0;
  const phase = await world.measure(manager, async () => {
    const from = performance.now();
    await profiles.changeTags(count);
    await profiles.untilReady(LIMIT_MS);
    seconds = (performance.now() - from) / 1000;
    await delay(Math.max(0, SYNC_PERIOD_MS - 1000 * seconds));
  });
  return [
    { label: '1 % changed: objects', value: count },
    { label: '1 % changed: all Ready again after, s', value: seconds, digits: 2 },
    { label: '1 % changed: writes to the API server an object', value: writesOf(phase.usage) / count, digits: 1 },
    { label: '1 % changed in a minute: processor time of the manager, s', value: phase.usage.cpuSeconds, digits: 2 },
    { label: '1 % changed in a minute: peak memory, MiB', value: phase.usage.memory.peakMiB, aim: PEAK_MIB },
  ];
}

const commonFigures = (phase: MeasuredPhase): readonly Figure[] => [
  { label: 'Event loop delay (p99), ms', value: phase.usage.eventLoopDelayMs },
  { label: 'Peak memory of the manager, MiB', value: phase.usage.memory.peakMiB, aim: PEAK_MIB },
  ...costFigures(phase, 'meanwhile'),
];
