import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import { decodeAWSManagedControlPlane, decodeCluster, isAWSManagedControlPlane } from '../../api/external/index.ts';
import type { AWSFargateProfile, DecodeProblem } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile, describeProblem } from '../../api/v1beta2/index.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { Lookup, StoreReader } from '../../pkg/kube/store.ts';
import type { Inputs, Looked } from './inputs.ts';
import { BY_CLUSTER } from '../caches.ts';
import { roleNameOf } from './names.ts';
import { isDeleting } from '../standing.ts';

/** All that is read of Kubernetes for one object, from the caches. */
export function readInputs(
  object: AWSFargateProfile,
  {
    profiles,
    clusters,
    controlPlanes,
  }: { readonly profiles: StoreReader; readonly clusters: StoreReader; readonly controlPlanes: StoreReader },
): Inputs {
  const { namespace } = object.metadata;
  const lookup = clusters.lookup({ namespace, name: object.spec.clusterName });
  const cluster = looked<Cluster>(lookup, decodeCluster);
  return {
    object,
    cluster,
    clusterApiVersion: lookup.kind === 'found' ? lookup.object.apiVersion : '',
    controlPlane: controlPlaneOf(cluster, controlPlanes),
    sharers: sharersOf(object, profiles),
  };
}

function sharersOf(object: AWSFargateProfile, profiles: StoreReader): readonly AWSFargateProfile[] {
  const role = roleNameOf(object)?.toLowerCase();
  const cluster = keyText({ namespace: object.metadata.namespace, name: object.spec.clusterName });
  const listing = profiles.byIndex(BY_CLUSTER, cluster);
  if (role === undefined || listing.kind === 'unknown') return [];
  return listing.objects.flatMap((raw) => {
    const other = decodeAWSFargateProfile(raw);
    const isSharer =
      E.isRight(other) &&
      other.right.metadata.uid !== object.metadata.uid &&
      !isDeleting(other.right) &&
      roleNameOf(other.right)?.toLowerCase() === role;
    return isSharer ? [other.right] : [];
  });
}

function controlPlaneOf(cluster: Looked<Cluster>, controlPlanes: StoreReader): Looked<AWSManagedControlPlane> {
  if (cluster.kind !== 'found') return cluster;
  const { controlPlaneRef } = cluster.object;
  if (controlPlaneRef === undefined || !isAWSManagedControlPlane(controlPlaneRef)) return { kind: 'absent' };
  return looked<AWSManagedControlPlane>(controlPlanes.lookup(controlPlaneRef), decodeAWSManagedControlPlane);
}

/** An object that cannot be read is not absent: nothing may be concluded from it. */
function looked<A>(lookup: Lookup, decode: (input: unknown) => Either<readonly DecodeProblem[], A>): Looked<A> {
  switch (lookup.kind) {
    case 'absent':
      return { kind: 'absent' };
    case 'unknown':
      return { kind: 'unknown', why: lookup.why };
    case 'found': {
      const decoded = decode(lookup.object);
      return E.isRight(decoded)
        ? { kind: 'found', object: decoded.right }
        : { kind: 'unknown', why: `${keyText(keyOf(lookup.object))}: ${decoded.left.map(describeProblem).join('; ')}` };
    }
  }
}
