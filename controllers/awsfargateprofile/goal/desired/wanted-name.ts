import type { ProfileName } from '../../../../api/names.ts';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../../../pkg/fargate/arns.ts';
import { derivedProfileName, isDerivedProfileName, isSameRoleName } from '../../../../pkg/fargate/names.ts';
import { profileOwnership } from '../../../../pkg/fargate/ownership.ts';
import { areSelectorsEqual, canonicalSelectors } from '../../../../pkg/fargate/selectors.ts';
import { areSubnetsEqual } from '../../../../pkg/fargate/subnets.ts';
import { isReplaceable } from '../../../shared/object-state.ts';
import { baseNameOf, currentProfileNameOf, profileNameOf } from '../../../shared/profile-names.ts';
import type { ObjectIdentity } from '../../model/desired-state.ts';
import type { ObservedProfile } from '../../model/observed-state.ts';

export interface ChosenName {
  readonly name: ProfileName;
  /** The name from which the names of the role and of replacements derive. */
  readonly base: ProfileName;
}

/**
 * An own profile that fits the spec keeps its name. If there is none, the profile is made under the base name, or under
 * a derived one if another profile of the object has that name and may be replaced.
 */
export function chooseName(
  object: AWSFargateProfile,
  identityFor: (base: ProfileName) => ObjectIdentity,
  profiles: readonly ObservedProfile[],
): ChosenName {
  const [computed, recorded] = [profileNameOf(object), baseNameOf(object)];
  const isKept = oursUnder(identityFor(computed), profiles, recorded) !== undefined;
  const identity = identityFor(isKept ? recorded : computed);
  const { profileName: base } = identity;
  const [chosen] = profiles
    .flatMap(({ name }) => (isNamedAfter(name, base) ? (oursUnder(identity, profiles, name) ?? []) : []))
    .filter((found) => !isGoing(found) && fits(object, identity, found))
    .toSorted((a, b) => rank(a, base) - rank(b, base));
  if (chosen !== undefined) return { name: chosen.name, base };
  if (!isReplaceable(object)) {
    const current = currentProfileNameOf(object);
    return { name: oursUnder(identity, profiles, current) === undefined ? base : current, base };
  }
  const atBase = oursUnder(identity, profiles, base);
  if (atBase === undefined || isGoing(atBase)) return { name: base, base };
  const content = contentOf(object);
  for (let attempt = 0; ; attempt++) {
    const name = derivedProfileName(base, content, attempt);
    const isTaken = profiles.some((each) => each.name === name && each.found !== undefined);
    const ours = oursUnder(identity, profiles, name);
    if (!isTaken || (ours !== undefined && isGoing(ours))) return { name, base };
  }
}

function oursUnder(
  identity: ObjectIdentity,
  profiles: readonly ObservedProfile[],
  name: ProfileName,
): FargateProfile | undefined {
  const found = profiles.find((each) => each.name === name)?.found;
  return found !== undefined && profileOwnership(found, identity).kind === 'ours' ? found : undefined;
}

const isNamedAfter = (name: ProfileName, base: ProfileName): boolean =>
  name === base || isDerivedProfileName(name, base);

/** A profile that EKS failed to create is deleted, so that its name can be used again. */
const isGoing = ({ status }: FargateProfile): boolean => status === 'DELETING' || status.endsWith('_FAILED');

const rank = ({ name, status }: FargateProfile, base: ProfileName): number =>
  (status === 'ACTIVE' ? 0 : 2) + (name === base ? 0 : 1);

/** Of the role only the name is compared, because IAM was not read yet. */
function fits(
  { spec }: AWSFargateProfile,
  { capaRoleNames }: ObjectIdentity,
  { selectors, subnets, podExecutionRoleArn }: FargateProfile,
): boolean {
  const { subnetIDs = [] } = spec;
  if (subnetIDs.length > 0 && !areSubnetsEqual(subnetIDs, subnets)) return false;
  if (!areSelectorsEqual(spec.selectors ?? [], selectors)) return false;
  if (spec.roleARN !== undefined) return podExecutionRoleArn === spec.roleARN;
  const role = parseRoleArn(podExecutionRoleArn)?.name;
  const names = spec.roleName === undefined ? capaRoleNames : [spec.roleName];
  return role !== undefined && names.some((name) => isSameRoleName(name, role));
}

/** The same spec gives the same name of a replacement. */
const contentOf = ({ spec }: AWSFargateProfile): unknown => [
  canonicalSelectors(spec.selectors ?? []),
  (spec.subnetIDs ?? []).toSorted(),
  spec.roleARN ?? spec.roleName ?? '',
];
