import { fieldAt } from '../../api/record.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { Random } from '../../pkg/env/random.ts';
import { jsonEqual } from '../../pkg/kube/patches.ts';
import { keyOf, keyText, parseKeyText } from '../../pkg/kube/paths.ts';
import type { Change, Store } from '../../pkg/kube/store.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import type { Workqueue } from '../../pkg/runtime/workqueue.ts';
import type { Caches } from '../caches.ts';
import { hasPausedAnnotation } from '../standing.ts';
import { BY_CLUSTER, BY_CONTROL_PLANE, clusterOf, controlPlaneOf } from '../caches.ts';
import type { Affects, Identities } from '../identities/identities.ts';
import type { ProfileObjects } from './objects.ts';
import type { SiblingNews } from './reasons.ts';

export interface WatchesOptions {
  readonly caches: Caches;
  readonly identities: Pick<Identities, 'onChange'>;
  readonly queue: Workqueue;
  readonly objects: ProfileObjects;
  readonly random: Random;
  readonly resync: Ms;
  /** Asked for each sibling of an object that has gone or changed; true if it waits for that, and is to look again. */
  readonly awaitsSibling: (key: ObjectKey, news: SiblingNews) => boolean;
}

/** Turns what the watches bring into work: only changes of what a pass reads put an object into the queue. */
export function connectWatches(options: WatchesOptions): void {
  const { caches, identities, queue } = options;
  identities.onChange((affects) => {
    const objects = caches.profiles.list();
    for (const object of objects.kind === 'listed' ? objects.objects : [])
      if (isAffected(caches, object, affects)) queue.add(keyOf(object));
  });
  caches.profiles.onChange((change) => onProfile(options, change));
  for (const store of [caches.clusters, caches.controlPlanes]) store.onSync((known) => known && onKnown(options));
  caches.clusters.onChange((change) => {
    if (!isNews(change, clusterView)) return;
    const isUnknown = isPausedCluster(change.object);
    for (const key of profilesOf(caches.profiles, keyText(keyOf(change.object))))
      enqueue(options, key, change, isUnknown);
  });
  caches.controlPlanes.onChange((change) => {
    if (!isNews(change, controlPlaneView)) return;
    const clusters = caches.clusters.byIndex(BY_CONTROL_PLANE, keyText(keyOf(change.object)));
    for (const cluster of clusters.kind === 'listed' ? clusters.objects : [])
      for (const key of profilesOf(caches.profiles, keyText(keyOf(cluster)))) enqueue(options, key, change);
  });
}

/** By the identity that the control plane names now, or by the one it was provisioned with where that is all there is. */
function isAffected({ clusters, controlPlanes }: Caches, object: KubeObject, affects: Affects): boolean {
  const found = (store: Store, keys: readonly string[]): readonly KubeObject[] =>
    keys.flatMap((key) => {
      const lookup = store.lookup(parseKeyText(key));
      return lookup.kind === 'found' ? [lookup.object] : [];
    });
  const named = found(controlPlanes, found(clusters, clusterOf(object)).flatMap(controlPlaneOf));
  const references = [...named.map(({ spec }) => fieldAt(spec, 'identityRef')), fieldAt(object.status, 'identityRef')];
  return references.some((reference) => {
    const [kind, name] = [fieldAt(reference, 'kind'), fieldAt(reference, 'name')];
    return (
      typeof kind === 'string' && typeof name === 'string' && affects({ kind, name }, object.metadata.namespace ?? '')
    );
  });
}

/** A kind that was not served, or not listed, can be read: whoever waited for that looks again. */
function onKnown({ caches, queue }: WatchesOptions): void {
  const listing = caches.profiles.list();
  for (const object of listing.kind === 'listed' ? listing.objects : [])
    if (!isAtRest(object)) queue.add(keyOf(object), 'low');
}

function onProfile(options: WatchesOptions, change: Change): void {
  const { queue, objects, random, resync } = options;
  const key = keyOf(change.object);
  if (change.type === 'deleted') tellSiblings(options, change.object, 'gone');
  else if (change.type === 'updated' && isNews(change, wishView)) tellSiblings(options, change.object, 'changed');
  if (change.type === 'added' && change.isInInitialList) {
    // After a restart a fleet at rest stays at rest: each object is compared with AWS when its own time has come. One that was
    // paused meanwhile is to say so.
    if (isAtRest(change.object) && !isPaused(options.caches, change.object))
      queue.addAfter(key, random.next() * resync, 'low');
    else queue.add(key, 'low');
    return;
  }
  if (isNews(change, profileView) && !objects.isOwnWrite(change.object)) queue.add(key);
}

function tellSiblings({ queue, caches, awaitsSibling }: WatchesOptions, object: KubeObject, news: SiblingNews): void {
  for (const cluster of clusterOf(object))
    for (const sibling of profilesOf(caches.profiles, cluster)) if (awaitsSibling(sibling, news)) queue.add(sibling);
}

/** The first list tells nothing about an object that its own first entry does not tell, but for what that could not know. */
function enqueue({ queue }: WatchesOptions, key: ObjectKey, change: Change, isUnknown = false): void {
  if (change.type !== 'added' || !change.isInInitialList) queue.add(key);
  else if (isUnknown) queue.add(key, 'low');
}

const isPausedCluster = ({ spec }: KubeObject): boolean => fieldAt(spec, 'paused') === true;

/** By itself, or by its Cluster as far as that is known. */
function isPaused({ clusters }: Caches, object: KubeObject): boolean {
  const isSo = (cluster: string): boolean => {
    const lookup = clusters.lookup(parseKeyText(cluster));
    return lookup.kind === 'found' && isPausedCluster(lookup.object);
  };
  return hasPausedAnnotation(object) || clusterOf(object).some(isSo);
}

function profilesOf(profiles: Store, cluster: string): readonly ObjectKey[] {
  const listing = profiles.byIndex(BY_CLUSTER, cluster);
  return listing.kind === 'listed' ? listing.objects.map(keyOf) : [];
}

const isNews = (change: Change, view: (object: KubeObject) => unknown): boolean =>
  change.type !== 'updated' || !jsonEqual(view(change.previous), view(change.object));

/** What others of the cluster go by. */
const wishView = ({ metadata }: KubeObject): unknown => ({
  generation: metadata.generation,
  deletionTimestamp: metadata.deletionTimestamp,
});

/** Status is the controller's own word: a change of it alone is no news. */
const profileView = ({ metadata }: KubeObject): unknown => ({
  generation: metadata.generation,
  deletionTimestamp: metadata.deletionTimestamp,
  labels: metadata.labels,
  annotations: metadata.annotations,
  finalizers: metadata.finalizers,
  ownerReferences: metadata.ownerReferences,
});

const clusterView = ({ apiVersion, metadata, spec }: KubeObject): unknown => ({
  apiVersion,
  uid: metadata.uid,
  deletionTimestamp: metadata.deletionTimestamp,
  paused: fieldAt(spec, 'paused'),
  controlPlaneRef: fieldAt(spec, 'controlPlaneRef'),
});

const controlPlaneView = ({ metadata, spec, status }: KubeObject): unknown => ({
  uid: metadata.uid,
  deletionTimestamp: metadata.deletionTimestamp,
  eksClusterName: fieldAt(spec, 'eksClusterName'),
  region: fieldAt(spec, 'region'),
  identityRef: fieldAt(spec, 'identityRef'),
  additionalTags: fieldAt(spec, 'additionalTags'),
  subnets: fieldAt(fieldAt(spec, 'network'), 'subnets'),
  ready: fieldAt(status, 'ready'),
});

/** Ready at its own generation, and nothing asked of it. */
function isAtRest({ metadata, status }: KubeObject): boolean {
  const conditions = fieldAt(status, 'conditions');
  const isTrue = (type: string): boolean =>
    Array.isArray(conditions) &&
    conditions.some((condition) => fieldAt(condition, 'type') === type && fieldAt(condition, 'status') === 'True');
  return (
    metadata.deletionTimestamp === undefined &&
    fieldAt(status, 'observedGeneration') === metadata.generation &&
    isTrue('Ready') &&
    !isTrue('Paused')
  );
}
