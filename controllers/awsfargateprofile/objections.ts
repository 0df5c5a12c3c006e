import type { AdoptionPolicy } from '../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../pkg/cloud/types.ts';
import type { Owner as Ownership } from '../../pkg/fargate/ownership.ts';
import { isSharedByCapa, profileOwner, roleOwner } from '../../pkg/fargate/ownership.ts';
import { trusts } from '../../pkg/fargate/trust.ts';
import { differencesOf, isMisplaced, ownerOf, profileNamed, roleNamed } from './comparison.ts';
import type { Answer, Desired, ExistingRole, FoundRole, Observed, WantedProfile } from './model.ts';
import { stop } from './model.ts';
import { why } from './reasons.ts';

/** Whatever forbids to begin at all. */
export function objection(desired: Desired, observed: Observed): Answer {
  if (desired.wanted === undefined) return absenceObjection(desired, observed);
  const { region, account } = desired.place;
  if (observed.cluster === 'gone') {
    return stop(why('EKSClusterNotFound', { cluster: desired.owner.eksCluster, region, account }));
  }
  return profileObjection(desired, observed, desired.wanted.profile) ?? roleObjection(desired, observed);
}

/**
 * "There is no such cluster" is what another account says too: it ends a deletion only where the object says that it is in
 * this account, which was compared before, or that nothing was begun.
 */
function absenceObjection({ surplus, records, owner, place }: Desired, { cluster }: Observed): Answer {
  if (surplus === 'retain' || cluster === 'there' || records.whereabouts !== 'unknown') return undefined;
  return stop(why('AccountUncertain', { cluster: owner.eksCluster, region: place.region, account: place.account }));
}

/** Why the profile that has the wanted name is to be left as it is. */
export function profileObjection(desired: Desired, observed: Observed, wanted: WantedProfile): Answer {
  const found = profileNamed(observed.profiles, wanted.name);
  if (found === undefined) return undefined;
  const differences = differencesOf(desired, observed, found);
  const owner = ownerOf(desired, found);
  if (owner.kind === 'foreign') {
    const obstacles = obstaclesToAdoption(desired, owner, found, differences);
    if (obstacles === undefined || obstacles.length > 0) {
      const adoption = adoptionOf(desired, owner, found);
      return stop(
        why('ProfileNotOwned', {
          name: found.name,
          whose: owner.whose,
          ...(adoption && { adoption }),
          ...(obstacles && { obstacles }),
        }),
      );
    }
  }
  return differences.length > 0 && found.status === 'ACTIVE' && !isUnfinished(desired)
    ? stop(why('SpecDiffers', { name: found.name, fields: differences }))
    : undefined;
}

/** Why the wanted role cannot be used, or not as it is. */
export function roleObjection(desired: Desired, observed: Observed): Answer {
  const role = desired.wanted?.role;
  if (role === undefined) return undefined;
  const found = roleNamed(observed.roles, role.name);
  if (role.kind === 'existing') return existingRoleObjection(desired, role, found);
  if (found === undefined) {
    // Somebody else's that was used is not made anew, and the one that Cluster API Provider AWS shares between all profiles is
    // always that. What only stood in the way of a role of our own is well gone.
    const isOthers = role.named && desired.records.roleManaged === false && desired.records.roleName === role.name;
    if (isOthers || isSharedByCapa(role.name)) return stop(why('RoleNotFound', { name: role.name }));
    return desired.conflict && stop(desired.conflict);
  }
  const owner = roleOwner(found, desired.owner);
  if (owner.kind === 'ours') {
    if (desired.conflict !== undefined) return stop(desired.conflict);
    return isMisplaced(role, found) && found.keep !== undefined
      ? stop(why('RoleSettingsConflict', { name: role.name, other: found.keep, settings: ['rolePath'] }))
      : undefined;
  }
  if (!role.named) return stop(why('RoleNotOwned', { name: role.name, whose: owner.whose }));
  return trustObjection(desired, found);
}

function existingRoleObjection(desired: Desired, role: ExistingRole, found: FoundRole | undefined): Answer {
  // A name is unique in an account whatever its path, so a role of this name with another ARN is not the one named.
  if (found === undefined || found.arn !== role.arn) return stop(why('RoleNotFound', { name: role.name }));
  return trustObjection(desired, found);
}

function trustObjection(desired: Desired, found: FoundRole): Answer {
  const verdict = trusts(found.trust, { ...desired.place, cluster: desired.owner.eksCluster });
  return verdict.kind === 'yes'
    ? undefined
    : stop(why('RoleTrustInvalid', { name: found.name, problem: verdict.reason, ours: false }));
}

/** `Always` takes over what nobody claims, if it is what the spec wants already. Absent: it is not to be taken over. */
function obstaclesToAdoption(
  desired: Desired,
  owner: Extract<Ownership, { kind: 'foreign' }>,
  found: FargateProfile,
  differences: readonly string[],
): readonly string[] | undefined {
  if (desired.adopt !== 'Always' || owner.claimed) return undefined;
  return found.status === 'ACTIVE' ? differences : [`its status is ${found.status}`, ...differences];
}

/** The adoptionPolicy that would take over somebody's profile; `undefined`: none does, a tag says whose it is. */
function adoptionOf(
  desired: Desired,
  { claimed }: Extract<Ownership, { kind: 'foreign' }>,
  found: FargateProfile,
): AdoptionPolicy | undefined {
  if (!claimed) return 'Always';
  return profileOwner(found, desired.owner).kind === 'ours' ? 'Owned' : undefined;
}

/** A create was asked for, and its result was never yet what the spec wants: it may be made anew. */
const isUnfinished = ({ records, wanted }: Desired): boolean =>
  records.createRequested && records.profileName === wanted?.profile.name && !records.provisioned;
