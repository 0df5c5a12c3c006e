import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import {
  boundaryAddition,
  isAdded,
  policyAddition,
  tagsAfter,
  tagsToCreate,
  tagDrift,
} from '../../../pkg/fargate/tags/tag-drift.ts';
import { foldCase, hasNoTags } from '../../../pkg/fargate/tags/tag-keys.ts';
import { areTrustPoliciesEqual } from '../../../pkg/fargate/trust-policy.ts';
import type { Desired, ManagedRole, WantedRole } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { type Change, type PlanPart, change, optional, settling } from '../model/plan.ts';
import { newReason } from '../reasons/reasons.ts';
import { findProfile, findRole, hasOtherPath, isRecorded } from './compare.ts';

/**
 * Plans the creation or the correction of the IAM role. The controller uses a role of another owner without changing it.
 */
export function* ensureRole(desired: Desired, observed: Observed, role: WantedRole): PlanPart {
  if (role.kind === 'existing') return undefined;
  const found = findRole(observed.roles, role.name);
  if (found === undefined) {
    if (desired.creationBlocker !== undefined) return desired.creationBlocker;
    const { name, path, trust, permissionsBoundary } = role;
    const boundary = permissionsBoundary !== undefined && { permissionsBoundary };
    yield change({ kind: 'createRole', role: { name, path, trust, tags: tagsToCreate(role), ...boundary } });
    for (const policyArn of role.policies) yield change({ kind: 'attachPolicy', name, policyArn });
    return undefined;
  }
  if (roleOwnership(found, desired.identity).kind !== 'ours') return undefined;
  // The plan deletes a role whose path differs from `spec.rolePath`, unless another object or profile uses the role. So
  // a role that still has another path is in use.
  if (hasOtherPath(role, found)) {
    const { isProvisioned } = desired.recorded;
    return newReason('RoleSettingsConflict', { name: role.name, settings: ['rolePath'], isProvisioned });
  }
  yield* roleDrift(desired, observed, role, found);
  return undefined;
}

/**
 * Yields the corrections of a managed role, whoever owns it. Tags come first, because only the tags prove that the role
 * belongs to this controller, and that the policies and the boundary on the role come from it.
 */
export function* roleDrift(
  desired: Desired,
  observed: Observed,
  role: ManagedRole,
  found: FoundRole,
): Iterable<Change> {
  const { name } = found;
  const dispensable = isServing(desired, observed) ? optional : change;
  const additions = [
    ...found.attached.map(policyAddition),
    ...(found.permissionsBoundary === undefined ? [] : [boundaryAddition(found.permissionsBoundary)]),
  ];
  const { tagKeys } = desired.recorded;
  const drift = tagDrift(role, { tags: found.tags, additions }, tagKeys, foldCase);
  const { set, remove } = drift;
  const missing = role.policies.filter((arn) => !found.attached.includes(arn));
  const { permissionsBoundary: policyArn } = role;
  const addsNothing = missing.length === 0 && (policyArn === undefined || policyArn === found.permissionsBoundary);
  // The controller takes off later only what the tags of the role record. So the record comes before the additions.
  if (!hasNoTags(set)) yield (addsNothing ? dispensable : change)({ kind: 'tagRole', name, tags: set });
  if (!areTrustPoliciesEqual(role.trust, found.trust)) yield change({ kind: 'setTrust', name, trust: role.trust });
  if (policyArn !== undefined && policyArn !== found.permissionsBoundary) {
    const mutation = { kind: 'setBoundary', name, policyArn } as const;
    yield role.isBoundaryFromLimits ? dispensable(mutation) : change(mutation);
  }
  const taken = new Set<string>();
  if (isBoundarySurplus(desired, role, found)) {
    yield change({ kind: 'removeBoundary', name });
    taken.add(boundaryAddition(found.permissionsBoundary ?? ''));
  }
  for (const arn of missing) yield change({ kind: 'attachPolicy', name, policyArn: arn });
  // Only policies that this controller attached are detached. Policies that another client attached stay.
  const recorded = isRecorded(desired, name) ? desired.recorded.attachedPolicies : [];
  const wanted = [...role.policies, ...role.excludedPolicies];
  for (const arn of found.attached) {
    if (wanted.includes(arn) || !recorded.includes(arn) || !isAdded(found.tags, policyAddition(arn))) continue;
    yield change({ kind: 'detachPolicy', name, policyArn: arn, retiring: false });
    taken.add(policyAddition(arn));
  }
  if (remove.length > 0) yield dispensable({ kind: 'untagRole', name, keys: remove });
  const after = {
    tags: tagsAfter(drift, found.tags, foldCase),
    additions: additions.filter((each) => !taken.has(each)),
  };
  const left = tagDrift(role, after, tagKeys, foldCase);
  if (!hasNoTags(left.set)) yield settling({ kind: 'tagRole', name, tags: left.set });
  if (left.remove.length > 0) yield settling({ kind: 'untagRole', name, keys: left.remove });
}

/** Whether the profile is ACTIVE, so that its pods already run without missing tags and what the flags require. */
const isServing = ({ wanted }: Desired, { profiles }: Observed): boolean =>
  wanted !== undefined && findProfile(profiles, wanted.profile.name)?.status === 'ACTIVE';

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
