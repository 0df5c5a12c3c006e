import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import { decodeAWSManagedControlPlane, decodeCluster } from '../../api/external/index.ts';
import type { AWSFargateProfile, DecodeProblem } from '../../api/v1beta2/index.ts';
import { describeProblem } from '../../api/v1beta2/index.ts';
import type { Lookup, StoreReader } from '../../pkg/kube/store.ts';
import type { Inputs, Looked } from './inputs.ts';
import { isEks } from './target.ts';

/** All that is read of Kubernetes for one object, from the caches. */
export function readInputs(
  object: AWSFargateProfile,
  { clusters, controlPlanes }: { readonly clusters: StoreReader; readonly controlPlanes: StoreReader },
): Inputs {
  const { namespace } = object.metadata;
  const lookup = clusters.lookup({ namespace, name: object.spec.clusterName });
  const cluster = looked<Cluster>(lookup, decodeCluster);
  return {
    object,
    cluster,
    clusterApiVersion: lookup.kind === 'found' ? lookup.object.apiVersion : '',
    controlPlane: controlPlaneOf(cluster, controlPlanes),
    sharers: [],
  };
}

function controlPlaneOf(cluster: Looked<Cluster>, controlPlanes: StoreReader): Looked<AWSManagedControlPlane> {
  if (cluster.kind !== 'found') return cluster;
  const { controlPlaneRef } = cluster.object;
  if (controlPlaneRef === undefined || !isEks(controlPlaneRef)) return { kind: 'absent' };
  return looked<AWSManagedControlPlane>(controlPlanes.lookup(controlPlaneRef), decodeAWSManagedControlPlane);
}

/** An object that cannot be read is not absent: nothing may be concluded from it. */
function looked<A>(lookup: Lookup, decode: (input: unknown) => Either<readonly DecodeProblem[], A>): Looked<A> {
  switch (lookup.kind) {
    case 'absent':
      return { kind: 'absent' };
    case 'unknown':
      return { kind: 'unknown', why: lookup.why };
    case 'stale':
      return { kind: 'unknown', why: 'the cache is behind a write of this controller' };
    case 'found': {
      const decoded = decode(lookup.object);
      return E.isRight(decoded)
        ? { kind: 'found', object: decoded.right }
        : { kind: 'unknown', why: decoded.left.map(describeProblem).join('; ') };
    }
  }
}
