import { leftovers } from '../../../test/aws/admin/expect-nothing-left.ts';
import { inBenchWorld, stopManager, type BenchWorld, type EmulatedEks, type MeasuredPhase } from '../bench-world.ts';
import { countCalls, spanOfFirstChanges } from '../calls.ts';
import type { Column, Figure } from '../figures.ts';
import { readsOf, writesOf } from '../manager-usage.ts';
import type { BenchOptions } from '../options.ts';
import { costFigures } from '../phase-figures.ts';
import { scaled, type BenchProfiles, type ProfileCounts } from '../profiles.ts';

/** The settings of one measurement, in which a newly started manager creates all profiles and then deletes them. */
export interface Lifecycle extends Omit<ProfileCounts, 'prefix'>, EmulatedEks {
  readonly name: string;
  /**
   * Whether the manager creates and deletes an additional profile before the measurement, so that the measurement does
   * not contain the manager's one-time work.
   */
  readonly isWarmedUp?: boolean;
  readonly aims: LifecycleAims;
}

/** The highest acceptable values of the figures; undefined: every value is acceptable. */
export interface LifecycleAims {
  readonly overLimit?: number;
  readonly cpuMs?: number;
  readonly writes?: number;
  readonly calls?: number;
  readonly callsWithoutPolls?: number;
  readonly delayMs?: number;
  readonly peakMiB?: number;
}

/**
 * Returns the shortest time in which EKS can create all profiles, or delete them: one profile at a time per cluster,
 * all clusters in parallel.
 */
const serialSeconds = ({ profilesEach, lifecycleMs }: Lifecycle): number => (profilesEach * lifecycleMs) / 1000;

export async function measureLifecycle(wanted: Lifecycle, options: BenchOptions): Promise<Column> {
  const lifecycle = { ...wanted, clusters: scaled(wanted.clusters, options) };
  return inBenchWorld(lifecycle.name, { eks: lifecycle, options }, async (world) => {
    const profiles = await world.createClusters({ ...lifecycle, prefix: 'cluster' });
    const manager = await world.startManager();
    // The time limit of each wait is more than ten times the time that EKS needs, because throttled AWS calls can delay
    // the manager for longer than the work of EKS takes.
    const limitMs = 60_000 + 10_000 * serialSeconds(lifecycle);
    if (lifecycle.isWarmedUp === true) {
      const trial = await world.createClusters({ prefix: 'trial', clusters: 1, profilesEach: 1 });
      await createAll(trial, limitMs);
      await deleteAll(trial, limitMs);
    }
    const creation = await world.measure(manager, () => createAll(profiles, limitMs));
    const deletion = await world.measure(manager, () => deleteAll(profiles, limitMs));
    await stopManager(manager);
    await expectNothingLeft(world);
    return {
      name: lifecycle.name,
      figures: figuresOf(lifecycle, { creation, deletion, profiles: profiles.count }),
      calls: { create: countCalls(creation.calls), delete: countCalls(deletion.calls) },
    };
  });
}

export async function createAll(profiles: BenchProfiles, limitMs: number, suffix = ''): Promise<void> {
  await profiles.createProfiles(suffix);
  await profiles.untilReady(limitMs);
}

export async function deleteAll(profiles: BenchProfiles, limitMs: number): Promise<void> {
  await profiles.deleteProfiles();
  await profiles.untilGone(limitMs);
}

export async function expectNothingLeft({ aws }: BenchWorld): Promise<void> {
  const snapshot = await aws.snapshot();
  const left = [...leftovers(snapshot), ...snapshot.incidents.map((incident) => JSON.stringify(incident))];
  if (left.length > 0) throw new Error(`left in AWS: ${left.join(', ')}`);
}

interface LifecyclePhases {
  readonly creation: MeasuredPhase;
  readonly deletion: MeasuredPhase;
  readonly profiles: number;
}

function figuresOf(lifecycle: Lifecycle, phases: LifecyclePhases): readonly Figure[] {
  const { creation, deletion, profiles } = phases;
  return [
    { label: 'Profiles', value: profiles },
    { label: 'A creation or deletion takes EKS, s', value: lifecycle.lifecycleMs / 1000 },
    { label: 'Serial limit of EKS, s', value: serialSeconds(lifecycle) },
    ...creationFigures(lifecycle, phases),
    ...deletionFigures(lifecycle, phases),
    { label: 'Peak memory of the manager, MiB', value: deletion.usage.memory.peakMiB, aim: lifecycle.aims.peakMiB },
    ...costFigures(creation, 'creating'),
    ...costFigures(deletion, 'deleting'),
  ];
}

function creationFigures(lifecycle: Lifecycle, { creation, profiles }: LifecyclePhases): readonly Figure[] {
  const { usage, seconds } = creation;
  const { overLimit, cpuMs, writes, calls, callsWithoutPolls, delayMs } = lifecycle.aims;
  const { total, polls, failed, throttled } = countCalls(creation.calls);
  const each = (label: string, sum: number, aim?: number): Figure => ({ label, value: sum / profiles, digits: 1, aim });
  return [
    { label: 'Created: all Ready after, s', value: seconds, digits: 2 },
    { label: 'Created: over the serial limit', value: seconds / serialSeconds(lifecycle), digits: 2, aim: overLimit },
    {
      label: 'Created: EKS busy in every cluster after, s',
      value: spanOfFirstChanges(creation.calls) / 1000,
      digits: 2,
    },
    each('Created: processor time of the manager each, ms', 1000 * usage.cpuSeconds, cpuMs),
    each('Created: writes to the API server each', writesOf(usage), writes),
    each('Created: reads from the API server each', readsOf(usage)),
    { label: 'Created: requests that the API server refused', value: usage.refused },
    each('Created: AWS calls each, with polls', total, calls),
    each('Created: AWS calls each, without polls', total - polls, callsWithoutPolls),
    { label: 'Created: failed AWS calls', value: failed, aim: 0 },
    { label: 'Created: throttled AWS calls', value: throttled },
    { label: 'Created: event loop delay (p99), ms', value: usage.eventLoopDelayMs, aim: delayMs },
  ];
}

function deletionFigures(lifecycle: Lifecycle, { deletion, profiles }: LifecyclePhases): readonly Figure[] {
  const { usage, seconds } = deletion;
  const { total, polls, failed, throttled } = countCalls(deletion.calls);
  const each = (label: string, sum: number): Figure => ({ label, value: sum / profiles, digits: 1 });
  const { overLimit } = lifecycle.aims;
  return [
    { label: 'Deleted: all gone after, s', value: seconds, digits: 2 },
    { label: 'Deleted: over the serial limit', value: seconds / serialSeconds(lifecycle), digits: 2, aim: overLimit },
    each('Deleted: processor time of the manager each, ms', 1000 * usage.cpuSeconds),
    each('Deleted: writes to the API server each', writesOf(usage)),
    each('Deleted: AWS calls each, without polls', total - polls),
    { label: 'Deleted: failed AWS calls', value: failed, aim: 0 },
    { label: 'Deleted: throttled AWS calls', value: throttled },
  ];
}
