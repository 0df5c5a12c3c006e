import type { RoleArn } from '../../api/names.ts';
import type { FargateProfile } from '../../pkg/cloud/types.ts';
import { roleOwner } from '../../pkg/fargate/ownership.ts';
import type { Tags } from '../../pkg/fargate/tags.ts';
import { exactly, foldCase, tagDrift } from '../../pkg/fargate/tags.ts';
import { sameTrust } from '../../pkg/fargate/trust.ts';
import {
  isMadeAnew,
  isMisplaced,
  isRecorded,
  profileNamed,
  roleNamed,
  wantedRoleArn,
  succeeded,
} from './comparison.ts';
import type { Answer, Desired, FoundRole, ManagedRole, Observed, WantedProfile, WantedRole } from './model.ts';
import { perform, stop } from './model.ts';
import { contradiction, why } from './reasons.ts';

/** The next step towards what is wanted: the role first, since a profile needs it. */
export function establish(desired: Desired, observed: Observed): Answer {
  if (desired.wanted === undefined) return undefined;
  return (
    establishRole(desired, observed, desired.wanted.role) ??
    establishProfile(desired, observed, desired.wanted.profile, wantedRoleArn(desired, observed, desired.wanted.role))
  );
}

/** The next step towards the wanted role; somebody else's is used as it is. */
export function establishRole(desired: Desired, observed: Observed, role: WantedRole): Answer {
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
    ? stop(why('RoleSettingsConflict', { name: role.name, settings: ['rolePath'] }))
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

/** The next step towards the wanted profile. */
export function establishProfile(
  desired: Desired,
  observed: Observed,
  wanted: WantedProfile,
  roleArn: RoleArn,
): Answer {
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
      return stop(why('DeletingProfile', succeeded(desired, found)));
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
export function renewal(desired: Desired, observed: Observed): Answer {
  const found = desired.wanted && roleNamed(observed.roles, desired.wanted.role.name);
  if (found === undefined || !isMadeAnew(desired, found) || observed.authenticationMode === 'CONFIG_MAP')
    return undefined;
  return observed.authenticationMode === undefined
    ? stop(contradiction(found.name))
    : stop(why('RoleRecreated', { name: found.name, arn: found.arn, id: found.id, cluster: desired.owner.eksCluster }));
}

const isEmpty = (tags: Tags): boolean => Object.keys(tags).length === 0;
