import { setTimeout as delay } from 'node:timers/promises';
import { STAND_IN_CRDS, applyCrds } from '../envtest/clients/crds.ts';
import { startControlPlane } from '../envtest/control-plane/controlplane.ts';
import type { RunningManager } from '../world/manager/manager.ts';
import { OUR_CRD } from '../world/world.ts';
import { BenchProfiles } from './profiles.ts';
import { startBenchManager, startEmulator, type BenchOptions } from './run.ts';

export const FAIRNESS = 'fairness';

const LIFECYCLE_MS = 2_000;
const LIMIT_MS = 600_000;
/** The region whose AWS endpoints accept connections and answer no call. */
const DEAD_REGION = 'ap-south-1';
const DEAD = { clusters: 100, profilesEach: 5 };
/** How long the manager works on the profiles in the dead region before the healthy profile is created. */
const FLOOD_MS = 15_000;

export interface FairnessMeasurement {
  /** The time until a profile is Ready while the manager has nothing else to do. */
  readonly aloneSeconds: number;
  /** The time until a profile is Ready while 500 other profiles are in a region that does not answer. */
  readonly besideSeconds: number;
}

/** Measures how much longer a healthy profile takes beside 500 profiles in a region that does not answer. */
export async function measureFairness(options: BenchOptions): Promise<FairnessMeasurement> {
  const controlPlane = await startControlPlane();
  const watching = new AbortController();
  try {
    await applyCrds(controlPlane.api, STAND_IN_CRDS, OUR_CRD);
    const { aws, url } = await startEmulator(controlPlane, { lifecycleMs: LIFECYCLE_MS });
    const one = { clusters: 1, profilesEach: 1 };
    const healthy = new BenchProfiles(controlPlane.api, aws, { prefix: 'healthy', ...one });
    const dead = new BenchProfiles(controlPlane.api, aws, { prefix: 'dead', region: DEAD_REGION, ...DEAD });
    await healthy.createClusters();
    await dead.createClusters();
    await aws.addFault({ kind: 'no-answer-before', operation: '*', region: DEAD_REGION });
    const following = healthy.follow(watching.signal);
    const manager = await startBenchManager(controlPlane, url, options);
    const measured = await Promise.race([measure(manager, { healthy, dead }), following.then(() => undefined)]);
    if (measured === undefined) throw new Error('the watch of the profiles ended');
    return measured;
  } catch (error) {
    throw new Error(`${FAIRNESS}: ${String(error)}\n${controlPlane.logs()}`, { cause: error });
  } finally {
    watching.abort();
    await controlPlane.stop();
  }
}

async function measure(
  manager: RunningManager,
  { healthy, dead }: Readonly<Record<'healthy' | 'dead', BenchProfiles>>,
): Promise<FairnessMeasurement> {
  // The first profile warms up the manager.
  await timeUntilReady(healthy);
  await removeAll(healthy);
  const aloneSeconds = await timeUntilReady(healthy);
  await removeAll(healthy);
  await dead.createProfiles();
  await delay(FLOOD_MS);
  const besideSeconds = await timeUntilReady(healthy);
  await manager.stop('SIGKILL');
  return { aloneSeconds, besideSeconds };
}

async function timeUntilReady(profiles: BenchProfiles): Promise<number> {
  const from = performance.now();
  await profiles.createProfiles();
  await profiles.untilReady(LIMIT_MS);
  return (performance.now() - from) / 1000;
}

async function removeAll(profiles: BenchProfiles): Promise<void> {
  await profiles.deleteProfiles();
  await profiles.untilGone(LIMIT_MS);
}
