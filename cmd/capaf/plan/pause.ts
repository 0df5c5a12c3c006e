import type { Store } from 'controller-runtime/cache';
import { keyOf, keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import { fieldAt, isRecord, textAt } from 'controller-runtime/json';
import { PAUSED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { Caches } from '../../../controllers/shared/caches.ts';
import { PROFILES } from '../../../controllers/shared/live-profiles.ts';
import { hasPausedAnnotation } from '../../../controllers/shared/object-state.ts';
import type { PlannedCluster } from './planned-cluster.ts';

/**
 * Removes all pauses from the plan's copies of the objects and their Clusters, because the reconciler does nothing for
 * a paused object. Returns what pauses each object now.
 */
export function endPauses(keys: readonly ObjectKey[], caches: Caches, planned: PlannedCluster) {
  const pausedBy = new Map<string, readonly string[]>();
  const pausedClusters = new Map<string, KubeObject>();
  for (const key of keys)
    for (const object of find(caches.profiles, key)) {
      const name = textAt(object['spec'], 'clusterName');
      const ofCluster = name === undefined ? [] : find(caches.clusters, { namespace: key.namespace, name });
      const clusters = ofCluster.filter(({ spec }) => fieldAt(spec, 'paused') === true);
      for (const cluster of clusters) pausedClusters.set(keyText(keyOf(cluster)), cluster);
      const own = hasPausedAnnotation(object) ? [`its annotation ${PAUSED_ANNOTATION}`] : [];
      pausedBy.set(keyText(key), [...own, ...clusters.map((each) => `spec.paused of Cluster ${keyText(keyOf(each))}`)]);
      if (own.length === 0) continue;
      const { [PAUSED_ANNOTATION]: _paused, ...annotations } = object.metadata.annotations ?? {};
      const metadata = { ...object.metadata, annotations };
      caches.profiles.upsert(planned.put(PROFILES, { ...object, metadata }));
    }
  const resource = caches.clusterResource();
  for (const { spec, ...cluster } of pausedClusters.values())
    if (resource !== undefined && isRecord(spec))
      caches.clusters.upsert(planned.put(resource, { ...cluster, spec: { ...spec, paused: false } }));
  return pausedBy;
}

function find(store: Store, key: ObjectKey): readonly KubeObject[] {
  const lookup = store.lookup(key);
  return lookup.kind === 'found' ? [lookup.object] : [];
}
