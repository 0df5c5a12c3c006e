import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { hasOtherPath } from './compare.ts';

export const isUnwantedRole = (desired: Desired, observed: Observed, found: FoundRole): boolean =>
  isOurUnwantedRole(desired, found) && userOf(observed, found) === undefined;

export function isOurUnwantedRole(desired: Desired, found: FoundRole): boolean {
  const role = desired.wanted?.role;
  const isWanted = role !== undefined && isSameRoleName(role.name, found.name) && !hasOtherPath(role, found);
  return !isWanted && found.arn !== desired.broughtRole && roleOwnership(found, desired.identity).kind === 'ours';
}

/**
 * A role stays while any profile uses it, even one of another owner, because its pods stop working without the role.
 */
export function userOf({ profiles }: Pick<Observed, 'profiles'>, found: FoundRole): string | undefined {
  const profile = profiles.find((each) => each.found?.podExecutionRoleArn === found.arn);
  return profile && `Fargate profile "${profile.name}"`;
}
