import { type LimitExcess, findRoleExcess } from '../../../pkg/fargate/operator-limits.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { findRole } from './compare.ts';

/**
 * Returns the reason to stop if the spec exceeds the operator's limits, which are flags of the manager. The controller
 * then neither creates nor replaces a Fargate profile.
 */
export function findLimitBlocker(desired: Desired, observed: Observed): Reason | undefined {
  const excess = [...desired.excess, ...findForeignRoleExcess(desired, observed)];
  return excess.length > 0 ? newReason('NotAllowedByOperator', { excess, about: 'IAMFargateRolesReady' }) : undefined;
}

/**
 * Returns the reason to report for an object whose profile is as wanted, but whose spec names role policies that the
 * operator's limits do not allow. These policies are not attached. `undefined` if there are none.
 */
export function findLimitNotice(desired: Desired, observed: Observed): Reason | undefined {
  const role = desired.wanted?.role;
  const found = role?.kind === 'managed' ? findRole(observed.roles, role.name) : undefined;
  if (found === undefined || roleOwnership(found, desired.identity).kind !== 'ours') return undefined;
  const excess = desired.excess.filter(
    ({ field, value }) => field.startsWith('spec.roleAdditionalPolicies') && !found.attached.includes(value),
  );
  return excess.length > 0 ? newReason('NotAllowedByOperator', { excess, about: 'IAMFargateRolesReady' }) : undefined;
}

/**
 * If spec.roleName names a role of another owner, returns how the ARN of the role violates the operator's limits. The
 * controller uses such a role unchanged, like the role of spec.roleARN, so the same limits apply.
 */
function findForeignRoleExcess({ wanted, limits, identity }: Desired, observed: Observed): readonly LimitExcess[] {
  if (wanted?.role.kind !== 'managed' || !wanted.role.isNamedInSpec) return [];
  const found = findRole(observed.roles, wanted.role.name);
  return found === undefined || roleOwnership(found, identity).kind === 'ours'
    ? []
    : findRoleExcess(limits, 'spec.roleName', found.arn);
}
