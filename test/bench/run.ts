import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { leftovers } from '../aws/expect-nothing-left.ts';
import type { ConfigPatch } from '../aws/model/config.ts';
import { remoteAdmin, type RemoteAdmin } from '../aws/remote.ts';
import { startControlPlane, type ControlPlane } from '../envtest/controlplane.ts';
import { STAND_IN_CRDS, applyCrds } from '../envtest/crds.ts';
import { untilUp } from '../envtest/process.ts';
import { eventually } from '../support/eventually.ts';
import { startManager, type RunningManager } from '../world/manager.ts';
import { OUR_CRD } from '../world/world.ts';
import { countCalls, type CallCounts } from './calls.ts';
import { Fleet, type FleetSize } from './fleet.ts';
import { usageOf, usageSince, writesOf, type Usage } from './usage.ts';

const EMULATOR = fileURLToPath(new URL('../aws/main.ts', import.meta.url));

/** How long each call to AWS takes. */
export const CALL_MS = 20;
/** For the look at a fleet at rest: so short that each object is compared with AWS several times. */
export const IDLE_SYNC_PERIOD_MS = 5_000;
export const IDLE_MS = 20_000;
/** How long a manager that was started anew is watched. */
export const RESTART_MS = 5_000;

export interface Scenario extends Omit<FleetSize, 'prefix'> {
  readonly name: string;
  /** How long EKS takes to create or to delete a profile; in AWS it is minutes. */
  readonly lifecycleMs: number;
  /** The manager has made and deleted a profile before: it does not do everything for the first time. */
  readonly isPractised?: boolean;
  /** Calls a second that AWS allows for each operation; absent: any. */
  readonly throttledTo?: number;
}

export interface RunOptions {
  /** The built manager; absent: the one that `make build` made. */
  readonly managerFile?: string;
  readonly nodeOptions: string;
  /** After the bench's own. */
  readonly flags: readonly string[];
}

/** A change of all profiles, up to its end. */
export interface Phase {
  readonly seconds: number;
  readonly calls: CallCounts;
}

export interface Measurement {
  readonly scenario: Scenario;
  readonly create: Phase & Usage;
  /** All is as it should be, and is looked at again and again. */
  readonly idle: {
    readonly seconds: number;
    readonly calls: CallCounts;
    readonly writes: number;
    readonly cpuSeconds: number;
  };
  /** Killed at rest and started again. */
  readonly restart: {
    /** From the start of the process until it is ready and has nothing queued. */
    readonly seconds: number;
    readonly calls: CallCounts;
    readonly writes: number;
  };
  readonly delete: Phase;
  /** Of the manager that made the profiles, and of the one that deleted them. */
  readonly peakMiB: number;
}

/** What EKS takes at the least, one change of a cluster at a time; the clusters do not wait for each other. */
export const serialSeconds = ({ profilesEach, lifecycleMs }: Scenario): number => (profilesEach * lifecycleMs) / 1000;

/** One life of a fleet: made, left alone, its manager killed and started again, deleted. */
export async function run(scenario: Scenario, options: RunOptions): Promise<Measurement> {
  const controlPlane = await startControlPlane();
  const watching = new AbortController();
  try {
    await applyCrds(controlPlane.api, STAND_IN_CRDS, OUR_CRD);
    const { aws, url: awsUrl } = await startEmulator(controlPlane, scenario);
    const fleet = new Fleet(controlPlane.api, aws, { ...scenario, prefix: 'cluster' });
    const trial = new Fleet(controlPlane.api, aws, { prefix: 'trial', clusters: 1, profilesEach: 1 });
    await fleet.createClusters();
    await trial.createClusters();
    const following = Promise.race([fleet, trial].map(async (each) => each.follow(watching.signal)));
    const bench = new Bench(scenario, { fleet, trial }, aws, (flags = []) =>
      startManager(controlPlane, {
        awsUrl,
        flags: [...flags, ...options.flags],
        verbosity: 0,
        ...(options.managerFile !== undefined && { file: options.managerFile }),
        env: { NODE_OPTIONS: options.nodeOptions },
      }),
    );
    return await Promise.race([bench.measure(), following.then(neverEnds)]);
  } catch (error) {
    throw new Error(`${scenario.name}: ${String(error)}\n${controlPlane.logs()}`, { cause: error });
  } finally {
    watching.abort();
    await controlPlane.stop();
  }
}

interface Fleets {
  /** What is measured. */
  readonly fleet: Fleet;
  /** On which a manager may practise. */
  readonly trial: Fleet;
}

class Bench {
  readonly #scenario: Scenario;
  readonly #fleet: Fleet;
  readonly #trial: Fleet;
  readonly #aws: RemoteAdmin;
  readonly #start: (flags?: readonly string[]) => Promise<RunningManager>;

  constructor(
    scenario: Scenario,
    { fleet, trial }: Fleets,
    aws: RemoteAdmin,
    start: (flags?: readonly string[]) => Promise<RunningManager>,
  ) {
    this.#scenario = scenario;
    this.#fleet = fleet;
    this.#trial = trial;
    this.#aws = aws;
    this.#start = start;
  }

  async measure(): Promise<Measurement> {
    const first = await this.#start();
    await this.#practise();
    const before = await usageOf(first);
    const creation = await this.#timed(async (limitMs) => {
      await this.#fleet.createProfiles();
      await this.#fleet.untilReady(limitMs);
    });
    const create = { ...creation, ...usageSince(before, await usageOf(first)) };
    await end(first);
    const idle = await this.#idle();
    const { manager, restart } = await this.#restart();
    await this.#practise();
    const deletion = await this.#timed(async (limitMs) => {
      await this.#fleet.deleteProfiles();
      await this.#fleet.untilGone(limitMs);
    });
    const { peakMiB } = await usageOf(manager);
    await end(manager);
    await this.#expectNothingLeft();
    const peak = Math.max(create.peakMiB, peakMiB);
    return { scenario: this.#scenario, create, idle, restart, delete: deletion, peakMiB: peak };
  }

  async #practise(): Promise<void> {
    if (this.#scenario.isPractised !== true) return;
    await this.#trial.createProfiles();
    await this.#trial.untilReady(this.#limitMs());
    await this.#trial.deleteProfiles();
    await this.#trial.untilGone(this.#limitMs());
  }

  /** Throttled, it is the calls that take the time, not EKS. */
  #limitMs(): number {
    return 60_000 + 10_000 * serialSeconds(this.#scenario);
  }

  async #timed(work: (limitMs: number) => Promise<void>): Promise<Phase> {
    await this.#aws.clearCalls();
    const from = performance.now();
    await work(this.#limitMs());
    const seconds = (performance.now() - from) / 1000;
    return { seconds, calls: countCalls(await this.#aws.calls()) };
  }

  /** Ends with `kill -9`: whoever comes next finds no farewell. */
  async #idle(): Promise<Measurement['idle']> {
    const manager = await this.#start(['--sync-period', `${IDLE_SYNC_PERIOD_MS}ms`]);
    // After a start each object waits for a time of its own within the first period.
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
    const world = await this.#aws.world();
    const left = [...leftovers(world), ...world.incidents.map((incident) => JSON.stringify(incident))];
    if (left.length > 0) throw new Error(`left in AWS: ${left.join(', ')}`);
  }
}

const throttling = ({ throttledTo }: Scenario): ConfigPatch =>
  throttledTo === undefined ? {} : { throttle: { perSecond: throttledTo, burst: throttledTo } };

async function startEmulator(
  controlPlane: ControlPlane,
  scenario: Scenario,
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
  // All that it prints is its URL.
  await untilUp([emulator], 'the emulated AWS listening', () => emulator.log().endsWith('\n'));
  const url = emulator.log().trim();
  const aws = remoteAdmin(url);
  await aws.setConfig(throttling(scenario));
  return { aws, url };
}

/** Ends it as a rollout does, and expects that it never panicked. */
async function end(manager: RunningManager): Promise<void> {
  const panics = await manager.metric('controller_runtime_reconcile_panics_total');
  const { code, signal } = await manager.stop();
  if (panics > 0 || code !== 0)
    throw new Error(`the manager panicked ${panics} times and ended with ${signal ?? code}`);
}

const neverEnds = (): Promise<never> => new Promise(() => undefined);
