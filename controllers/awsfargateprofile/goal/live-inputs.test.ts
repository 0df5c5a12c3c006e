import { expect } from 'chai';
import { json } from 'controller-runtime/testing';
import { EksClusterName } from '../../../api/names.ts';
import { CONTROL_PLANE_GROUP, CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { type ReconcileInputs, newLiveInputs } from './inputs.ts';
import { CLUSTER, CONTROL_PLANE, newApi } from '../testing/api.ts';
import { ABSENT, anObject, inputs } from '../testing/builders.ts';

const CLUSTERS = { group: CLUSTER.group, version: 'v1beta2', plural: CLUSTER.plural };
const CONTROL_PLANES = { group: CONTROL_PLANE.group, version: 'v1beta2', plural: CONTROL_PLANE.plural };
const REFERENCE = { apiGroup: CONTROL_PLANE_GROUP, kind: CONTROL_PLANE_KIND, name: 'prod-control-plane' };
const joined = anObject({ spec: { eksCluster: { name: EksClusterName.of('prod') } } });
const { clusterName: _none, ...spec } = joined.spec;
/**
 * The caches show a Cluster that is not paused, and a control plane in eu-west-1. The API server shows different
 * objects.
 */
const ofCluster = inputs();
const ofJoined = inputs({ object: { ...joined, spec } });
const UNSEEN = { ...ofCluster, controlPlane: ABSENT };
const UNKNOWN = { kind: 'unknown', reason: 'not listed yet' } as const;
const alone = { ...ofJoined, cluster: { kind: 'none' } } as const;

describe('newLiveInputs', () => {
  type Row = readonly [string, ReconcileInputs, serves: 'both' | 'clusters' | 'nothing', exists: string, seen: string];
  const rows: readonly Row[] = [
    ['an object of a Cluster', ofCluster, 'both', 'cluster, control plane', 'paused Cluster, us-east-1'],
    ['the same, with an old cache', UNSEEN, 'both', 'cluster, control plane', 'paused Cluster, us-east-1'],
    ['an object whose Cluster is gone', ofCluster, 'both', 'control plane', 'absent, absent'],
    ['an object whose control plane is gone', ofCluster, 'both', 'cluster', 'paused Cluster, absent'],
    ['an object of an EKS cluster', ofJoined, 'both', 'cluster, control plane', 'paused Cluster, us-east-1'],
    ['the same, whose Cluster is gone', ofJoined, 'both', 'control plane', 'none, us-east-1'],
    ['the same, without a Cluster', alone, 'both', 'cluster, control plane', 'none, us-east-1'],
    ['the same, without control plane', { ...alone, controlPlane: ABSENT }, 'both', 'control plane', 'none, absent'],
    ['a Cluster that is not known', { ...alone, cluster: UNKNOWN }, 'both', 'control plane', 'unknown, unknown'],
    ['control planes that are not served', ofCluster, 'clusters', 'cluster', 'paused Cluster, eu-west-1'],
    ['Clusters that are not served', ofCluster, 'nothing', '', 'Cluster, eu-west-1'],
  ];
  for (const [situation, cached, serves, exists, seen] of rows)
    it(`reads for ${situation}: ${seen}`, async () => {
      const api = newApi();
      if (exists.includes('cluster')) api.putCluster({ paused: true, controlPlaneRef: REFERENCE });
      if (exists.includes('control plane')) api.putControlPlane({ region: 'us-east-1' });
      const live = newLiveInputs(api.client, {
        clusters: () => (serves === 'nothing' ? undefined : CLUSTERS),
        controlPlanes: () => (serves === 'both' ? CONTROL_PLANES : undefined),
      });
      const { cluster, controlPlane } = await live(cached, new AbortController().signal);
      const shown = [
        cluster.kind === 'found' ? `${cluster.object.paused ? 'paused ' : ''}Cluster` : cluster.kind,
        controlPlane.kind === 'found' ? controlPlane.object.region : controlPlane.kind,
      ];
      expect(shown.join(', ')).to.equal(seen);
    });

  for (const [namespace, deletionPolicy, isTerminating] of [
    [{ metadata: { name: 'team-a', resourceVersion: '1', deletionTimestamp: '2026-11-21T03:00:00Z' } }, 'Retain', true],
    [
      { metadata: { name: 'team-a', resourceVersion: '1', deletionTimestamp: '2026-11-21T03:00:00Z' } },
      'Delete',
      false,
    ],
    [{ metadata: { name: 'team-a', resourceVersion: '1' } }, 'Retain', false],
    [undefined, 'Retain', false],
  ] as const)
    it(`tells whether the namespace ${JSON.stringify(namespace)} ends, for deletionPolicy ${deletionPolicy}`, async () => {
      const api = newApi();
      api.server.intercept = ({ path }) => {
        if (!path.includes('/namespaces/team-a') || path.includes('/namespaces/team-a/')) return undefined;
        return namespace === undefined
          ? json(404, { kind: 'Status', code: 404, reason: 'NotFound' })
          : json(200, namespace);
      };
      const live = newLiveInputs(api.client, { clusters: () => CLUSTERS, controlPlanes: () => CONTROL_PLANES });
      const object = anObject({ spec: { deletionPolicy } });
      const seen = await live(inputs({ object }), new AbortController().signal);
      expect(seen.isNamespaceTerminating).to.equal(isTerminating);
    });
});
