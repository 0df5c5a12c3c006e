import type { Change, Store } from 'controller-runtime/cache';
import { keyOf, keyText, type KubeObject, type ObjectKey, parseKeyText } from 'controller-runtime/client';
import type { Clock, Ms, Random } from 'controller-runtime/env';
import { fieldAt, jsonEqual } from 'controller-runtime/json';
import type { Workqueue } from 'controller-runtime/queue';
import { MANAGER_IDENTITY } from '../identities/identity-chain.ts';
import type { IdentityUsePredicate, Identities } from '../identities/identities.ts';
import {
  type Caches,
  BY_CLUSTER,
  BY_CONTROL_PLANE,
  BY_NAMESPACE,
  clusterOf,
  controlPlaneOf,
  BY_EKS_CLUSTER,
  eksClusterOfControlPlane,
  PROFILE_INDEXES,
  siblingIndexesOf,
} from '../shared/caches.ts';
import { hasPausedAnnotation, isMoving } from '../shared/object-state.ts';
import type { ProfileWriter } from '../shared/profile-writer.ts';
import { isAtRest } from './model/at-rest.ts';
import type { ClusterQueues } from './cluster-queue.ts';
import type { SiblingChange } from './reasons/reasons.ts';
import type { RetryStore } from './retry-state.ts';

export interface WatchesOptions {
  readonly caches: Pick<Caches, 'profiles' | 'clusters' | 'controlPlanes' | 'typed'>;
  readonly identities: Pick<Identities, 'onChange'>;
  readonly queue: Workqueue;
  readonly clusterQueues: Pick<ClusterQueues, 'refresh'>;
  readonly profileWriter: Pick<ProfileWriter, 'isOwnWrite'>;
  readonly retryStore: Pick<RetryStore, 'endSiblingWaits'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly resync: Ms;
}

/** Enqueues objects after each change of a field that a reconcile reads. */
export function connectWatches(options: WatchesOptions): void {
  const { caches, identities } = options;
  identities.onChange((affects, namespace) => {
    const { profiles } = caches;
    const objects = listed(namespace === undefined ? profiles.list() : profiles.byIndex(BY_NAMESPACE, namespace));
    inTurns(options.clock, objects, (object) => {
      if (isAffected(options.caches, object, affects)) enqueue(options, keyOf(object));
    });
  });
  caches.profiles.onChange((change) => enqueueProfile(options, change));
  for (const store of [caches.profiles, caches.clusters, caches.controlPlanes]) {
    store.onSync((synced) => synced && enqueueNotAtRest(options));
  }
  caches.clusters.onChange((change) => {
    if (!isRelevant(change, clusterFields)) return;
    const isNewlyPaused = isPausedCluster(change.object);
    const cluster = keyText(keyOf(change.object));
    const keys = [...profilesOf(caches.profiles, cluster), ...joinedProfilesOf(caches, change.object)];
    inTurns(options.clock, keys, (key) => enqueueDependent(options, key, change, isNewlyPaused));
  });
  caches.controlPlanes.onChange((change) => {
    if (!isRelevant(change, controlPlaneFields)) return;
    const clusters = listed(caches.clusters.byIndex(BY_CONTROL_PLANE, keyText(keyOf(change.object))));
    const named = clusters.flatMap((cluster) => profilesOf(caches.profiles, keyText(keyOf(cluster))));
    const keys = [...named, ...profilesInEksClusterOf(caches, change.object)];
    inTurns(options.clock, keys, (key) => enqueueDependent(options, key, change));
  });
}

/**
 * Handles the first items immediately and the others in later turns of the event loop, because a change of one Cluster
 * or identity may affect thousands of objects.
 */
function inTurns<A>(clock: Clock, items: readonly A[], work: (item: A) => void): void {
  for (const item of items.slice(0, ITEMS_PER_TURN)) work(item);
  if (items.length > ITEMS_PER_TURN) clock.after(0, () => inTurns(clock, items.slice(ITEMS_PER_TURN), work));
}

/** This many items take a few milliseconds. */
const ITEMS_PER_TURN = 200;

/**
 * Whether the object uses an identity that `affects` selects. Without `identityRef`, it uses the manager's credentials,
 * and AWSClusterControllerIdentity `default` decides who may use these.
 */
function isAffected(
  { clusters, controlPlanes }: WatchesOptions['caches'],
  object: KubeObject,
  affects: IdentityUsePredicate,
): boolean {
  const findAll = (store: Store, keys: readonly string[]): readonly KubeObject[] =>
    keys.flatMap((key) => {
      const lookup = store.lookup(parseKeyText(key));
      return lookup.kind === 'found' ? [lookup.object] : [];
    });
  const controlPlane = findAll(controlPlanes, findAll(clusters, clusterOf(object)).flatMap(controlPlaneOf));
  const eksCluster = fieldAt(object.spec, 'eksCluster');
  const references = [
    ...controlPlane.map(({ spec }) => fieldAt(spec, 'identityRef') ?? MANAGER_IDENTITY),
    ...(eksCluster === undefined ? [] : [fieldAt(eksCluster, 'identityRef') ?? MANAGER_IDENTITY]),
    fieldAt(object.status, 'identityRef') ?? MANAGER_IDENTITY,
  ];
  return references.some((reference) => {
    const [kind, name] = [fieldAt(reference, 'kind'), fieldAt(reference, 'name')];
    return (
      typeof kind === 'string' && typeof name === 'string' && affects({ kind, name }, object.metadata.namespace ?? '')
    );
  });
}

/**
 * Called when a list is complete. Enqueues the objects that are not at rest, because they may have waited for the list.
 * Keys that were enqueued before the list of AWSFargateProfiles was complete get their workqueue group only now.
 */
function enqueueNotAtRest({ caches, queue, clock }: WatchesOptions): void {
  inTurns(clock, listed(caches.profiles.list()), (object) => {
    if (!isAtRest(object)) queue.add(keyOf(object), 'low');
  });
}

function enqueueProfile(options: WatchesOptions, change: Change): void {
  const { queue, clusterQueues, profileWriter, random, resync } = options;
  const key = keyOf(change.object);
  clusterQueues.refresh(change);
  if (change.type === 'deleted') {
    enqueueWaitingSiblings(options, change.object, 'gone');
  } else if (change.type === 'updated' && isRelevant(change, siblingFields)) {
    enqueueWaitingSiblings(options, change.object, 'changed');
  }
  if (change.type === 'added' && change.isInInitialList) {
    // Objects at rest are spread over the resync interval, so that the manager does not read everything in AWS right
    // after a start. A paused object gets `Paused` immediately, because it may have been paused while no manager ran.
    if (isAtRest(change.object) && !isPaused(options.caches, change.object)) {
      queue.addAfter(key, random.next() * resync, 'low');
    } else queue.add(key, 'low');
    return;
  }
  // This process never writes spec. If the answer to its own write shows a different spec, the cached spec was
  // incomplete: the watch began under another provider's CRD, and delivers objects without the fields that this CRD
  // lacks.
  const isSpecChanged = change.type === 'updated' && !jsonEqual(change.previous['spec'], change.object['spec']);
  if (isSpecChanged || (isRelevant(change, profileFields) && !profileWriter.isOwnWrite(change.object)))
    enqueue(options, key);
}

const enqueue = ({ queue }: Pick<WatchesOptions, 'queue'>, key: ObjectKey): void => queue.add(key);

function enqueueWaitingSiblings(options: WatchesOptions, object: KubeObject, change: SiblingChange): void {
  const { caches, retryStore } = options;
  const indexes = siblingIndexesOf(object);
  const isSibling = (key: ObjectKey): boolean => {
    const lookup = caches.profiles.lookup(key);
    return (
      lookup.kind === 'found' &&
      indexes.some(({ index, value }) => PROFILE_INDEXES[index](lookup.object).includes(value))
    );
  };
  for (const sibling of retryStore.endSiblingWaits(object.metadata.namespace ?? '', change, isSibling))
    enqueue(options, sibling);
}

/**
 * Enqueues an object after a change of its Cluster or control plane. After a start, each object in the initial list of
 * AWSFargateProfiles is enqueued anyway, so the initial list of Clusters adds only objects of a paused Cluster.
 */
function enqueueDependent(options: WatchesOptions, key: ObjectKey, change: Change, isNewlyPaused = false): void {
  if (change.type !== 'added' || !change.isInInitialList) enqueue(options, key);
  else if (isNewlyPaused) options.queue.add(key, 'low');
}

const isPausedCluster = ({ spec }: KubeObject): boolean => fieldAt(spec, 'paused') === true;

function isPaused({ clusters }: WatchesOptions['caches'], object: KubeObject): boolean {
  const isPausedBy = (cluster: string): boolean => {
    const lookup = clusters.lookup(parseKeyText(cluster));
    return lookup.kind === 'found' && isPausedCluster(lookup.object);
  };
  return hasPausedAnnotation(object) || clusterOf(object).some(isPausedBy);
}

const listed = (listing: ReturnType<Store['list']>): readonly KubeObject[] =>
  listing.kind === 'listed' ? listing.objects : [];

const profilesOf = (profiles: Store, cluster: string): readonly ObjectKey[] =>
  listed(profiles.byIndex(BY_CLUSTER, cluster)).map(keyOf);

const profilesInEksClusterOf = (
  { profiles }: Pick<WatchesOptions['caches'], 'profiles'>,
  controlPlane: KubeObject,
): readonly ObjectKey[] =>
  eksClusterOfControlPlane(controlPlane).flatMap((key) => listed(profiles.byIndex(BY_EKS_CLUSTER, key)).map(keyOf));

const joinedProfilesOf = (caches: WatchesOptions['caches'], cluster: KubeObject): readonly ObjectKey[] =>
  controlPlaneOf(cluster).flatMap((key) => {
    const lookup = caches.controlPlanes.lookup(parseKeyText(key));
    return lookup.kind === 'found' ? profilesInEksClusterOf(caches, lookup.object) : [];
  });

const isRelevant = (change: Change, fields: (object: KubeObject) => unknown): boolean =>
  change.type !== 'updated' || !jsonEqual(fields(change.previous), fields(change.object));

const siblingFields = ({ metadata }: KubeObject): unknown => ({
  generation: metadata.generation,
  deletionTimestamp: metadata.deletionTimestamp,
});

/** A change of these fields enqueues the object. Status is not among them, because only this controller writes it. */
const profileFields = ({ metadata }: KubeObject): unknown => ({
  generation: metadata.generation,
  deletionTimestamp: metadata.deletionTimestamp,
  labels: metadata.labels,
  annotations: metadata.annotations,
  finalizers: metadata.finalizers,
  ownerReferences: metadata.ownerReferences,
});

const clusterFields = ({ apiVersion, metadata, spec }: KubeObject): unknown => ({
  apiVersion,
  uid: metadata.uid,
  deletionTimestamp: metadata.deletionTimestamp,
  isMoving: isMoving({ metadata }),
  paused: fieldAt(spec, 'paused'),
  controlPlaneRef: fieldAt(spec, 'controlPlaneRef'),
});

const controlPlaneFields = ({ metadata, spec, status }: KubeObject): unknown => ({
  uid: metadata.uid,
  deletionTimestamp: metadata.deletionTimestamp,
  isMoving: isMoving({ metadata }),
  eksClusterName: fieldAt(spec, 'eksClusterName'),
  region: fieldAt(spec, 'region'),
  identityRef: fieldAt(spec, 'identityRef'),
  additionalTags: fieldAt(spec, 'additionalTags'),
  subnets: fieldAt(fieldAt(spec, 'network'), 'subnets'),
  ready: fieldAt(status, 'ready'),
});
