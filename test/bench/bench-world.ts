import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { remoteAdmin, type RemoteAdmin } from '../aws/admin/remote.ts';
import type { CallRecord } from '../aws/call-log.ts';
import type { ConfigPatch } from '../aws/model/config.ts';
import { STAND_IN_CRDS, applyCrds } from '../envtest/clients/crds.ts';
import { startControlPlane, type ControlPlane } from '../envtest/control-plane/controlplane.ts';
import { waitUntilUp } from '../envtest/control-plane/process.ts';
import { startManager, type RunningManager } from '../world/manager/manager.ts';
import { OUR_CRD } from '../world/world.ts';
import { usageOf, usageSince, type ManagerUsage } from './manager-usage.ts';
import type { BenchOptions } from './options.ts';
import { cpuSecondsOf, machineCpuSeconds } from './processes.ts';
import { BenchProfiles, type ProfileCounts } from './profiles.ts';

const EMULATOR = fileURLToPath(new URL('../aws/main.ts', import.meta.url));
const DEPLOYMENT = fileURLToPath(new URL('../../config/manager/deployment.yaml', import.meta.url));
const MANAGER = 'manager';
/** The Lease of the leader, and the Events about it. */
const ELECTION = [
  '/apis/coordination.k8s.io/v1/namespaces/capaf-system/leases',
  '/api/v1/namespaces/capaf-system/events',
];
/**
 * The flags of the Deployment that the benchmark sets otherwise: it takes free ports, and reads the metrics without a
 * token.
 */
const OWN_FLAGS = ['--health-addr', '--diagnostics-address', '--insecure-diagnostics'];

/** The delay that the AWS emulator adds to every AWS call, in milliseconds. */
export const CALL_MS = 20;

export interface EmulatedEks {
  /** How long the emulated EKS takes to create one profile or to delete one profile; the real EKS takes minutes. */
  readonly lifecycleMs: number;
  /** The calls per second that the AWS emulator allows for each operation; undefined: no limit. */
  readonly throttledTo?: number;
}

/** The processor time of processes in seconds, by the name of the process. `machine` is the work of all processors. */
export type Costs = Readonly<Record<string, number>>;

/** A part of a measurement: what happened and was used between its begin and its end. */
export interface Phase {
  readonly seconds: number;
  readonly calls: readonly CallRecord[];
  readonly usage: ManagerUsage;
  readonly costs: Costs;
}

/** An API server and an emulated AWS of their own, each in its own processes, and the objects of one measurement. */
export class BenchWorld {
  readonly aws: RemoteAdmin;
  /** Rejects when the benchmark can no longer watch its objects. */
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

  /** Creates the clusters of these profiles, and watches the profiles from now on. */
  async createClusters(size: ProfileCounts): Promise<BenchProfiles> {
    const profiles = new BenchProfiles(this.#controlPlane.api, this.aws, size);
    await profiles.createClusters();
    this.#keep(profiles.follow(this.#signal));
    return profiles;
  }

  /**
   * Starts a new process of the manager with the command line of the image and the flags of the Deployment. It has no
   * compiled code in a cache, like a new container.
   */
  async startManager(
    flags: readonly string[] = [],
    { waitUntilReady = true }: { readonly waitUntilReady?: boolean } = {},
  ): Promise<RunningManager> {
    const { managerFile, nodeOptions } = this.#options;
    this.#managers += 1;
    return startManager(this.#controlPlane, {
      awsUrl: this.#awsUrl,
      // Each manager has a log file of its own.
      name: `${MANAGER}-${this.#managers}`,
      flags: [...(await shippedFlags()), ...flags, ...this.#options.flags],
      verbosity: 0,
      waitUntilReady,
      ...(managerFile !== undefined && { file: managerFile }),
      env: { NODE_OPTIONS: nodeOptions, NODE_COMPILE_CACHE: undefined },
    });
  }

  /** Measures the work of the manager while the benchmark does something. */
  async measure(manager: RunningManager, work: () => Promise<void>): Promise<Phase> {
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

  /** Counts the writes with which the manager keeps its Lease. They do not depend on the number of objects. */
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
 * Runs a measurement with servers of its own, and stops them.
 * @throws with the ends of all logs if the measurement throws
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
    const url = await startEmulator(controlPlane, eks);
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

const configOf = ({ throttledTo }: EmulatedEks): ConfigPatch => ({
  // The largest fleet has more roles than IAM's default quota.
  iam: { maxRoles: 100_000 },
  ...(throttledTo !== undefined && { throttle: { perSecond: throttledTo, burst: throttledTo } }),
});

async function startEmulator(controlPlane: ControlPlane, { lifecycleMs }: EmulatedEks): Promise<string> {
  const time = String(lifecycleMs);
  const emulator = await controlPlane.run({
    name: 'emulator',
    file: process.execPath,
    args: [EMULATOR, '--create-ms', time, '--delete-ms', time, '--latency-ms', String(CALL_MS)],
  });
  // The AWS emulator prints nothing but its URL.
  await waitUntilUp([emulator], 'the emulated AWS listening', () => emulator.log().endsWith('\n'));
  return emulator.log().trim();
}

/** The flags of the Deployment of a release, without those that the benchmark sets itself. */
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
