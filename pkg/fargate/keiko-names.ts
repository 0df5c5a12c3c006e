import { type EksClusterName, ProfileName, RoleName } from '../../api/names.ts';
import { MAX_EKS_NAME, findProfileNameProblem, findRoleNameProblem } from './names.ts';

/** The constants of the 64-bit FNV-1a hash: http://www.isthe.com/chongo/tech/comp/fnv/ */
const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;
const MASK_64_BITS = 0xffffffffffffffffn;

const utf8 = new TextEncoder();

/** A name is undefined if AWS does not allow the name that keiko computes. */
interface KeikoNames {
  readonly profile: ProfileName | undefined;
  readonly role: RoleName | undefined;
}

/** Returns the same names as `generateUniqueName` in keiko's controllers/provisioners/eksfargate/eksfargate.go. */
export function keikoNames(
  cluster: EksClusterName,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): KeikoNames {
  // Hashing a very long cluster name is slow, and EKS does not allow a name of this length anyway.
  if (cluster.length > MAX_EKS_NAME) return { profile: undefined, role: undefined };
  const profile = `fargate-${cluster}-${fnv1a64(`${cluster}-${namespace}-${name}`)}`;
  const role = `${profile}-role`;
  return {
    profile: findProfileNameProblem(profile) === undefined ? ProfileName.of(profile) : undefined,
    role: findRoleNameProblem(role) === undefined ? RoleName.of(role) : undefined,
  };
}

const fnv1a64 = (input: string): bigint =>
  utf8.encode(input).reduce((hash, byte) => ((hash ^ BigInt(byte)) * FNV_PRIME) & MASK_64_BITS, FNV_OFFSET);
