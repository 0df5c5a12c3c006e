import { fieldAt } from '../../../api/record.ts';
import type { StoreReader } from '../../../pkg/kube/cache/store.ts';
import type { KubeObject, ObjectKey } from '../../../pkg/kube/types.ts';
import { clusterIndexOf } from '../../shared/caches.ts';
import { hasPausedAnnotation } from '../../shared/object-state.ts';
import { orderInCluster } from './placement.ts';

/**
 * Returns a function that tells whether an object is the first AWSFargateProfile of its cluster for which a change in
 * EKS is due. EKS changes one Fargate profile of a cluster at a time, so a reconcile of a later object would only find
 * that it has to wait.
 *
 * The function looks for the first object of a cluster once, until an object of the cluster changes. So it can be asked
 * about every object of a large cluster.
 */
export function newIsClusterHead(profiles: StoreReader): (key: ObjectKey) => boolean {
  const firstOrders = new WeakMap<readonly KubeObject[], string>();
  const firstOrderIn = (objects: readonly KubeObject[]): string => {
    const known = firstOrders.get(objects);
    if (known !== undefined) return known;
    let first = NO_ORDER;
    for (const object of objects) {
      const order = orderInCluster(object);
      if (order < first && isInLine(object)) first = order;
    }
    firstOrders.set(objects, first);
    return first;
  };
  return (key) => {
    const lookup = profiles.lookup(key);
    if (lookup.kind !== 'found' || isAtRest(lookup.object)) return false;
    const place = clusterIndexOf(lookup.object);
    if (place === undefined) return true;
    const listing = profiles.byIndex(place.index, place.value);
    return listing.kind === 'listed' && orderInCluster(lookup.object) <= firstOrderIn(listing.objects);
  };
}

/** A text that comes after every text of {@link orderInCluster}, which begins with 0 or 1. */
const NO_ORDER = '2';

/** Whether the object has nothing to do: it is Ready at its current generation, not being deleted and not paused. */
export function isAtRest({ metadata, status }: KubeObject): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    fieldAt(status, 'observedGeneration') === metadata.generation &&
    isTrue(status, 'Ready') &&
    !isTrue(status, 'Paused')
  );
}

/**
 * Whether the object will change its Fargate profile as soon as it is first in the queue of profile changes of its EKS
 * cluster. A paused or stalled object does not continue until a user acts, so no other object has to wait for it.
 */
const isInLine = (object: KubeObject): boolean =>
  !isAtRest(object) && !hasPausedAnnotation(object) && !isTrue(object['status'], 'Stalled');

function isTrue(status: unknown, type: string): boolean {
  const conditions = fieldAt(status, 'conditions');
  return (
    Array.isArray(conditions) &&
    conditions.some((condition) => fieldAt(condition, 'type') === type && fieldAt(condition, 'status') === 'True')
  );
}
