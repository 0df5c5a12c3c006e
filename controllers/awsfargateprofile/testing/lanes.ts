import { Store, TypedStore } from 'controller-runtime/cache';
import { keyOf, type ObjectKey } from 'controller-runtime/client';
import type { Clock } from 'controller-runtime/env';
import { MemoryLogger } from 'controller-runtime/testing';
import { type AWSFargateProfile, decodeAWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { PROFILE_INDEXES } from '../../shared/caches.ts';
import { Lanes } from '../lane.ts';

/** Lanes on a cache of their own, which a test fills. */
export interface TestLanes {
  readonly lanes: Lanes;
  readonly store: Store;
  /** The objects that the lanes have enqueued, each with its place. */
  readonly woken: string[];
  /** The names of the objects whose last pass stopped for something other than their turn. */
  readonly stopped: Set<string>;
  /** Stores the object as a new version, as a watch event would. */
  readonly put: (object: AWSFargateProfile) => AWSFargateProfile;
  readonly remove: (object: AWSFargateProfile) => void;
}

export function newLanes(clock: Clock, wake?: (key: ObjectKey) => void): TestLanes {
  const store = new Store({ name: 'profiles', logger: new MemoryLogger(), indexes: PROFILE_INDEXES });
  store.replaceAll([], '100');
  const woken: string[] = [];
  const stopped = new Set<string>();
  const lanes = new Lanes({
    clock,
    profiles: new TypedStore(store, decodeAWSFargateProfile),
    isStoppedOtherwise: ({ metadata }) => stopped.has(metadata.name),
    wake: (key, place) => {
      woken.push(`${key.name} ${place}`);
      wake?.(key);
    },
    overtaken: ({ name }) => woken.push(`${name} overtaken`),
  });
  let version = 100;
  return {
    lanes,
    store,
    woken,
    stopped,
    put(object) {
      const next = { ...object, metadata: { ...object.metadata, resourceVersion: `${++version}` } };
      store.upsert(next);
      lanes.refresh(next);
      return next;
    },
    remove(object) {
      const lookup = store.lookup(keyOf(object));
      if (lookup.kind === 'found') store.remove(lookup.object);
      lanes.refresh(object);
    },
  };
}
