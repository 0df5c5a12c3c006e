import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { leftovers } from '../aws/admin/expect-nothing-left.ts';
import type { ConfigPatch } from '../aws/model/config.ts';
import { remoteAdmin, type RemoteAdmin } from '../aws/admin/remote.ts';
import { startControlPlane, type ControlPlane } from '../envtest/control-plane/controlplane.ts';
import { STAND_IN_CRDS, applyCrds } from '../envtest/clients/crds.ts';
import { waitUntilUp } from '../envtest/control-plane/process.ts';
import { eventually } from '../support/eventually.ts';
import { startManager, type RunningManager } from '../world/manager/manager.ts';
import { OUR_CRD } from '../world/world.ts';
import { countCalls, spanOfFirstChanges, type CallCounts } from './calls.ts';
import { BenchProfiles, type ProfileCounts } from './profiles.ts';
import { usageOf, usageSince, writesOf, type ManagerUsage } from './manager-usage.ts';

const EMULATOR = fileURLToPath(new URL('../aws/main.ts', import.meta.url));

/** The delay that the AWS emulator adds to every AWS call, in milliseconds. */
export const CALL_MS = 20;
/**
 * The manager's sync period while the benchmark measures the idle manager: short, so that the manager compares each
 * object with AWS several times.
 */
export const IDLE_SYNC_PERIOD_MS = 5_000;
export const IDLE_MS = 20_000;
/** How long the benchmark still counts AWS calls after the queue of the restarted manager is empty, in milliseconds. */
export const RESTART_MS = 5_000;

export interface BenchScenario extends Omit<ProfileCounts, 'prefix'> {
  readonly name: string;
  /** How long the emulated EKS takes to create one profile or to delete one profile; the real EKS takes minutes. */
  readonly lifecycleMs: number;
  /**
   * Whether the manager creates and deletes an additional profile before the measurement, so that the measurement does
   * not contain the manager's one-time work.
   */
  readonly isWarmedUp?: boolean;
  /** The calls per second that the AWS emulator allows for each operation; undefined: no limit. */
  readonly throttledTo?: number;
}

export interface BenchOptions {
  /** The path of the manager program; undefined: the program that `make build` builds. */
  readonly managerFile?: string;
  readonly nodeOptions: string;
  /** Flags of the manager that follow the benchmark's own flags on the command line. */
  readonly flags: readonly string[];
}

/** The part of the benchmark that creates all profiles, or the part that deletes all profiles. */
export interface TimedPhase {
  readonly seconds: number;
  /** The time from the first AWS call until EKS has accepted a change in every cluster. */
  readonly firstChangesSeconds: number;
  readonly calls: CallCounts;
}

export interface Measurement {
  readonly scenario: BenchScenario;
  readonly create: TimedPhase & ManagerUsage;
  /** The part of the benchmark in which all profiles are Ready and the manager compares them with AWS repeatedly. */
  readonly idle: {
    readonly seconds: number;
    readonly calls: CallCounts;
    readonly writes: number;
    readonly cpuSeconds: number;
  };
  /** The part of the benchmark in which a manager starts after the idle manager has been killed. */
  readonly restart: {
    /** The time from the start of the manager process until the manager is ready and its queue is empty. */
    readonly seconds: number;
    readonly calls: CallCounts;
    readonly writes: number;
  };
  readonly delete: TimedPhase;
  /**
   * The memory peak of the manager that creates the profiles or of the manager that deletes them, whichever is larger.
   */
  readonly peakMiB: number;
}

/**
 * The shortest time in which EKS can create all profiles, or can delete all profiles: one profile at a time per
 * cluster, and all clusters in parallel.
 */
export const serialSeconds = ({ profilesEach, lifecycleMs }: BenchScenario): number =>
  (profilesEach * lifecycleMs) / 1000;

/**
 * Measures one scenario: creates the profiles, leaves them idle, kills and restarts the manager, and deletes the
 * profiles.
 */
export async function measureScenario(scenario: BenchScenario, options: BenchOptions): Promise<Measurement> {
  const controlPlane = await startControlPlane();
  const watching = new AbortController();
  try {
    await applyCrds(controlPlane.api, STAND_IN_CRDS, OUR_CRD);
    const { aws, url: awsUrl } = await startEmulator(controlPlane, scenario);
    const measured = new BenchProfiles(controlPlane.api, aws, { ...scenario, prefix: 'cluster' });
    const warmUp = new BenchProfiles(controlPlane.api, aws, { prefix: 'trial', clusters: 1, profilesEach: 1 });
    await measured.createClusters();
    await warmUp.createClusters();
    const following = Promise.race([measured, warmUp].map(async (each) => each.follow(watching.signal)));
    const benchRun = new BenchRun(scenario, { measured, warmUp }, aws, (flags = []) =>
      startBenchManager(controlPlane, awsUrl, { ...options, flags: [...flags, ...options.flags] }),
    );
    return await Promise.race([benchRun.measure(), following.then(neverEnds)]);
  } catch (error) {
    throw new Error(`${scenario.name}: ${String(error)}\n${controlPlane.logs()}`, { cause: error });
  } finally {
    watching.abort();
    await controlPlane.stop();
  }
}

export const startBenchManager = (
  controlPlane: ControlPlane,
  awsUrl: string,
  { flags, managerFile, nodeOptions }: BenchOptions,
): Promise<RunningManager> =>
  startManager(controlPlane, {
    awsUrl,
    flags,
    verbosity: 0,
    ...(managerFile !== undefined && { file: managerFile }),
    env: { NODE_OPTIONS: nodeOptions },
  });

interface ProfileSets {
  /** The profiles whose creation and deletion the benchmark measures. */
  readonly measured: BenchProfiles;
  /** The profile that warms up the manager before the benchmark measures it. */
  readonly warmUp: BenchProfiles;
}

class BenchRun {
  readonly #scenario: BenchScenario;
  readonly #measured: BenchProfiles;
  readonly #warmUp: BenchProfiles;
  readonly #aws: RemoteAdmin;
  readonly #start: (flags?: readonly string[]) => Promise<RunningManager>;

  constructor(
    scenario: BenchScenario,
    { measured, warmUp }: ProfileSets,
    aws: RemoteAdmin,
    start: (flags?: readonly string[]) => Promise<RunningManager>,
  ) {
    this.#scenario = scenario;
    this.#measured = measured;
    this.#warmUp = warmUp;
    this.#aws = aws;
    this.#start = start;
  }

  async measure(): Promise<Measurement> {
    const first = await this.#start();
    await this.#warmUpManager();
    const before = await usageOf(first);
    const creation = await this.#timed(async (limitMs) => {
      await this.#measured.createProfiles();
      await this.#measured.untilReady(limitMs);
    });
    const create = { ...creation, ...usageSince(before, await usageOf(first)) };
    await stopManager(first);
    const idle = await this.#idle();
    const { manager, restart } = await this.#restart();
    await this.#warmUpManager();
    const deletion = await this.#timed(async (limitMs) => {
      await this.#measured.deleteProfiles();
      await this.#measured.untilGone(limitMs);
    });
    const { peakMiB } = await usageOf(manager);
    await stopManager(manager);
    await this.#expectNothingLeft();
    const peak = Math.max(create.peakMiB, peakMiB);
    return { scenario: this.#scenario, create, idle, restart, delete: deletion, peakMiB: peak };
  }

  async #warmUpManager(): Promise<void> {
    if (this.#scenario.isWarmedUp !== true) return;
    await this.#warmUp.createProfiles();
    await this.#warmUp.untilReady(this.#limitMs());
    await this.#warmUp.deleteProfiles();
    await this.#warmUp.untilGone(this.#limitMs());
  }

  /**
   * Returns the time limit for the creation, or for the deletion, of all profiles in milliseconds. The limit is long
   * because throttled AWS calls can take longer than the work of EKS.
   */
  #limitMs(): number {
    return 60_000 + 10_000 * serialSeconds(this.#scenario);
  }

  async #timed(work: (limitMs: number) => Promise<void>): Promise<TimedPhase> {
    await this.#aws.clearCalls();
    const from = performance.now();
    await work(this.#limitMs());
    const seconds = (performance.now() - from) / 1000;
    const calls = await this.#aws.calls();
    return { seconds, firstChangesSeconds: spanOfFirstChanges(calls) / 1000, calls: countCalls(calls) };
  }

  /**
   * Measures an idle manager. Afterwards kills the manager with SIGKILL, so that the next manager starts as after a
   * crash.
   */
  async #idle(): Promise<Measurement['idle']> {
    const manager = await this.#start(['--sync-period', `${IDLE_SYNC_PERIOD_MS}ms`]);
    // A manager compares each object with AWS for the first time at a random time within the first sync period.
    await delay(IDLE_SYNC_PERIOD_MS);
    await this.#aws.clearCalls();
    const before = await usageOf(manager);
    const from = performance.now();
    await delay(IDLE_MS);
    const after = await usageOf(manager);
    const seconds = (performance.now() - from) / 1000;
    const calls = countCalls(await this.#aws.calls());
    await manager.stop('SIGKILL');
    return {
      seconds,
      calls,
      writes: writesOf(after) - writesOf(before),
      cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    };
  }

  async #restart(): Promise<{ readonly manager: RunningManager; readonly restart: Measurement['restart'] }> {
    await this.#aws.clearCalls();
    const from = performance.now();
    const manager = await this.#start();
    await eventually(
      async () =>
        (await manager.metric('workqueue_depth')) + (await manager.metric('controller_runtime_active_workers')) === 0,
      { what: 'an empty queue', timeoutMs: 60_000, intervalMs: 20 },
    );
    const seconds = (performance.now() - from) / 1000;
    await delay(RESTART_MS);
    const calls = countCalls(await this.#aws.calls());
    return { manager, restart: { seconds, calls, writes: writesOf(await usageOf(manager)) } };
  }

  async #expectNothingLeft(): Promise<void> {
    const snapshot = await this.#aws.snapshot();
    const left = [...leftovers(snapshot), ...snapshot.incidents.map((incident) => JSON.stringify(incident))];
    if (left.length > 0) throw new Error(`left in AWS: ${left.join(', ')}`);
  }
}

type EmulatedEks = Pick<BenchScenario, 'lifecycleMs' | 'throttledTo'>;

const throttling = ({ throttledTo }: EmulatedEks): ConfigPatch =>
  throttledTo === undefined ? {} : { throttle: { perSecond: throttledTo, burst: throttledTo } };

export async function startEmulator(
  controlPlane: ControlPlane,
  scenario: EmulatedEks,
): Promise<{ readonly aws: RemoteAdmin; readonly url: string }> {
  const emulator = await controlPlane.run({
    name: 'emulator',
    file: process.execPath,
    args: [
      EMULATOR,
      '--create-ms',
      String(scenario.lifecycleMs),
      '--delete-ms',
      String(scenario.lifecycleMs),
      '--latency-ms',
      String(CALL_MS),
    ],
  });
  // The AWS emulator prints nothing but its URL.
  await waitUntilUp([emulator], 'the emulated AWS listening', () => emulator.log().endsWith('\n'));
  const url = emulator.log().trim();
  const aws = remoteAdmin(url);
  await aws.setConfig(throttling(scenario));
  return { aws, url };
}

/** Stops the manager with SIGTERM. Throws if the manager has panicked or exits with an error. */
async function stopManager(manager: RunningManager): Promise<void> {
  const panics = await manager.metric('controller_runtime_reconcile_panics_total');
  const { code, signal } = await manager.stop();
  if (panics > 0 || code !== 0)
    throw new Error(`the manager panicked ${panics} times and ended with ${signal ?? code}`);
}

const neverEnds = (): Promise<never> => new Promise(() => undefined);
