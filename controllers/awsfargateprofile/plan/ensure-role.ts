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
import { isRoleTaggedOurs } from '../model/owner.ts';
import type { Desired, ManagedRole, DesiredRole } from '../model/desired-state.ts';
import { type FoundRole, type Observed, findProfile, findRole } from '../model/observed-state.ts';
import { type Change, type PlanPart, change, optional, ifAllMade } from '../model/change.ts';
import { newReason } from '../reasons/reasons.ts';
import { hasOtherPath } from './compare.ts';
import { ACTIVE } from '../model/profile-status.ts';

export function* ensureRole(desired: Desired, observed: Observed, role: DesiredRole): PlanPart {
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
  if (!isRoleTaggedOurs(desired, found)) return undefined;
  // The plan deletes a role with a different path, unless something else uses it. So this role is in use.
  if (hasOtherPath(role, found)) {
    const { isSpecFixed } = desired;
    const { path } = found;
    return newReason('RoleSettingsConflict', { name: role.name, path, settings: ['rolePath'], isSpecFixed });
  }
  yield* roleDrift(desired, observed, role, found);
  return undefined;
}

/**
 * Yields the changes that make the role match the spec. Tags come first, because only tags prove that the role, its
 * policies, and its boundary come from this controller.
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
  const drift = tagDrift(role, { tags: found.tags, additions }, foldCase);
  const { set, remove } = drift;
  const missing = role.policies.filter((arn) => !found.attached.includes(arn));
  const { permissionsBoundary: policyArn } = role;
  const addsNothing = missing.length === 0 && (policyArn === undefined || policyArn === found.permissionsBoundary);
  if (!hasNoTags(set)) yield (addsNothing ? dispensable : change)({ kind: 'tagRole', name, tags: set });
  if (!areTrustPoliciesEqual(role.trust, found.trust)) yield change({ kind: 'setTrust', name, trust: role.trust });
  if (policyArn !== undefined && policyArn !== found.permissionsBoundary) {
    const mutation = { kind: 'setBoundary', name, policyArn } as const;
    yield role.isBoundaryFromLimits ? dispensable(mutation) : change(mutation);
  }
  const taken = new Set<string>();
  if (isBoundaryUnwanted(desired, role, found)) {
    yield change({ kind: 'removeBoundary', name });
    taken.add(boundaryAddition(found.permissionsBoundary ?? ''));
  }
  for (const arn of missing) yield change({ kind: 'attachPolicy', name, policyArn: arn });
  // Only the role's tags prove which policies the controller attached, so other clients' policies are kept.
  const desiredPolicies = [...role.policies, ...role.policiesInSpec];
  for (const arn of found.attached) {
    if (desiredPolicies.includes(arn) || !isAdded(found.tags, policyAddition(arn))) continue;
    yield change({ kind: 'detachPolicy', name, policyArn: arn, retiring: false });
    taken.add(policyAddition(arn));
  }
  if (remove.length > 0) yield dispensable({ kind: 'untagRole', name, keys: remove });
  const after = {
    tags: tagsAfter(drift, found.tags, foldCase),
    additions: additions.filter((each) => !taken.has(each)),
  };
  const left = tagDrift(role, after, foldCase);
  if (!hasNoTags(left.set)) yield ifAllMade({ kind: 'tagRole', name, tags: left.set });
  if (left.remove.length > 0) yield ifAllMade({ kind: 'untagRole', name, keys: left.remove });
}

/**
 * Whether pods already run on the profile. If so, these changes are optional: tags that record no new policy or
 * boundary, and a boundary that only the operator's limits require.
 */
const isServing = ({ profile }: Desired, { profiles }: Observed): boolean =>
  profile !== undefined && findProfile(profiles, profile.name)?.status === ACTIVE;

/**
 * A boundary is removed only if the controller set it for the spec. After provisioning, spec.rolePermissionsBoundary is
 * immutable: if it is missing then, the API server has dropped it under another provider's CRD, or the boundary came
 * from the operator's limits. So the boundary is kept. Such a CRD drops `status.initialization` too, so the record also
 * shows that a profile has served.
 */
const isBoundaryUnwanted = ({ isProvisioned, record }: Desired, role: ManagedRole, found: FoundRole): boolean =>
  role.permissionsBoundary === undefined &&
  found.permissionsBoundary !== undefined &&
  isAdded(found.tags, boundaryAddition(found.permissionsBoundary)) &&
  !isProvisioned &&
  !record.profiles.some(({ served }) => served === true);
