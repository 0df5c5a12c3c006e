import { blake2b } from '@noble/hashes/blake2.js';
import { EksClusterName, ProfileName, RoleName } from '../../api/names.ts';
import type { ClusterName } from '../../api/names.ts';

/** EKS refuses names of clusters and Fargate profiles above 100 characters. */
const MAX_EKS_NAME_BYTES = 100;
/** IAM refuses role names above 64 characters. */
const MAX_ROLE_NAME_BYTES = 64;

/** Cluster API Provider AWS: `hash.Base36TruncatedHash(name, 32 - len("capa_"))`. */
const HASH_BYTES = 27;
const HASH_PREFIX = 'capa_';
const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';

/** The role that Cluster API Provider AWS shares between all profiles when it may not make roles. It is never ours. */
export const CAPA_SHARED_ROLE = 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io';

const utf8 = new TextEncoder();

/**
 * A name in AWS for a namespaced resource: byte for byte what `GenerateEKSName` of Cluster API Provider AWS
 * (pkg/eks/eks.go) makes, so that profiles and roles it left are found again.
 *
 * A name of exactly `maxBytes` is hashed too; dots of the namespace stay.
 */
export function generateName(resourceName: string, namespace: string, maxBytes: number): string {
  const plain = `${namespace}_${resourceName.replaceAll('.', '_')}`;
  const bytes = utf8.encode(plain);
  if (bytes.length < maxBytes) {
    return plain;
  }
  // A BLAKE2b digest of 27 bytes is not the beginning of one of 64: its length goes into the hash.
  const digest = blake2b(bytes, { dkLen: HASH_BYTES });
  return HASH_PREFIX + Array.from(digest, (byte) => BASE36.charAt(byte % BASE36.length)).join('');
}

/** The profile's name where `spec.profileName` is empty. */
export function profileNameFor(object: { readonly name: string; readonly namespace: string }): ProfileName {
  return ProfileName.of(generateName(object.name, object.namespace, MAX_EKS_NAME_BYTES));
}

/** The name of the role made for a profile where `spec.roleName` is empty. */
export function roleNameFor(cluster: ClusterName, profile: ProfileName): RoleName {
  return roleName(cluster, profile);
}

/**
 * Each name that Cluster API Provider AWS can have given to the role it made for a profile: from the Cluster's name, and
 * before v2.7.0 from the name of the EKS cluster.
 */
export function roleNamesOfCapa(of: {
  readonly clusterName: ClusterName;
  readonly eksClusterName: EksClusterName;
  readonly profileName: ProfileName;
}): readonly RoleName[] {
  return [...new Set([roleName(of.clusterName, of.profileName), roleName(of.eksClusterName, of.profileName)])];
}

/** The EKS cluster's name where the control plane's `spec.eksClusterName` is empty. */
export function eksClusterNameDefault(controlPlaneName: string, namespace: string): EksClusterName {
  return EksClusterName.of(generateName(controlPlaneName, namespace, MAX_EKS_NAME_BYTES));
}

function roleName(cluster: ClusterName | EksClusterName, profile: ProfileName): RoleName {
  return RoleName.of(generateName('fargate', `${cluster}-${profile}`, MAX_ROLE_NAME_BYTES));
}
