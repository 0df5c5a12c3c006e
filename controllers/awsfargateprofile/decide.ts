import type { RoleArn } from '../../api/names.ts';
import type { FargateProfile } from '../../pkg/cloud/types.ts';
import type { Owner as Ownership } from '../../pkg/fargate/ownership.ts';
import { isSharedByCapa, profileOwner, roleOwner } from '../../pkg/fargate/ownership.ts';
import { sameSelectors } from '../../pkg/fargate/selectors.ts';
import { sameSubnets } from '../../pkg/fargate/subnets.ts';
import type { Tags } from '../../pkg/fargate/tags.ts';
import { exactly, foldCase, tagDrift } from '../../pkg/fargate/tags.ts';
import { sameTrust, trusts } from '../../pkg/fargate/trust.ts';
import type {
  Decision,
  Desired,
  ExistingRole,
  FoundRole,
  ManagedRole,
  Observed,
  ObservedProfile,
  ObservedRole,
  WantedProfile,
  WantedRole,
} from './model.ts';
import { perform, stop } from './model.ts';
import type { Why } from './reasons.ts';
import { why } from './reasons.ts';

/** What the next step has to go on: `undefined` means that this question has no objection. */
type Answer = Decision | undefined;

/**
 * The one next step towards what is desired. Pure; nothing but its arguments counts.
 *
 * First whatever forbids to begin at all, then what is ours and in the way or unwanted (profiles before roles, since a
 * role must outlive the profile that uses it), then what is wanted (the role first, for the same reason).
 */
export function decide(desired: Desired, observed: Observed): Decision {
  return (
    objection(desired, observed) ??
    retire(desired, observed) ??
    establish(desired, observed) ??
    renewal(desired, observed) ?? { kind: 'settled' }
  );
}

/** Whether the wanted role is there and in order. */
export const isRoleEstablished = (desired: Desired, observed: Observed): boolean =>
  desired.wanted !== undefined &&
  roleObjection(desired, observed) === undefined &&
  establishRole(desired, observed, desired.wanted.role) === undefined;

/** Whether the wanted profile is there, ACTIVE, and in order. */
export const isProfileEstablished = (desired: Desired, observed: Observed): boolean => {
  const { wanted } = desired;
  return (
    wanted !== undefined &&
    observed.cluster === 'there' &&
    profileObjection(desired, observed, wanted.profile) === undefined &&
    establishProfile(desired, observed, wanted.profile, wantedRoleArn(desired, observed, wanted.role)) === undefined
  );
};

/** What has to be waited for whatever else there is: EKS is busy with a profile of ours, and takes no other change. */
export function transitOf(desired: Desired, profiles: Observed['profiles']): Why | undefined {
  for (const { found } of profiles) {
    if (found === undefined || ownerOf(desired, found).kind !== 'ours') continue;
    if (found.status === 'DELETING') return why('DeletingProfile', { name: found.name });
    if (found.status !== 'CREATING') continue;
    return isAsWanted(desired.wanted?.profile, found)
      ? why('Creating', { name: found.name })
      : why('WaitingForCreate', { name: found.name });
  }
  return undefined;
}

/** As far as the profile itself tells: its role is not looked at yet. */
const isAsWanted = (wanted: WantedProfile | undefined, found: FargateProfile): boolean =>
  wanted?.name === found.name &&
  sameSelectors(wanted.selectors, found.selectors) &&
  sameSubnets(wanted.subnets, found.subnets);

// ---- whether to begin at all

function objection(desired: Desired, observed: Observed): Answer {
  if (desired.wanted === undefined) return undefined;
  if (observed.cluster === 'gone') {
    return stop(why('EKSClusterNotFound', { cluster: desired.owner.eksCluster, region: desired.place.region }));
  }
  return profileObjection(desired, observed, desired.wanted.profile) ?? roleObjection(desired, observed);
}

function profileObjection(desired: Desired, observed: Observed, wanted: WantedProfile): Answer {
  const found = profileNamed(observed.profiles, wanted.name);
  if (found === undefined) return undefined;
  const differences = differencesOf(desired, observed, found);
  const owner = ownerOf(desired, found);
  if (owner.kind === 'foreign') {
    const obstacles = obstaclesToAdoption(desired, owner, found, differences);
    if (obstacles === undefined || obstacles.length > 0) {
      return stop(why('ProfileNotOwned', { name: found.name, whose: owner.whose, ...(obstacles && { obstacles }) }));
    }
  }
  return differences.length > 0 && found.status === 'ACTIVE' && !isUnfinished(desired)
    ? stop(why('SpecDiffers', { name: found.name, fields: differences }))
    : undefined;
}

function roleObjection(desired: Desired, observed: Observed): Answer {
  const role = desired.wanted?.role;
  if (role === undefined) return undefined;
  const found = roleNamed(observed.roles, role.name);
  if (role.kind === 'existing') return existingRoleObjection(desired, role, found);
  if (found === undefined) {
    // Somebody else's is not made anew, and the one that Cluster API Provider AWS shares between all profiles is always that.
    const isOthers = desired.records.roleManaged === false && desired.records.roleName === role.name;
    return isOthers || isSharedByCapa(role.name) ? stop(why('RoleNotFound', { name: role.name })) : undefined;
  }
  const owner = roleOwner(found, desired.owner);
  if (owner.kind === 'ours') {
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
    : stop(why('RoleTrustInvalid', { name: found.name, problem: verdict.reason }));
}

// ---- what is ours and unwanted

function retire(desired: Desired, observed: Observed): Answer {
  if (desired.surplus === 'retain') return retained(desired, observed);
  for (const { found } of observed.profiles) {
    const answer = found && retireProfile(desired, observed, found);
    if (answer !== undefined) return answer;
  }
  if (mayStillAppear(desired, observed)) return waitForCreate;
  for (const { found } of observed.roles) {
    const answer = found && retireRole(desired, observed, found);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** A create whose answer never came may still appear: neither its name nor its role must be given up by then. */
function mayStillAppear(desired: Desired, observed: Observed): boolean {
  if (!desired.records.createUnseen || observed.cluster === 'gone') return false;
  return (
    desired.wanted?.profile.name !== desired.records.profileName ||
    observed.roles.some(({ found }) => found !== undefined && isSurplusRole(desired, observed, found))
  );
}

const waitForCreate = stop(why('Propagating', { what: 'the Fargate profile that was asked for a moment ago' }));

/** What is to stay stays; but a profile that stays keeps EKS from deleting its cluster. */
function retained(desired: Desired, observed: Observed): Answer {
  if (mayStillAppear(desired, observed)) return waitForCreate;
  const found = observed.profiles.find((profile) => profile.found && ownerOf(desired, profile.found).kind === 'ours');
  return found === undefined
    ? undefined
    : stop(why('RetainBlocksClusterDeletion', { name: found.name, cluster: desired.owner.eksCluster }));
}

function retireProfile(desired: Desired, observed: Observed, found: FargateProfile): Answer {
  const wanted = desired.wanted?.profile.name === found.name;
  if (ownerOf(desired, found).kind !== 'ours') return undefined;
  if (wanted && differencesOf(desired, observed, found).length === 0) return undefined;
  switch (found.status) {
    case 'CREATING':
      return stop(why('WaitingForCreate', { name: found.name }));
    case 'DELETING':
      return stop(why('DeletingProfile', { name: found.name }));
    case 'ACTIVE':
    case 'CREATE_FAILED':
    case 'DELETE_FAILED':
      return perform({ kind: 'deleteProfile', name: found.name, because: wanted ? 'different' : 'unwanted' });
    default:
      return stop(why('UnknownProfileStatus', { name: found.name, status: found.status }));
  }
}

function retireRole(desired: Desired, observed: Observed, found: FoundRole): Answer {
  if (!isSurplusRole(desired, observed, found)) return undefined;
  const [policy] = found.attached;
  if (found.blockers.length > 0) return stop(why('RoleBlocked', { name: found.name, blockers: found.blockers }));
  return policy === undefined
    ? perform({ kind: 'deleteRole', name: found.name })
    : perform({ kind: 'detachPolicy', name: found.name, policyArn: policy, retiring: true });
}

function isSurplusRole(desired: Desired, observed: Observed, found: FoundRole): boolean {
  const role = desired.wanted?.role;
  return (
    found.keep === undefined &&
    roleOwner(found, desired.owner).kind === 'ours' &&
    (role === undefined || role.name !== found.name || isMisplaced(role, found)) &&
    // Pods of a profile die with its role: whoever's profile it is, it goes first.
    !observed.profiles.some((profile) => profile.found?.podExecutionRoleArn === found.arn)
  );
}

/** IAM cannot move a role to another path: one that no profile uses yet is made anew. */
const isMisplaced = (role: WantedRole, found: FoundRole): boolean =>
  role.kind === 'managed' && role.path !== found.path;

// ---- what is wanted

function establish(desired: Desired, observed: Observed): Answer {
  if (desired.wanted === undefined) return undefined;
  return (
    establishRole(desired, observed, desired.wanted.role) ??
    establishProfile(desired, observed, desired.wanted.profile, wantedRoleArn(desired, observed, desired.wanted.role))
  );
}

function establishRole(desired: Desired, observed: Observed, role: WantedRole): Answer {
  if (role.kind === 'existing') return undefined;
  const found = roleNamed(observed.roles, role.name);
  if (found === undefined) {
    const { name, path, trust, permissionsBoundary, tags } = role;
    return desired.noCreation === undefined
      ? perform({
          kind: 'createRole',
          role: { name, path, trust, tags, ...(permissionsBoundary !== undefined && { permissionsBoundary }) },
        })
      : stop(desired.noCreation);
  }
  if (roleOwner(found, desired.owner).kind !== 'ours') return undefined;
  // It could not be made anew where it is wanted: something else uses it where it is.
  return isMisplaced(role, found)
    ? stop(
        why('RoleSettingsConflict', {
          name: role.name,
          other: 'a Fargate profile that uses it',
          settings: ['rolePath'],
        }),
      )
    : mendRole(desired, role, found);
}

/** The tags come first: they say whose the role is. */
function mendRole(desired: Desired, role: ManagedRole, found: FoundRole): Answer {
  const { name } = role;
  const { set, remove } = tagDrift(role.tags, found.tags, desired.records.tagKeys, foldCase);
  if (!isEmpty(set)) return perform({ kind: 'tagRole', name, tags: set });
  if (!sameTrust(role.trust, found.trust)) return perform({ kind: 'setTrust', name, trust: role.trust });
  if (role.permissionsBoundary !== undefined && role.permissionsBoundary !== found.permissionsBoundary) {
    return perform({ kind: 'setBoundary', name, policyArn: role.permissionsBoundary });
  }
  // The spec of a provisioned object cannot have lost its boundary: one it does not name was put there by somebody else.
  if (
    role.permissionsBoundary === undefined &&
    found.permissionsBoundary !== undefined &&
    !desired.records.provisioned
  ) {
    return perform({ kind: 'removeBoundary', name });
  }
  const missing = role.policies.find((arn) => !found.attached.includes(arn));
  if (missing !== undefined) return perform({ kind: 'attachPolicy', name, policyArn: missing });
  // What somebody else attached stays.
  const attachedByUs = isRecorded(desired, name) ? desired.records.attachedPolicies : [];
  const dropped = attachedByUs.find((arn) => !role.policies.includes(arn) && found.attached.includes(arn));
  if (dropped !== undefined) return perform({ kind: 'detachPolicy', name, policyArn: dropped, retiring: false });
  return remove.length > 0 ? perform({ kind: 'untagRole', name, keys: remove }) : undefined;
}

function establishProfile(desired: Desired, observed: Observed, wanted: WantedProfile, roleArn: RoleArn): Answer {
  const found = profileNamed(observed.profiles, wanted.name);
  if (found === undefined) {
    if (desired.noCreation !== undefined) return stop(desired.noCreation);
    const { name, subnets, selectors, tags } = wanted;
    return perform({
      kind: 'createProfile',
      profile: { cluster: desired.owner.eksCluster, name, podExecutionRoleArn: roleArn, subnets, selectors, tags },
    });
  }
  switch (found.status) {
    case 'CREATING':
      return stop(why('Creating', { name: found.name }));
    case 'DELETING':
      return stop(why('DeletingProfile', { name: found.name }));
    case 'CREATE_FAILED':
    case 'DELETE_FAILED':
      return perform({ kind: 'deleteProfile', name: found.name, because: 'failed' });
    case 'ACTIVE':
      return mendProfile(desired, wanted, found);
    default:
      return stop(why('UnknownProfileStatus', { name: found.name, status: found.status }));
  }
}

function mendProfile(desired: Desired, wanted: WantedProfile, found: FargateProfile): Answer {
  const { set, remove } = tagDrift(wanted.tags, found.tags, desired.records.tagKeys, exactly);
  if (!isEmpty(set)) return perform({ kind: 'tagProfile', name: found.name, arn: found.arn, tags: set });
  return remove.length > 0
    ? perform({ kind: 'untagProfile', name: found.name, arn: found.arn, keys: remove })
    : undefined;
}

/** EKS binds an access entry to the role's unique id: after the role was made anew, pods of the profile cannot join. */
function renewal(desired: Desired, observed: Observed): Answer {
  const found = desired.wanted && roleNamed(observed.roles, desired.wanted.role.name);
  if (found === undefined || !isMadeAnew(desired, found) || observed.authenticationMode === 'CONFIG_MAP')
    return undefined;
  return observed.authenticationMode === undefined
    ? stop(why('Propagating', { what: `"${found.name}"` }))
    : stop(why('RoleRecreated', { name: found.name, arn: found.arn, id: found.id, cluster: desired.owner.eksCluster }));
}

/** The role has another id than the one that the profile was made with, and nobody has said that this is taken care of. */
export const isMadeAnew = ({ records, owner }: Desired, found: FoundRole): boolean =>
  isRecorded({ records }, found.name) &&
  records.roleId !== undefined &&
  records.roleId !== found.id &&
  records.renewedFor !== found.id &&
  roleOwner(found, owner).kind === 'ours';

/** Whether what is recorded of a role is recorded of this one. */
const isRecorded = ({ records }: Pick<Desired, 'records'>, name: FoundRole['name']): boolean =>
  records.roleName?.toLowerCase() === name.toLowerCase();

// ---- looking things up

export const profileNamed = (
  profiles: readonly ObservedProfile[],
  name: ObservedProfile['name'],
): FargateProfile | undefined => profiles.find((profile) => profile.name === name)?.found;

/** IAM takes names that differ in case alone for one name. */
export const roleNamed = (roles: readonly ObservedRole[], name: ObservedRole['name']): FoundRole | undefined =>
  roles.find((role) => role.name.toLowerCase() === name.toLowerCase())?.found;

/** Where the role is, or will be once it is made. Somebody else's, named without its path, is where it is found. */
function wantedRoleArn(desired: Desired, observed: Observed, role: WantedRole): RoleArn {
  const found = role.kind === 'managed' && role.named ? roleNamed(observed.roles, role.name) : undefined;
  return found !== undefined && roleOwner(found, desired.owner).kind === 'foreign' ? found.arn : role.arn;
}

function ownerOf(desired: Desired, found: FargateProfile): Ownership {
  const owner = profileOwner(found, desired.owner);
  return owner.kind === 'ours' && !owner.stamped && desired.adopt === 'Never'
    ? { kind: 'foreign', whose: 'Cluster API Provider AWS, and spec.adoptionPolicy is Never', claimed: true }
    : owner;
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

/** A create was asked for, and its result was never yet what the spec wants: it may be made anew. */
const isUnfinished = ({ records, wanted }: Desired): boolean =>
  records.createRequested && records.profileName === wanted?.profile.name && !records.provisioned;

/** In which of the things that EKS cannot change a profile is not what is wanted, in words. */
function differencesOf(desired: Desired, observed: Observed, found: FargateProfile): readonly string[] {
  if (desired.wanted === undefined) return [];
  const { profile, role } = desired.wanted;
  const roleArn = wantedRoleArn(desired, observed, role);
  return [
    ...(sameSelectors(profile.selectors, found.selectors)
      ? []
      : [`selectors are ${JSON.stringify(found.selectors)}, wanted ${JSON.stringify(profile.selectors)}`]),
    ...(sameSubnets(profile.subnets, found.subnets)
      ? []
      : [`subnets are ${found.subnets.join(', ')}, wanted ${profile.subnets.join(', ')}`]),
    ...(found.podExecutionRoleArn === roleArn
      ? []
      : [`the pod execution role is ${found.podExecutionRoleArn}, wanted ${roleArn}`]),
  ];
}

const isEmpty = (tags: Tags): boolean => Object.keys(tags).length === 0;
