import * as E from 'fp-ts/lib/Either.js';
import type { TypedEntry, TypedStoreReader } from 'controller-runtime/cache';
import { keyOf, keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import {
  controlPlaneReference,
  eksClusterKeyOf,
  joinsControlPlane,
  needsAccountToJoin,
} from '../shared/control-plane/joined-control-plane.ts';
import { type AWSFargateProfile, describeProblems } from '../../api/v1beta2/index.ts';
import { BY_CLUSTER, BY_EKS_CLUSTER, BY_OWNER, mayBePaused, referrersOf } from '../shared/caches.ts';
import { hasFinalizer, isDeleting } from '../shared/object-state.ts';
import { type ClusterState, type ControlPlanes, planFinalizers, profilesToDelete, teardownCause } from './decide.ts';
import { type ProfileDeleterOptions, ProfileDeleter } from './delete-in-batches.ts';
import { DONE, LEASE_EXPIRED, backOff } from '../shared/requeue.ts';
import { ACCOUNT_UNKNOWN, PROFILE_LEFT } from './requeue.ts';
import { type FinalizerSyncOptions, FinalizerSync } from './sync-control-plane-finalizer.ts';

interface TeardownOptions extends ProfileDeleterOptions, FinalizerSyncOptions {
  readonly profiles: TypedStoreReader<AWSFargateProfile>;
  readonly controlPlanes: TypedStoreReader<AWSManagedControlPlane>;
}

interface TeardownInputs {
  readonly state: ClusterState;
  readonly controlPlanes: ControlPlanes;
  /** Their spec.clusterName names the Cluster, or their spec.eksCluster names the Cluster's EKS cluster. */
  readonly profiles: readonly TypedEntry<AWSFargateProfile>[];
}

/** Deletes AWSFargateProfiles, then adds or removes the control plane's finalizer. */
export class TeardownReconciler {
  private readonly options: TeardownOptions;
  private readonly profileDeleter: ProfileDeleter;
  private readonly finalizerSync: FinalizerSync;

  constructor(options: TeardownOptions) {
    this.options = options;
    this.profileDeleter = new ProfileDeleter(options);
    this.finalizerSync = new FinalizerSync(options);
  }

  readonly reconcile = async (key: ObjectKey, context: ReconcileContext): Promise<Requeue> => {
    const found = this.readInputs(key);
    if (E.isLeft(found)) return found.left;
    const account = await this.learnAccountIfNeeded(found.right, context);
    const inputs = account === 'notNeeded' ? found : this.readInputs(key);
    if (E.isLeft(inputs)) return inputs.left;
    if (this.options.leadership.remaining() <= 0) return LEASE_EXPIRED;
    const { state, controlPlanes, profiles } = inputs.right;
    // The AWSFargateProfile controller reports objects that cannot be decoded.
    const decoded = profiles.flatMap((each) => (E.isRight(each.decoded) ? [each.decoded.right] : []));
    const cause = teardownCause(key, controlPlanes);
    const isPaused = this.isPausedByAnother(controlPlanes.current);
    const toDelete = profilesToDelete(state, decoded).filter(({ spec }) => spec.clusterName !== undefined || !isPaused);
    const deletions = await this.profileDeleter.deleteProfiles(key, toDelete, cause, context);
    if (E.isLeft(deletions)) return deletions.left;
    const finalizers = await this.syncFinalizers(key, inputs.right, context);
    // A wait for another manager's AWSFargateProfile must not delay the next attempt to delete this manager's.
    const isOnlyWaiting = finalizers === PROFILE_LEFT && deletions.right.kind !== 'done';
    const requeue = finalizers.kind === 'done' || isOnlyWaiting ? deletions.right : finalizers;
    return requeue.kind === 'done' && account === 'unknown' ? ACCOUNT_UNKNOWN : requeue;
  };

  /** AWSFargateProfiles with spec.eksCluster are paused by each Cluster that refers to the control plane. */
  private isPausedByAnother(controlPlane: KubeObject | undefined): boolean {
    const listing = controlPlane && referrersOf(controlPlane, this.options.clusters);
    return listing?.kind === 'listed' && listing.entries.some(mayBePaused);
  }

  /**
   * Learns the control plane's AWS account, which matters only if an AWSFargateProfile's EKS cluster and the control
   * plane's have the same name and region, but different identities. The caller must then read the caches again.
   */
  private async learnAccountIfNeeded(
    { state }: TeardownInputs,
    context: ReconcileContext,
  ): Promise<'notNeeded' | 'known' | 'unknown'> {
    const { accounts } = this.options;
    const { controlPlane } = state;
    if (controlPlane === undefined) return 'notNeeded';
    // An AWSFargateProfile without an account in its status has nothing in AWS.
    const isNeeded = this.findJoined(controlPlane, needsAccountToJoin).some(
      ({ decoded }) => E.isRight(decoded) && decoded.right.status?.account !== undefined,
    );
    if (!isNeeded) return 'notNeeded';
    await accounts.learn(controlPlane, context);
    return accounts.accountOf(controlPlane) === undefined ? 'unknown' : 'known';
  }

  private async syncFinalizers(
    key: ObjectKey,
    { state, controlPlanes, profiles }: TeardownInputs,
    context: ReconcileContext,
  ): Promise<Requeue> {
    const undecodable = profiles.find(({ object, decoded }) => hasFinalizer(object) && E.isLeft(decoded))?.object;
    let waiting = DONE;
    for (const task of planFinalizers(state.cluster, controlPlanes, objectsOf(profiles))) {
      const requeue = await this.finalizerSync.syncFinalizer(key, task, undecodable, context);
      if (requeue.kind !== 'done' && (waiting.kind === 'done' || waiting === PROFILE_LEFT)) waiting = requeue;
    }
    return waiting;
  }

  /** Returns a Left if a kind has not been listed yet, or if the Cluster or its control plane cannot be decoded. */
  private readInputs(key: ObjectKey): E.Either<Requeue, TeardownInputs> {
    const profiles = this.options.profiles.byIndex(BY_CLUSTER, keyText(key));
    const lookup = this.options.clusters.lookup(key);
    if (profiles.kind === 'unknown' || lookup.kind === 'unknown') {
      return E.left(backOff('AWSFargateProfiles or Clusters are not listed yet'));
    }
    const cluster = decodedOrTerminal(lookup.kind === 'found' ? lookup : undefined);
    if (E.isLeft(cluster)) return cluster;
    const found = this.findControlPlanes(key, cluster.right);
    if (E.isLeft(found)) return found;
    const { current, former } = found.right;
    const controlPlane = decodedOrTerminal(current);
    if (E.isLeft(controlPlane)) return controlPlane;
    const state = { cluster: cluster.right, controlPlane: controlPlane.right };
    const controlPlanes = { current: current?.object, former: objectsOf(former) };
    const joined = this.findJoined(controlPlane.right, joinsControlPlane);
    return E.right({ state, controlPlanes, profiles: [...profiles.entries, ...joined] });
  }

  /** Finds the AWSFargateProfiles whose spec.eksCluster has the EKS cluster's name, and that `joins` accepts. */
  private findJoined(
    controlPlane: AWSManagedControlPlane | undefined,
    joins: typeof joinsControlPlane,
  ): readonly TypedEntry<AWSFargateProfile>[] {
    const { profiles } = this.options;
    if (controlPlane === undefined) return [];
    const listing = profiles.byIndex(BY_EKS_CLUSTER, eksClusterKeyOf(controlPlane));
    return listing.kind === 'unknown'
      ? []
      : listing.entries.filter(({ decoded }) => E.isRight(decoded) && joins(decoded.right, controlPlane, this.options));
  }

  /**
   * Returns a Left if the cache has not listed the control planes yet. An unknown control plane must not count as
   * absent, because the AWSFargateProfiles would then be deleted before the workers are drained.
   */
  private findControlPlanes(key: ObjectKey, cluster: Cluster | undefined): E.Either<Requeue, ControlPlaneEntries> {
    const { controlPlanes } = this.options;
    const owned = controlPlanes.byIndex(BY_OWNER, keyText(key));
    if (owned.kind === 'unknown') return E.left(backOff(owned.reason));
    if (cluster === undefined) {
      // A control plane that is being deleted may be one to which the Cluster no longer referred.
      const current = owned.entries.find(({ object }) => !isDeleting(object)) ?? owned.entries[0];
      return E.right({ current, former: owned.entries.filter((each) => each !== current) });
    }
    const reference = controlPlaneReference(cluster);
    const named = reference === undefined ? undefined : controlPlanes.lookup(reference);
    if (named?.kind === 'unknown') return E.left(backOff(named.reason));
    const current = named?.kind === 'found' ? named : undefined;
    const uid = current?.object.metadata.uid;
    return E.right({ current, former: owned.entries.filter(({ object }) => object.metadata.uid !== uid) });
  }
}

interface ControlPlaneEntries {
  readonly current: TypedEntry<AWSManagedControlPlane> | undefined;
  readonly former: readonly TypedEntry<AWSManagedControlPlane>[];
}

const objectsOf = (entries: readonly TypedEntry<unknown>[]): readonly KubeObject[] =>
  entries.map(({ object }) => object);

/** Returns a Left if the object cannot be decoded. Only a change to the object helps, and triggers a reconcile. */
function decodedOrTerminal<A>(entry: TypedEntry<A> | undefined): E.Either<Requeue, A | undefined> {
  if (entry === undefined) return E.right(undefined);
  const { object, decoded } = entry;
  if (E.isRight(decoded)) return decoded;
  const message = `${object.kind} ${keyText(keyOf(object))} cannot be read: ${describeProblems(decoded.left)}`;
  return E.left({ kind: 'terminal', error: new Error(message) });
}
