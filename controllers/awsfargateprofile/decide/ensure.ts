import type { RoleArn } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/eks/eks-api.ts';
import { roleOwner } from '../../../pkg/fargate/ownership.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-map.ts';
import { tagDrift } from '../../../pkg/fargate/tags/tag-drift.ts';
import { keepCase, foldCase } from '../../../pkg/fargate/tags/tag-map.ts';
import { areTrustPoliciesEqual } from '../../../pkg/fargate/trust-policy.ts';
import { hasOtherPath, isRecorded, findProfile, findRole, wantedRoleArn, replacementFacts } from './compare.ts';
import { prepareAccessEntry } from './change-access-entry.ts';
import type { Desired, ManagedRole, WantedProfile, WantedRole } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import type { Decision } from '../model/decision.ts';
import { mutateWith, stopWith } from '../model/decision.ts';
import { newReason } from '../reasons/reasons.ts';

/**
 * Returns the next step to create or correct the IAM role and then the Fargate profile, which needs the role.
 * `undefined` if both are as wanted.
 */
export function ensure(desired: Desired, observed: Observed): Decision | undefined {
  if (desired.wanted === undefined) return undefined;
  return (
    ensureRole(desired, observed, desired.wanted.role) ??
    ensureProfile(desired, observed, desired.wanted.profile, wantedRoleArn(desired, observed, desired.wanted.role))
  );
}

/**
 * Returns the next step to create or correct the IAM role; `undefined` if there is none. The controller uses a role of
 * another owner without changing it.
 */
export function ensureRole(desired: Desired, observed: Observed, role: WantedRole): Decision | undefined {
  if (role.kind === 'existing') return undefined;
  const found = findRole(observed.roles, role.name);
  if (found === undefined) {
    const { name, path, trust, permissionsBoundary, tags } = role;
    return desired.creationBlocker === undefined
      ? mutateWith({
          kind: 'createRole',
          role: { name, path, trust, tags, ...(permissionsBoundary !== undefined && { permissionsBoundary }) },
        })
      : stopWith(desired.creationBlocker);
  }
  if (roleOwner(found, desired.identity).kind !== 'ours') return undefined;
  // Before this step, `removeUnwanted` has deleted a role whose path differs from `spec.rolePath`, unless another
  // object or profile uses the role. So a role that still has another path is in use.
  return hasOtherPath(role, found)
    ? stopWith(
        newReason('RoleSettingsConflict', {
          name: role.name,
          settings: ['rolePath'],
          isProvisioned: desired.recorded.isProvisioned,
        }),
      )
    : correctRoleDrift(desired, role, found);
}

/**
 * Returns the next step to correct an IAM role of this controller. The owner tag comes first, because only this tag
 * proves that the role belongs to this controller.
 */
function correctRoleDrift(desired: Desired, role: ManagedRole, found: FoundRole): Decision | undefined {
  const { name } = found;
  const { set, remove } = tagDrift(role.tags, found.tags, desired.recorded.tagKeys, foldCase);
  if (!isEmpty(set)) return mutateWith({ kind: 'tagRole', name, tags: set });
  if (!areTrustPoliciesEqual(role.trust, found.trust)) return mutateWith({ kind: 'setTrust', name, trust: role.trust });
  if (role.permissionsBoundary !== undefined && role.permissionsBoundary !== found.permissionsBoundary) {
    return mutateWith({ kind: 'setBoundary', name, policyArn: role.permissionsBoundary });
  }
  if (isBoundarySurplus(desired, role, found)) return mutateWith({ kind: 'removeBoundary', name });
  const missing = role.policies.find((arn) => !found.attached.includes(arn));
  if (missing !== undefined) return mutateWith({ kind: 'attachPolicy', name, policyArn: missing });
  // Only policies that this controller attached are detached. Policies that another client attached stay.
  const attachedByUs = isRecorded(desired, name) ? desired.recorded.attachedPolicies : [];
  const wanted = [...role.policies, ...role.excludedPolicies];
  const unwanted = attachedByUs.find((arn) => !wanted.includes(arn) && found.attached.includes(arn));
  if (unwanted !== undefined) return mutateWith({ kind: 'detachPolicy', name, policyArn: unwanted, retiring: false });
  return remove.length > 0 ? mutateWith({ kind: 'untagRole', name, keys: remove }) : undefined;
}

/**
 * Whether the controller has to remove the permissions boundary of an IAM role: the controller set this boundary, and
 * the spec does not name a boundary any more. A boundary that another client set stays. The boundary of a provisioned
 * object stays too: spec.rolePermissionsBoundary is immutable then, so the field was dropped by a CRD without it and
 * not by a user.
 */
const isBoundarySurplus = ({ recorded }: Desired, role: ManagedRole, found: FoundRole): boolean =>
  role.permissionsBoundary === undefined &&
  found.permissionsBoundary !== undefined &&
  isRecorded({ recorded }, found.name) &&
  recorded.permissionsBoundary === found.permissionsBoundary &&
  !recorded.isProvisioned;

/** Returns the next step to create or correct the Fargate profile; `undefined` if there is none. */
export function ensureProfile(
  desired: Desired,
  observed: Observed,
  wanted: WantedProfile,
  roleArn: RoleArn,
): Decision | undefined {
  const found = findProfile(observed.profiles, wanted.name);
  if (found === undefined) {
    if (desired.creationBlocker !== undefined) return stopWith(desired.creationBlocker);
    const step = prepareAccessEntry(desired, observed);
    if (step !== undefined) return step;
    const { name, subnets, selectors, tags } = wanted;
    return mutateWith({
      kind: 'createProfile',
      profile: { cluster: desired.identity.eksCluster, name, podExecutionRoleArn: roleArn, subnets, selectors, tags },
    });
  }
  switch (found.status) {
    case 'CREATING':
      return stopWith(newReason('Creating', { name: found.name }));
    case 'DELETING':
      return stopWith(newReason('DeletingProfile', replacementFacts(desired, found)));
    case 'CREATE_FAILED':
    case 'DELETE_FAILED':
      return mutateWith({ kind: 'deleteProfile', name: found.name, because: 'failed' });
    case 'ACTIVE':
      return correctProfileDrift(desired, wanted, found);
    default:
      return stopWith(newReason('UnknownProfileStatus', { name: found.name, status: found.status }));
  }
}

function correctProfileDrift(desired: Desired, wanted: WantedProfile, found: FargateProfile): Decision | undefined {
  const { set, remove } = tagDrift(wanted.tags, found.tags, desired.recorded.tagKeys, keepCase);
  if (!isEmpty(set)) return mutateWith({ kind: 'tagProfile', name: found.name, arn: found.arn, tags: set });
  return remove.length > 0
    ? mutateWith({ kind: 'untagProfile', name: found.name, arn: found.arn, keys: remove })
    : undefined;
}

const isEmpty = (tags: Tags): boolean => Object.keys(tags).length === 0;
