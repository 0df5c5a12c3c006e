import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { remoteAdmin, type RemoteAdmin } from '../../test/aws/admin/remote.ts';
import type { CallRecord } from '../../test/aws/call-log.ts';
import type { ConfigPatch } from '../../test/aws/model/config.ts';
import { STAND_IN_CRDS, applyCrds } from '../../test/envtest/clients/crds.ts';
import { startControlPlane, type ControlPlane } from '../../test/envtest/control-plane/controlplane.ts';
import { startManager, type RunningManager } from '../../test/world/manager/manager.ts';
import { OUR_CRD } from '../../test/world/world.ts';
import { startEmulator } from '../emulator.ts';
import { usageOf, usageSince, type ManagerUsage } from './manager-usage.ts';
import type { BenchOptions } from './options.ts';
import { cpuSecondsOf, machineCpuSeconds } from './processes.ts';
import { BenchProfiles, type ProfileCounts } from './profiles.ts';

const DEPLOYMENT = fileURLToPath(new URL('../../config/manager/deployment.yaml', import.meta.url));
const MANAGER = 'manager';
/**
 * The API paths of the objects with which the manager elects its leader: the Lease, and the Events about the leader.
 */
const ELECTION = [
  '/apis/coordination.k8s.io/v1/namespaces/capaf-system/leases',
  '/api/v1/namespaces/capaf-system/events',
];
/**
 * Flags in the manager's Deployment that the benchmark replaces, because it uses free ports and reads the metrics
 * without a token.
 */
const OWN_FLAGS = ['--health-addr', '--diagnostics-address', '--insecure-diagnostics'];

/** The delay that the AWS emulator adds to every AWS call, in milliseconds. */
export const CALL_MS = 20;

export interface EmulatedEks {
  /**
   * How long the emulated EKS takes to create or to delete one Fargate profile, in milliseconds. The real EKS takes
   * minutes.
   */
  readonly lifecycleMs: number;
  /** The calls per second that the AWS emulator allows for each operation; undefined: no limit. */
  readonly throttledTo?: number;
}

/**
 * The processor time of each process except the manager, in seconds, by the name of the process. The entry `machine` is
 * the processor time of all programs on the machine.
 */
export type Costs = Readonly<Record<string, number>>;

/**
 * The duration, the AWS calls, and the resource use of one phase of a measurement, e.g. of the creation of all
 * profiles.
 */
export interface MeasuredPhase {
  readonly seconds: number;
  readonly calls: readonly CallRecord[];
  readonly usage: ManagerUsage;
  readonly costs: Costs;
}

/**
 * The environment of one measurement: an API server and an AWS emulator in processes of their own, and the Kubernetes
 * objects of the benchmark.
 */
export class BenchWorld {
  readonly aws: RemoteAdmin;
  /** This promise rejects when the benchmark's watch of Kubernetes objects fails. */
  readonly failed: Promise<never>;
  readonly #controlPlane: ControlPlane;
  readonly #awsUrl: string;
  readonly #options: BenchOptions;
  readonly #signal: AbortSignal;
  readonly #fail: (reason: unknown) => void;
  #electionWrites = 0;
  #managers = 0;

  constructor(controlPlane: ControlPlane, awsUrl: string, { options, signal }: WorldSettings) {
    this.aws = remoteAdmin(awsUrl);
    this.#controlPlane = controlPlane;
    this.#awsUrl = awsUrl;
    this.#options = options;
    this.#signal = signal;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failed = promise;
    this.#fail = reject;
    for (const path of ELECTION) this.#keep(this.#countElectionWrites(path));
  }

  /** Creates the Clusters and EKS clusters, as many as `size` says, and starts to watch their AWSFargateProfiles. */
  async createClusters(size: ProfileCounts): Promise<BenchProfiles> {
    const profiles = new BenchProfiles(this.#controlPlane.api, this.aws, size);
    await profiles.createClusters();
    this.#keep(profiles.follow(this.#signal));
    return profiles;
  }

  /**
   * Starts a manager process with the command line of the manager's container image and the flags of its Deployment.
   * Node.js gets no compile cache, because a new container has none either.
   */
  async startManager(
    flags: readonly string[] = [],
    { waitUntilReady = true }: { readonly waitUntilReady?: boolean } = {},
  ): Promise<RunningManager> {
    const { managerFile, nodeOptions } = this.#options;
    this.#managers += 1;
    return startManager(this.#controlPlane, {
      awsUrl: this.#awsUrl,
      // The name of a manager process is also the name of its log file, so that each manager has a log file of its own.
      name: `${MANAGER}-${this.#managers}`,
      flags: [...(await shippedFlags()), ...flags, ...this.#options.flags],
      verbosity: 0,
      waitUntilReady,
      ...(managerFile !== undefined && { file: managerFile }),
      env: { NODE_OPTIONS: nodeOptions, NODE_COMPILE_CACHE: undefined },
    });
  }

  /** Runs `work` and measures it: its duration, the AWS calls, and the resource use of the manager in that time. */
  async measure(manager: RunningManager, work: () => Promise<void>): Promise<MeasuredPhase> {
    await this.aws.clearCalls();
    const [costsBefore, electionWrites, before] = [await this.#costs(), this.#electionWrites, await usageOf(manager)];
    const from = performance.now();
    await work();
    const seconds = (performance.now() - from) / 1000;
    const [after, costs] = [await usageOf(manager), await this.#costs()];
    return {
      seconds,
      calls: await this.aws.calls(),
      usage: usageSince(before, { ...after, electionWrites: this.#electionWrites - electionWrites }),
      costs: Object.fromEntries(Object.entries(costs).map(([name, used]) => [name, used - (costsBefore[name] ?? 0)])),
    };
  }

  async #costs(): Promise<Costs> {
    const running = this.#controlPlane.processes().filter(({ name }) => !name.startsWith(MANAGER));
    const used: Record<string, number> = {};
    for (const { name, pid } of running) used[name] = await cpuSecondsOf(pid);
    const { user, system } = process.cpuUsage();
    return {
      ...used,
      bench: (user + system) / 1e6,
      machine: await machineCpuSeconds(),
    };
  }

  /**
   * Counts how often the manager writes the Lease of its leader election, or an Event about the leader. The results of
   * the benchmark leave these writes out, because their number does not depend on the number of profiles.
   */
  async #countElectionWrites(path: string): Promise<void> {
    const { api } = this.#controlPlane;
    let { resourceVersion } = (await api.list(path)).metadata;
    while (!this.#signal.aborted) {
      for await (const { type, object } of api.watch(path, { resourceVersion }, this.#signal)) {
        if (type === 'ERROR') throw new Error(`the watch of ${path} ended`);
        ({ resourceVersion } = object.metadata);
        this.#electionWrites += 1;
      }
    }
  }

  #keep(watch: Promise<void>): void {
    watch.catch((error: unknown) => this.#fail(error));
  }
}

interface WorldSettings {
  readonly options: BenchOptions;
  readonly signal: AbortSignal;
}

/**
 * Runs a measurement with an API server and an AWS emulator of its own, and then stops their processes.
 * @throws if the measurement throws; the error message contains the end of each log
 */
export async function inBenchWorld<T>(
  name: string,
  { eks, options }: { readonly eks: EmulatedEks; readonly options: BenchOptions },
  measure: (world: BenchWorld) => Promise<T>,
): Promise<T> {
  const controlPlane = await startControlPlane();
  const watching = new AbortController();
  try {
    await applyCrds(controlPlane.api, STAND_IN_CRDS, OUR_CRD);
    await controlPlane.api.post('/api/v1/namespaces', { metadata: { name: 'capaf-system' } });
    const { url } = await startEmulator(controlPlane);
    const world = new BenchWorld(controlPlane, url, { options, signal: watching.signal });
    await world.aws.setConfig(configOf(eks));
    return await Promise.race([measure(world), world.failed]);
  } catch (error) {
    throw new Error(`${name}: ${String(error)}\n${controlPlane.logs()}`, { cause: error });
  } finally {
    watching.abort();
    await controlPlane.stop();
  }
}

const configOf = ({ lifecycleMs, throttledTo }: EmulatedEks): ConfigPatch => ({
  eks: { createMs: lifecycleMs, deleteMs: lifecycleMs },
  latencyMs: CALL_MS,
  // The emulated IAM gets a quota above the default quota of IAM, because the part `large` of the benchmark needs 5,000
  // IAM roles.
  iam: { maxRoles: 100_000 },
  ...(throttledTo !== undefined && { throttle: { perSecond: throttledTo, burst: throttledTo } }),
});

/**
 * Returns the flags of the manager in the manifest of its Deployment, without the flags that the benchmark replaces.
 */
async function shippedFlags(): Promise<readonly string[]> {
  const deployment = parse(await readFile(DEPLOYMENT, 'utf8')) as Deployment;
  const args = deployment.spec.template.spec.containers[0]?.args ?? [];
  return args.filter((arg) => !OWN_FLAGS.some((flag) => arg.startsWith(`${flag}=`)));
}

interface Deployment {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] } };
  };
}

/** Stops the manager with SIGTERM. Throws if the manager has panicked or exits with an error. */
export async function stopManager(manager: RunningManager): Promise<void> {
  const panics = await manager.metric('controller_runtime_reconcile_panics_total');
  const { code, signal } = await manager.stop();
  if (panics > 0 || code !== 0)
    throw new Error(`the manager panicked ${panics} times and ended with ${signal ?? code}`);
}
