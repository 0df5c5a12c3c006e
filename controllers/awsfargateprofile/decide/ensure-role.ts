import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { boundaryAddition, isAdded, policyAddition, tagsToCreate } from '../../../pkg/fargate/tags/added-record.ts';
import { tagDrift } from '../../../pkg/fargate/tags/tag-drift.ts';
import { foldCase, hasNoTags } from '../../../pkg/fargate/tags/tag-map.ts';
import { areTrustPoliciesEqual } from '../../../pkg/fargate/trust-policy.ts';
import type { Decision } from '../model/decision.ts';
import { mutateWith, stopWith } from '../model/decision.ts';
import type { Desired, ManagedRole, WantedRole } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { newReason } from '../reasons/reasons.ts';
import { findRole, hasOtherPath, isRecorded } from './compare.ts';

/**
 * Returns the next step to create or correct the IAM role; `undefined` if there is none. The controller uses a role of
 * another owner without changing it.
 */
export function ensureRole(desired: Desired, observed: Observed, role: WantedRole): Decision | undefined {
  if (role.kind === 'existing') return undefined;
  const found = findRole(observed.roles, role.name);
  if (found === undefined) {
    const { name, path, trust, permissionsBoundary } = role;
    const tags = tagsToCreate(role);
    return desired.creationBlocker === undefined
      ? mutateWith({
          kind: 'createRole',
          role: { name, path, trust, tags, ...(permissionsBoundary !== undefined && { permissionsBoundary }) },
        })
      : stopWith(desired.creationBlocker);
  }
  if (roleOwnership(found, desired.identity).kind !== 'ours') return undefined;
  // The function `removeUnwanted`, which has run before, deletes a role whose path differs from `spec.rolePath`, unless
  // another object or profile uses the role. So a role that still has another path is in use.
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
 * Returns the next step to correct an IAM role of this controller. Missing or changed tags come first, because only the
 * tags prove that the role belongs to this controller, and that the policies and the boundary on the role come from it.
 */
function correctRoleDrift(desired: Desired, role: ManagedRole, found: FoundRole): Decision | undefined {
  const { name } = found;
  const additions = [
    ...found.attached.map(policyAddition),
    ...(found.permissionsBoundary === undefined ? [] : [boundaryAddition(found.permissionsBoundary)]),
  ];
  const { set, remove } = tagDrift(role, { tags: found.tags, additions }, desired.recorded.tagKeys, foldCase);
  if (!hasNoTags(set)) return mutateWith({ kind: 'tagRole', name, tags: set });
  if (!areTrustPoliciesEqual(role.trust, found.trust)) return mutateWith({ kind: 'setTrust', name, trust: role.trust });
  if (role.permissionsBoundary !== undefined && role.permissionsBoundary !== found.permissionsBoundary) {
    return mutateWith({ kind: 'setBoundary', name, policyArn: role.permissionsBoundary });
  }
  if (isBoundarySurplus(desired, role, found)) return mutateWith({ kind: 'removeBoundary', name });
  const missing = role.policies.find((arn) => !found.attached.includes(arn));
  if (missing !== undefined) return mutateWith({ kind: 'attachPolicy', name, policyArn: missing });
  // Only policies that this controller attached are detached. Policies that another client attached stay.
  const recorded = isRecorded(desired, name) ? desired.recorded.attachedPolicies : [];
  const wanted = [...role.policies, ...role.excludedPolicies];
  const unwanted = found.attached.find(
    (arn) => !wanted.includes(arn) && recorded.includes(arn) && isAdded(found.tags, policyAddition(arn)),
  );
  if (unwanted !== undefined) return mutateWith({ kind: 'detachPolicy', name, policyArn: unwanted, retiring: false });
  return remove.length > 0 ? mutateWith({ kind: 'untagRole', name, keys: remove }) : undefined;
}

/**
 * Whether the controller has to remove the permissions boundary of an IAM role: the controller set this boundary because
 * the spec named it, and the spec does not name a boundary any more. A boundary that another client set stays.
 *
 * The boundary also stays if the Fargate profile of the object has once been ACTIVE and equal to the spec, because
 * spec.rolePermissionsBoundary is immutable from then on. If the field is missing, no user has removed the field: the
 * API server has dropped it under another CRD, which lacks the field, or the boundary came from the operator's limits.
 */
const isBoundarySurplus = ({ recorded }: Desired, role: ManagedRole, found: FoundRole): boolean =>
  role.permissionsBoundary === undefined &&
  found.permissionsBoundary !== undefined &&
  isRecorded({ recorded }, found.name) &&
  recorded.permissionsBoundary === found.permissionsBoundary &&
  isAdded(found.tags, boundaryAddition(found.permissionsBoundary)) &&
  !recorded.isProvisioned;
