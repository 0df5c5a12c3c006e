import type { Store } from 'controller-runtime/cache';
import { keyOf, type ObjectKey } from 'controller-runtime/client';
import type { Clock } from 'controller-runtime/env';
import { MemoryLogger } from 'controller-runtime/testing';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { newStores } from '../../shared/caches.ts';
import { ClusterQueues } from '../cluster-queue.ts';

/** Cluster queues with a separate cache, which a test fills. */
export interface TestClusterQueues {
  readonly clusterQueues: ClusterQueues;
  readonly store: Store;
  /** The objects that the queues have enqueued, each with its place. */
  readonly woken: string[];
  /** The names of objects whose last reconcile stopped for something other than their turn. */
  readonly stopped: Set<string>;
  /**
   * Ends a reconcile of the object. `isStopped` (by default `true`) is whether something other than its turn stopped
   * the object.
   */
  readonly stop: (object: AWSFargateProfile, isStopped?: boolean) => void;
  /** How many times the queues have asked whether something other than its turn stops an object. */
  readonly questions: () => number;
  /** Stores the object as a new version, as a watch event would. */
  readonly put: (object: AWSFargateProfile) => AWSFargateProfile;
  readonly remove: (object: AWSFargateProfile) => void;
}

export function newClusterQueues(clock: Clock, wake?: (key: ObjectKey) => void): TestClusterQueues {
  const caches = newStores(new MemoryLogger());
  const { profiles: store } = caches;
  store.replaceAll([], '100');
  const woken: string[] = [];
  const stopped = new Set<string>();
  let questions = 0;
  const clusterQueues = new ClusterQueues({
    clock,
    caches,
    retryStore: {
      isStoppedOtherwise: ({ metadata }) => {
        questions++;
        return stopped.has(metadata.name);
      },
    },
    wake: (key, place) => {
      woken.push(`${key.name} ${place}`);
      wake?.(key);
    },
  });
  // The queues are not notified of changes that a test makes directly in the store.
  let isWatched = false;
  store.onChange((change) => isWatched && clusterQueues.refresh(change));
  const watched = (change: () => void): void => {
    isWatched = true;
    change();
    isWatched = false;
  };
  let version = 100;
  return {
    clusterQueues,
    store,
    woken,
    stopped,
    questions: () => questions,
    stop(object, isStopped = true) {
      const wasStopped = stopped.has(object.metadata.name);
      if (isStopped) stopped.add(object.metadata.name);
      else stopped.delete(object.metadata.name);
      if (isStopped !== wasStopped) clusterQueues.reorder(object);
    },
    put(object) {
      const next = { ...object, metadata: { ...object.metadata, resourceVersion: `${++version}` } };
      watched(() => store.upsert(next));
      return next;
    },
    remove(object) {
      const lookup = store.lookup(keyOf(object));
      if (lookup.kind === 'found') watched(() => store.remove(lookup.object));
    },
  };
}
