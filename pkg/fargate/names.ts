import { blake2b } from '@noble/hashes/blake2.js';
import { type ClusterName, EksClusterName, ProfileName, RoleName } from '../../api/names.ts';
import { PROFILE_NAME_PROBLEMS } from '../../api/v1beta2/index.ts';

/** In characters, for clusters and Fargate profiles. */
export const MAX_EKS_NAME = 100;
/** IAM's limit. */
const MAX_ROLE_NAME_BYTES = 64;

/** Each byte becomes one character of the name. CAPA uses `hash.Base36TruncatedHash(name, 32 - len("capa_"))`. */
const HASH_BYTES = 27;
const HASH_PREFIX = 'capa_';
const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';

/** The one IAM role that CAPA uses for all profiles when it is not allowed to create roles. */
export const CAPA_SHARED_ROLE = 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io';

/**
 * Returns the same name as CAPA's `GenerateEKSName` (pkg/eks/eks.go), so that this controller finds CAPA's profiles and
 * roles: a name of exactly `maxBytes` is hashed too, and dots in the namespace are kept.
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

/** The default of `spec.profileName`. */
export function profileNameFor(object: { readonly name: string; readonly namespace: string }): ProfileName {
  return ProfileName.of(generateName(object.name, object.namespace, MAX_EKS_NAME));
}

/** A replacement's name begins with four digits and a hyphen. */
const DIGITS_LENGTH = 5;
const MAX_DIGITS = 9_999;

/**
 * Returns the name of a profile that replaces another profile of its object. If two profiles match a pod, EKS chooses
 * the name that sorts first, so the digits let new pods start on the replacement. A long base is cut to EKS's limit.
 */
export const replacementName = (base: ProfileName, digits: number): ProfileName =>
  ProfileName.of(`${String(digits).padStart(DIGITS_LENGTH - 1, '0')}-${stemOf(base)}`);

/** Returns the digits at the beginning of a replacement's name, or `undefined` for a name that is not one of `base`. */
export function replacementDigits(name: string, base: ProfileName): number | undefined {
  const digits = /^(?<digits>\d{4})-/.exec(name)?.groups?.['digits'];
  return digits !== undefined && name.slice(DIGITS_LENGTH) === stemOf(base) ? Number(digits) : undefined;
}

/** True for the base name itself, and for a replacement's name. */
export const isNamedAfter = (name: string, base: ProfileName): boolean =>
  name === base || replacementDigits(name, base) !== undefined;

/** Returns a name that sorts before those of `existing`. If 0000 is in use, the name gets the highest free digits. */
export function nextReplacementName(
  base: ProfileName,
  existing: readonly string[],
  isTaken: (name: ProfileName) => boolean,
): ProfileName {
  const used = existing.flatMap((name) => replacementDigits(name, base) ?? []);
  const from = Math.min(MAX_DIGITS + 1, ...used) - 1;
  for (let digits = from; digits >= 0; digits--) {
    const name = replacementName(base, digits);
    if (!isTaken(name)) return name;
  }
  for (let digits = MAX_DIGITS; digits > from; digits--) {
    const name = replacementName(base, digits);
    if (!isTaken(name)) return name;
  }
  return replacementName(base, 0);
}

const stemOf = (base: ProfileName): string => [...base].slice(0, MAX_EKS_NAME - DIGITS_LENGTH).join('');

/** The default of `spec.roleName`. `cluster` is the Cluster, or the EKS cluster if Cluster API does not manage it. */
export function roleNameFor(cluster: ClusterName | EksClusterName, profile: ProfileName): RoleName {
  return RoleName.of(generateName('fargate', `${cluster}-${profile}`, MAX_ROLE_NAME_BYTES));
}

/**
 * Returns the names that CAPA may have given to a profile's role. CAPA computes them from the name of the Cluster, and
 * before v2.7.0 from the name of the EKS cluster. If Cluster API does not manage the EKS cluster, returns only the name
 * that this controller computes.
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
  return [...new Set(clusters.map((cluster) => roleNameFor(cluster, profileName)))];
}

/** The default of the control plane's `spec.eksClusterName`. */
export function defaultEksClusterName(controlPlaneName: string, namespace: string): EksClusterName {
  return EksClusterName.of(generateName(controlPlaneName, namespace, MAX_EKS_NAME));
}

/** Returns the message with which EKS rejects the name, or `undefined` if EKS accepts it. */
export function findProfileNameProblem(name: string): string | undefined {
  if (name.startsWith('eks-')) return PROFILE_NAME_PROBLEMS.prefix;
  if (!/^[\p{L}\p{N}][\p{L}\p{N}_-]*$/u.test(name)) return PROFILE_NAME_PROBLEMS.characters;
  return [...name].length > MAX_EKS_NAME ? PROFILE_NAME_PROBLEMS.length : undefined;
}

export function findRoleNameProblem(name: string): string | undefined {
  return /^[\w+=,.@-]{1,64}$/.test(name)
    ? undefined
    : `"${name}" is not a valid IAM role name: use up to ${MAX_ROLE_NAME_BYTES} letters, digits and _ + = , . @ -`;
}

/** IAM ignores case in role names. */
export const isSameRoleName = (a: string | undefined, b: string | undefined): boolean =>
  a?.toLowerCase() === b?.toLowerCase();
