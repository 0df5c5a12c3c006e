import type { RoleArn } from '../../api/names.ts';
import type { FargateProfile } from '../../pkg/cloud/types.ts';
import type { Owner as Ownership } from '../../pkg/fargate/ownership.ts';
import { profileOwner, roleOwner } from '../../pkg/fargate/ownership.ts';
import { sameSelectors, selectorWords } from '../../pkg/fargate/selectors.ts';
import { sameSubnets } from '../../pkg/fargate/subnets.ts';
import type { Desired, FoundRole, Observed, ObservedProfile, ObservedRole, WantedRole } from './model.ts';

/** The profile that was found under a name. */
export const profileNamed = (
  profiles: readonly ObservedProfile[],
  name: ObservedProfile['name'],
): FargateProfile | undefined => profiles.find((profile) => profile.name === name)?.found;

/** The role that was found under a name, if anybody looked; IAM takes names that differ in case alone for one name. */
export const roleNamed = (roles: readonly ObservedRole[], name: ObservedRole['name']): FoundRole | undefined =>
  foundRoles(roles.filter((role) => role.name.toLowerCase() === name.toLowerCase()))[0];

/** The roles that were found; of those that nobody looked at it is not known. */
export const foundRoles = (roles: readonly ObservedRole[]): readonly FoundRole[] =>
  roles.flatMap(({ found }) => (found === undefined || found === 'unread' ? [] : [found]));

/** Whose a profile is; what spec.adoptionPolicy `Never` leaves to Cluster API Provider AWS is foreign. */
export function ownerOf(desired: Desired, found: FargateProfile): Ownership {
  const owner = profileOwner(found, desired.owner);
  return owner.kind === 'ours' && !owner.stamped && desired.adopt === 'Never'
    ? { kind: 'foreign', whose: 'Cluster API Provider AWS, and spec.adoptionPolicy is Never', claimed: true }
    : owner;
}

/** A profile that is on its way out, and the one that is to come after it. */
export const succeeded = ({ wanted, noCreation }: Desired, { name }: FargateProfile) => ({
  name,
  ...(wanted !== undefined && noCreation === undefined && { successor: wanted.profile.name }),
});

/** Where the role is, or will be once it is made. Somebody else's, named without its path, is where it is found. */
export function wantedRoleArn(desired: Desired, observed: Observed, role: WantedRole): RoleArn {
  const found = role.kind === 'managed' && role.named ? roleNamed(observed.roles, role.name) : undefined;
  return found !== undefined && roleOwner(found, desired.owner).kind === 'foreign' ? found.arn : role.arn;
}

/** In which of the things that EKS cannot change a profile is not what is wanted, in words. */
export function differencesOf(desired: Desired, observed: Observed, found: FargateProfile): readonly string[] {
  if (desired.wanted === undefined) return [];
  const { profile, role } = desired.wanted;
  const roleArn = wantedRoleArn(desired, observed, role);
  return [
    ...(sameSelectors(profile.selectors, found.selectors)
      ? []
      : [`selectors are ${selectorWords(found.selectors)}, wanted ${selectorWords(profile.selectors)}`]),
    ...(sameSubnets(profile.subnets, found.subnets)
      ? []
      : [`subnets are ${found.subnets.join(', ')}, wanted ${profile.subnets.join(', ')}`]),
    ...(found.podExecutionRoleArn === roleArn
      ? []
      : [`the pod execution role is ${found.podExecutionRoleArn}, wanted ${roleArn}`]),
  ];
}

/** IAM cannot move a role to another path: one that no profile uses yet is made anew. */
export const isMisplaced = (role: WantedRole, found: FoundRole): boolean =>
  role.kind === 'managed' && role.path !== found.path;

/** Whether what is recorded of a role is recorded of this one. */
export const isRecorded = ({ records }: Pick<Desired, 'records'>, name: FoundRole['name']): boolean =>
  records.roleName?.toLowerCase() === name.toLowerCase();

/** The role has another id than the one that the profile was made with, and nobody has said that this is taken care of. */
export const isMadeAnew = ({ records, owner }: Desired, found: FoundRole): boolean =>
  isRecorded({ records }, found.name) &&
  records.roleId !== undefined &&
  records.roleId !== found.id &&
  records.renewedFor !== found.id &&
  roleOwner(found, owner).kind === 'ours';
