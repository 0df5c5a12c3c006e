import { fieldAt } from '../../../api/record.ts';
import type { StoreReader } from '../../../pkg/kube/cache/store.ts';
import type { KubeObject, ObjectKey } from '../../../pkg/kube/types.ts';
import { clusterIndexOf } from '../../shared/caches.ts';
import { hasPausedAnnotation } from '../../shared/object-state.ts';
import { orderInCluster } from './placement.ts';

/**
 * Whether the object is the first of its cluster that has to change something in EKS. EKS changes one profile of a
 * cluster at a time, so a pass over a later object would only find out that this object must wait.
 */
export function isClusterHead(profiles: StoreReader, key: ObjectKey): boolean {
  const lookup = profiles.lookup(key);
  if (lookup.kind !== 'found' || isAtRest(lookup.object)) return false;
  const { object } = lookup;
  const order = orderInCluster(object);
  const place = clusterIndexOf(object);
  if (place === undefined) return true;
  const listing = profiles.byIndex(place.index, place.value);
  return (
    listing.kind === 'listed' && !listing.objects.some((other) => isInLine(other) && orderInCluster(other) < order)
  );
}

/** Whether the object is Ready at its current generation, not being deleted and not paused. */
export function isAtRest({ metadata, status }: KubeObject): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    fieldAt(status, 'observedGeneration') === metadata.generation &&
    isTrue(status, 'Ready') &&
    !isTrue(status, 'Paused')
  );
}

/**
 * Whether the object is going to change its profile as soon as its turn in the queue of its EKS cluster comes. A paused
 * or stalled object needs a user first, so no other object waits for such an object.
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
