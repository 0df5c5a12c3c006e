import { fileURLToPath } from 'node:url';
import type { Emulator } from '../aws/emulator.ts';
import type { ConfigPatch } from '../aws/model/config.ts';
import type { ClusterView, ProfileView, RoleView } from '../aws/admin/views.ts';
import type { RawObject } from '../envtest/clients/api.ts';
import { type ControlPlane, startControlPlane } from '../envtest/control-plane/controlplane.ts';
import { type CrdManifest, STAND_IN_CRDS, applyCrds } from '../envtest/clients/crds.ts';
import { type SetUp, EMPTY_SET_UP, MANAGER_USER, acquireControlPlane } from '../envtest/control-plane/pool.ts';
import type { Exit } from '../envtest/control-plane/process.ts';
import type { ProgramResult } from '../support/run-program.ts';
import { type EmulatedAws, startEmulatedAws } from './aws/emulated-aws.ts';
import type { RunningManager } from './manager/manager.ts';
import type { ManagerOptions } from './manager/managers.ts';
import { applyRbac } from './manager/rbac.ts';
import { RunningWorld } from './running-world.ts';

export { ACCOUNT, AWS_KEY, REGION } from './aws/emulated-aws.ts';
export { clusterObject, clusterPath, controlPlanePath, fargateProfile, pathOf } from './manifests.ts';

export const OUR_CRD = fileURLToPath(
  new URL('../../config/crd/bases/infrastructure.cluster.x-k8s.io_awsfargateprofiles.yaml', import.meta.url),
);

export interface EksClusterOptions {
  readonly namespace?: string;
  readonly region?: string;
  readonly account?: string;
  readonly additionalTags?: Readonly<Record<string, string>>;
  readonly identityRef?: { readonly kind: string; readonly name: string };
  /** The API version of the Cluster object; default: `v1beta2`. */
  readonly version?: 'v1beta1' | 'v1beta2';
}

/**
 * The set-up of an API server for most tests: the RBAC permissions of the manager, the CRD of AWSFargateProfile, and
 * simplified CRDs of the kinds of Cluster API and Cluster API Provider AWS that the manager reads.
 */
export const WITH_CRDS: SetUp = {
  name: 'CRDs',
  apply: async (api) => {
    await Promise.all([applyCrds(api, STAND_IN_CRDS, OUR_CRD), applyRbac(api)]);
  },
};

/** The set-up of an API server with the RBAC permissions of the manager, but without any CRD. */
const WITH_RBAC: SetUp = { name: 'RBAC', apply: applyRbac };

export interface WaitOptions {
  readonly namespace?: string;
  /**
   * The lowest `observedGeneration` with which the condition is accepted; default: 0. A test sets it to skip conditions
   * that the manager wrote before a change of the spec.
   */
  readonly generation?: number;
}

export interface StartWorldOptions {
  readonly config?: ConfigPatch;
  /**
   * The CRDs that the API server serves; default: the CRD of AWSFargateProfile and simplified CRDs of other kinds
   * (`WITH_CRDS`).
   */
  readonly crds?: readonly (string | CrdManifest)[];
  /**
   * Whether the manager's service account exists and has its RBAC permissions; default: true. If false, `crds` is
   * required.
   */
  readonly hasRbac?: boolean;
  /**
   * Additional flags of kube-apiserver. With this option, the test gets an API server of its own, because the shared
   * API servers run without these flags.
   */
  readonly apiServerArgs?: readonly string[];
  /**
   * Another test environment that shares its AWS emulator with this one, so that two management clusters manage the
   * same AWS. The test must stop the other environment last.
   */
  readonly shareAwsWith?: World;
}

/**
 * The environment of an integration test: a real API server, the AWS emulator, and the managers that the test starts.
 */
export interface World {
  readonly controlPlane: ControlPlane;
  readonly aws: Emulator;
  readonly awsUrl: string;
  /** Finds a Fargate profile or a role in the AWS emulator by its name, in all EKS clusters and accounts. */
  readonly awsView: { profile(name: string): ProfileView | undefined; role(name: string): RoleView | undefined };
  /** The manager process that the test has started most recently. */
  readonly manager: RunningManager;
  startManager(options?: Partial<ManagerOptions>): Promise<RunningManager>;
  /**
   * Stops a manager with SIGTERM; default: the manager that the test has started most recently. Fails if the manager
   * had a panic or does not exit with code 0.
   */
  stopManager(manager?: RunningManager): Promise<void>;
  /** Waits until a manager exits without a signal from the test. */
  waitForManagerExit(manager: RunningManager): Promise<Exit>;
  /**
   * Creates a Cluster and its AWSManagedControlPlane in Kubernetes, and the EKS cluster in AWS, with two private
   * subnets and a public one.
   */
  createEksCluster(name: string, options?: EksClusterOptions): Promise<ClusterView>;
  createNamespace(name: string): Promise<void>;
  /** Applies objects one after the other, like `kubectl apply --server-side --force-conflicts`. */
  apply(...objects: readonly object[]): Promise<void>;
  kubectl(args: readonly string[], stdin?: string): Promise<ProgramResult>;
  profile(name: string, namespace?: string): Promise<RawObject | undefined>;
  profiles(): Promise<readonly RawObject[]>;
  /** Changes an AWSFargateProfile with a JSON merge patch. */
  patch(name: string, patch: object, namespace?: string): Promise<void>;
  /** Deletes an AWSFargateProfile without waiting until it is gone, like `kubectl delete --wait=false`. */
  delete(name: string, namespace?: string): Promise<void>;
  /**
   * Waits until an AWSFargateProfile has a condition with this type, status and reason, and returns the version of the
   * object that has it. A version of the object also counts if a newer version has replaced it during the wait.
   */
  condition(
    name: string,
    type: string,
    wanted: { readonly status: string; readonly reason?: string },
    options?: WaitOptions,
  ): Promise<RawObject>;
  /** Waits until an AWSFargateProfile has the condition Ready with status True. */
  ready(name: string, options?: WaitOptions): Promise<RawObject>;
  /** Waits until the API server has no AWSFargateProfile with this name. */
  gone(name: string, options?: WaitOptions): Promise<void>;
  /** The Events about all objects with this name, sorted by their last change, each as `Type Reason: message`. */
  events(name: string, namespace?: string): Promise<readonly string[]>;
  /**
   * Waits until an Event about an object with this name contains `text`, and returns all Events about objects with this
   * name.
   */
  event(name: string, text: string, options?: WaitOptions): Promise<readonly string[]>;
  /**
   * Deletes all AWSFargateProfiles and waits until they are gone. Fails if AWS still has a Fargate profile or role that
   * the manager should have deleted, or if a manager had a panic or exited unexpectedly. Then calls `stop`, even after
   * a failure.
   */
  finish(): Promise<void>;
  /**
   * Stops the managers, the API server and the AWS emulator. Unlike `finish`, does not check whether AWS still has
   * resources or whether a manager had a panic.
   */
  stop(): Promise<void>;
  /** Adds a function that `stop` calls before it stops the API server and the AWS emulator. */
  addCleanup(end: () => Promise<void>): void;
}

/** Starts an API server and the AWS emulator. The test starts the manager itself, with `startManager`. */
export async function startWorld({
  config = {},
  crds,
  hasRbac = true,
  apiServerArgs = [],
  shareAwsWith,
}: StartWorldOptions = {}): Promise<World> {
  const setUp = crds === undefined ? WITH_CRDS : hasRbac ? WITH_RBAC : EMPTY_SET_UP;
  const isShared = apiServerArgs.length === 0;
  const controlPlane = await (isShared
    ? acquireControlPlane(setUp)
    : startControlPlane({ users: [MANAGER_USER], apiServerArgs }));
  const aws: EmulatedAws =
    shareAwsWith === undefined
      ? await startEmulatedAws(config)
      : {
          emulator: shareAwsWith.aws,
          url: shareAwsWith.awsUrl,
          // The test environment `shareAwsWith` has started the AWS emulator and stops after this environment. So
          // `shareAwsWith` checks and closes the emulator, and this environment does not.
          finish: () => Promise.resolve(),
          close: () => Promise.resolve(),
        };
  const world = new RunningWorld(controlPlane, aws);
  try {
    if (!isShared) await setUp.apply(controlPlane.api);
    if (crds !== undefined) await applyCrds(controlPlane.api, ...crds);
    return world;
  } catch (error) {
    await world.stop();
    throw error;
  }
}
