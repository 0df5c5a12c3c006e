import { setTimeout as delay } from 'node:timers/promises';
import type { RunningManager } from '../../../test/world/manager/manager.ts';
import { inBenchWorld, stopManager, type BenchWorld, type MeasuredPhase } from '../bench-world.ts';
import { countComparisons, countCalls } from '../calls.ts';
import type { Column, Figure } from '../figures.ts';
import { writesOf } from '../manager-usage.ts';
import type { BenchOptions } from '../options.ts';
import { costFigures } from '../phase-figures.ts';
import { scaled } from '../profiles.ts';
import { createAll } from './lifecycle.ts';

const LIFECYCLE_MS = 2_000;
const LIMIT_MS = 180_000;
/** The time that the manager needs to write its last Events after all profiles are Ready. */
const SETTLE_MS = 2_000;
/**
 * The manager's sync period in this measurement. It is short, so that the manager compares each object with AWS several
 * times.
 */
const SYNC_PERIOD_MS = 20_000;
/**
 * How many sync periods pass before the measurement, so that V8 compiles the functions that compare objects with AWS.
 * In a manager that has been at rest for a long time, V8 has already compiled them.
 */
const SETTLING_PERIODS = 4;
/** How many sync periods the measurement takes. */
const REST_PERIODS = 4;
/**
 * How long the benchmark measures a manager at rest, and a restarted manager. The restarted manager must not write to
 * the API server, because no object has changed.
 */
const RESTART_MS = 5_000;

const FLEETS = [
  { name: '1 profile', clusters: 1, profilesEach: 1, peakMiB: 110, comparisonMs: undefined },
  { name: '200 profiles', clusters: 40, profilesEach: 5, peakMiB: 140, comparisonMs: 4 },
] as const;

type Fleet = (typeof FLEETS)[number];

/** Measures the manager while all its profiles are Ready, with 1 and with 200 profiles. */
export async function measureRest(options: BenchOptions): Promise<readonly Column[]> {
  const columns: Column[] = [];
  for (const fleet of FLEETS)
    columns.push(
      await inBenchWorld(`rest, ${fleet.name}`, { eks: { lifecycleMs: LIFECYCLE_MS }, options }, (world) =>
        measureFleet(world, fleet, options),
      ),
    );
  return columns;
}

async function measureFleet(world: BenchWorld, fleet: Fleet, options: BenchOptions): Promise<Column> {
  const { profilesEach } = fleet;
  const size = { prefix: 'cluster', clusters: scaled(fleet.clusters, options), profilesEach };
  const profiles = await world.createClusters(size);
  const first = await world.startManager();
  const creation = await world.measure(first, async () => {
    await createAll(profiles, LIMIT_MS);
    await delay(SETTLE_MS);
  });
  const rested = await rest(world, first);
  await stopManager(first);
  const second = await world.startManager([`--sync-period=${SYNC_PERIOD_MS}ms`]);
  const firstPeriod = await world.measure(second, () => delay(SYNC_PERIOD_MS));
  const settling = { syncMs: SYNC_PERIOD_MS, settlingPeriods: SETTLING_PERIODS - 1 };
  const comparing = await restWhileComparing(world, second, { ...settling, periods: REST_PERIODS });
  await stopManager(second);
  const third = await world.startManager();
  const restart = await world.measure(third, () => delay(RESTART_MS));
  await stopManager(third);
  return {
    name: fleet.name,
    figures: [
      ...(profiles.count === 1
        ? [{ label: 'Created: writes to the API server each', value: writesOf(creation.usage), aim: 8 }]
        : []),
      { label: 'Peak memory: created, then at rest, MiB', value: rested.usage.memory.peakMiB, aim: fleet.peakMiB },
      {
        label: 'Peak memory: started when all are Ready, MiB',
        value: comparing.usage.memory.peakMiB,
        aim: fleet.peakMiB,
      },
      {
        label: 'Just started: processor time a comparison, ms',
        value: cpuMsOfComparison(firstPeriod),
        digits: 1,
      },
      ...restFigures(comparing, fleet.comparisonMs),
      { label: 'Started again: writes to the API server', value: writesOf(restart.usage), aim: 0 },
      { label: 'Started again: changes in AWS', value: countCalls(restart.calls).mutations, aim: 0 },
      ...costFigures(comparing, 'at rest'),
    ],
  };
}

const rest = (world: BenchWorld, manager: RunningManager): Promise<MeasuredPhase> =>
  world.measure(manager, () => delay(RESTART_MS));

/**
 * Waits for `settlingPeriods` sync periods and then measures `periods` sync periods. In each period, the manager
 * compares all its objects with AWS.
 */
export async function restWhileComparing(
  world: BenchWorld,
  manager: RunningManager,
  {
    syncMs,
    settlingPeriods,
    periods,
  }: { readonly syncMs: number; readonly settlingPeriods: number; readonly periods: number },
): Promise<MeasuredPhase> {
  await delay(settlingPeriods * syncMs);
  return world.measure(manager, () => delay(periods * syncMs));
}

/** Returns the results of a measurement in which the manager compared objects with AWS and had nothing to change. */
export function restFigures(phase: MeasuredPhase, comparisonMs?: number): readonly Figure[] {
  const calls = countCalls(phase.calls);
  const comparisons = Math.max(1, countComparisons(calls));
  return [
    { label: 'At rest: comparisons with AWS', value: comparisons },
    {
      label: 'At rest: processor time a comparison, ms',
      value: cpuMsOfComparison(phase),
      digits: 1,
      aim: comparisonMs,
    },
    { label: 'At rest: AWS calls a comparison', value: calls.total / comparisons, digits: 1 },
    { label: 'At rest: writes to the API server', value: writesOf(phase.usage), aim: 0 },
    { label: 'At rest: changes in AWS', value: calls.mutations, aim: 0 },
  ];
}

/**
 * Returns the processor time of the manager in a measurement, divided by the number of its comparisons with AWS, in ms.
 */
const cpuMsOfComparison = ({ calls, usage }: MeasuredPhase): number =>
  (1000 * usage.cpuSeconds) / Math.max(1, countComparisons(countCalls(calls)));
