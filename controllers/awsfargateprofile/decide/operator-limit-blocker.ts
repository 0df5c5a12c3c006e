import { type LimitExcess, findRoleExcess } from '../../../pkg/fargate/operator-limits.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { findRole } from './compare.ts';

export function findLimitBlocker(desired: Desired, observed: Observed): Reason | undefined {
  const excess = [...desired.excess, ...findForeignRoleExcess(desired, observed)];
  return excess.length > 0 ? newReason('NotAllowedByOperator', { excess, about: 'IAMFargateRolesReady' }) : undefined;
}

/** Role policies that the limits exclude are not attached, which harms no profile that works. */
export function findLimitNotice(desired: Desired, observed: Observed): Reason | undefined {
  const role = desired.wanted?.role;
  const found = role?.kind === 'managed' ? findRole(observed.roles, role.name) : undefined;
  if (found === undefined || roleOwnership(found, desired.identity).kind !== 'ours') return undefined;
  const excess = desired.excess.filter(
    ({ field, value }) => field.startsWith('spec.roleAdditionalPolicies') && !found.attached.includes(value),
  );
  return excess.length > 0 ? newReason('NotAllowedByOperator', { excess, about: 'IAMFargateRolesReady' }) : undefined;
}

/** A role of another owner is used unchanged, like that of spec.roleARN, so the same limits apply. */
function findForeignRoleExcess({ wanted, limits, identity }: Desired, observed: Observed): readonly LimitExcess[] {
  if (wanted?.role.kind !== 'managed' || !wanted.role.isNamedInSpec) return [];
  const found = findRole(observed.roles, wanted.role.name);
  return found === undefined || roleOwnership(found, identity).kind === 'ours'
    ? []
    : findRoleExcess(limits, 'spec.roleName', found.arn);
}
