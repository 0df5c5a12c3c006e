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

/** EKS's rule, in its own words where it is broken; `undefined`: the name is good. */
export function problemOfProfileName(name: string): string | undefined {
  if (name.startsWith('eks-')) return "The fargate profile name starts with the reserved prefix: 'eks-'.";
  if (!/^[\p{L}\p{N}][\p{L}\p{N}_-]*$/u.test(name)) {
    return (
      'The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can have ' +
      'any of the following characters: the set of Unicode letters, digits, hyphens and underscores.'
    );
  }
  return [...name].length > MAX_EKS_NAME_BYTES
    ? `The Fargate profile name parameter should not be greater than ${MAX_EKS_NAME_BYTES} characters.`
    : undefined;
}

/** IAM's rule; `undefined`: the name is good. */
export function problemOfRoleName(name: string): string | undefined {
  return /^[\w+=,.@-]{1,64}$/.test(name)
    ? undefined
    : `"${name}" is not a name of an IAM role: up to ${MAX_ROLE_NAME_BYTES} letters, digits and _ + = , . @ -`;
}

function roleName(cluster: ClusterName | EksClusterName, profile: ProfileName): RoleName {
  return RoleName.of(generateName('fargate', `${cluster}-${profile}`, MAX_ROLE_NAME_BYTES));
}
