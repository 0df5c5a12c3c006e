import { blake2b } from '@noble/hashes/blake2.js';
import { EksClusterName, ProfileName, RoleName } from '../../api/names.ts';
import type { ClusterName } from '../../api/names.ts';

/** EKS's limit for the names of clusters and Fargate profiles, in characters. */
export const MAX_EKS_NAME = 100;
/** IAM's limit for role names. */
const MAX_ROLE_NAME_BYTES = 64;

/**
 * The length of the hash in a generated name, in characters. Cluster API Provider AWS uses the same length:
 * `hash.Base36TruncatedHash(name, 32 - len("capa_"))`.
 */
const HASH_BYTES = 27;
const HASH_PREFIX = 'capa_';
const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * The name of the one IAM role that Cluster API Provider AWS uses for all profiles when that provider is not allowed to
 * create roles.
 */
export const CAPA_SHARED_ROLE = 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io';

/**
 * Generates the AWS name of a namespaced Kubernetes object. The result is identical to that of `GenerateEKSName` in
 * Cluster API Provider AWS (pkg/eks/eks.go), so that this controller finds the profiles and roles of that provider.
 *
 * As in `GenerateEKSName`, a name of exactly `maxBytes` is hashed too, and dots in the namespace are kept.
 */
export function generateName(resourceName: string, namespace: string, maxBytes: number): string {
  const plain = `${namespace}_${resourceName.replaceAll('.', '_')}`;
  if (Buffer.byteLength(plain) < maxBytes) {
    return plain;
  }
  // The digest length is a parameter of BLAKE2b, so a digest of 27 bytes is not a prefix of a longer digest.
  const digest = blake2b(Buffer.from(plain), { dkLen: HASH_BYTES });
  return HASH_PREFIX + Array.from(digest, (byte) => BASE36.charAt(byte % BASE36.length)).join('');
}

/** Returns the default of an AWSFargateProfile's `spec.profileName`. */
export function profileNameFor(object: { readonly name: string; readonly namespace: string }): ProfileName {
  return ProfileName.of(generateName(object.name, object.namespace, MAX_EKS_NAME));
}

/**
 * Returns the name of the IAM role that this controller creates for a profile when `spec.roleName` is empty. `cluster`
 * is the name of the Cluster. If Cluster API does not manage the EKS cluster, `cluster` is the name of the EKS cluster.
 */
export function roleNameFor(cluster: ClusterName | EksClusterName, profile: ProfileName): RoleName {
  return generateRoleName(cluster, profile);
}

/**
 * Returns the names that Cluster API Provider AWS may have given to the IAM role of a profile. That provider derives
 * the name from the name of the Cluster; before v2.7.0 it used the name of the EKS cluster. If Cluster API does not
 * manage the EKS cluster, returns only the name that this controller computes.
 */
export function roleNamesOfCapa({
  clusterName,
  eksClusterName,
  profileName,
}: {
  readonly clusterName: ClusterName | undefined;
  readonly eksClusterName: EksClusterName;
  readonly profileName: ProfileName;
}): readonly RoleName[] {
  const clusters = clusterName === undefined ? [eksClusterName] : [clusterName, eksClusterName];
  return [...new Set(clusters.map((cluster) => generateRoleName(cluster, profileName)))];
}

/** Returns the default of the control plane's `spec.eksClusterName`. */
export function defaultEksClusterName(controlPlaneName: string, namespace: string): EksClusterName {
  return EksClusterName.of(generateName(controlPlaneName, namespace, MAX_EKS_NAME));
}

/**
 * Checks EKS's rule for profile names. Returns EKS's error message for an invalid name, `undefined` for a valid one.
 */
export function findProfileNameProblem(name: string): string | undefined {
  if (name.startsWith('eks-')) return "The fargate profile name starts with the reserved prefix: 'eks-'.";
  if (!/^[\p{L}\p{N}][\p{L}\p{N}_-]*$/u.test(name)) {
    return (
      'The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can have ' +
      'any of the following characters: the set of Unicode letters, digits, hyphens and underscores.'
    );
  }
  return [...name].length > MAX_EKS_NAME
    ? `The Fargate profile name parameter should not be greater than ${MAX_EKS_NAME} characters.`
    : undefined;
}

/** Checks IAM's rule for role names. Returns an error message for an invalid name, `undefined` for a valid one. */
export function findRoleNameProblem(name: string): string | undefined {
  return /^[\w+=,.@-]{1,64}$/.test(name)
    ? undefined
    : `"${name}" is not a valid IAM role name: use up to ${MAX_ROLE_NAME_BYTES} letters, digits and _ + = , . @ -`;
}

/** Whether two names are names of the same IAM role. IAM compares role names without regard to case. */
export const isSameRoleName = (a: string | undefined, b: string | undefined): boolean =>
  a?.toLowerCase() === b?.toLowerCase();

function generateRoleName(cluster: ClusterName | EksClusterName, profile: ProfileName): RoleName {
  return RoleName.of(generateName('fargate', `${cluster}-${profile}`, MAX_ROLE_NAME_BYTES));
}
