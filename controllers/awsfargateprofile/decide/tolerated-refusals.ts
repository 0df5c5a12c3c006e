import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import type { Ownership } from '../../../pkg/fargate/ownership.ts';
import { profileOwnership, roleOwnership } from '../../../pkg/fargate/ownership.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import { findProfile, findRole } from './compare.ts';
import { withoutBoundaryFromLimits } from './operator-limit-blocker.ts';
import { withRestoredProfileTags, withRestoredRoleTags } from './stripped-tags.ts';

export interface View {
  readonly desired: Desired;
  readonly observed: Observed;
}

/**
 * Returns the desired and the observed state in which this change is not needed. `undefined` if the reconcile must not
 * continue without the change. It may continue if the Fargate profile is ACTIVE and works without the change: a
 * permissions boundary that only the operator's limits require, and tags other than those by which the controller adopts
 * a profile or role.
 */
export function withoutChange({ desired, observed }: View, mutation: Mutation): View | undefined {
  const { wanted, identity } = desired;
  const profile = wanted && findProfile(observed.profiles, wanted.profile.name);
  if (wanted === undefined || profile?.status !== 'ACTIVE') return undefined;
  switch (mutation.kind) {
    case 'setBoundary': {
      const relaxed = withoutBoundaryFromLimits(desired, observed);
      return relaxed === desired ? undefined : { desired: relaxed, observed };
    }
    case 'tagProfile':
    case 'untagProfile':
      return mutation.name === profile.name && isStamped(profileOwnership(profile, identity))
        ? { desired, observed: withRestoredProfileTags(desired, observed) }
        : undefined;
    case 'tagRole':
    case 'untagRole': {
      const role = isSameRoleName(mutation.name, wanted.role.name)
        ? findRole(observed.roles, mutation.name)
        : undefined;
      return role !== undefined && isStamped(roleOwnership(role, identity))
        ? { desired, observed: withRestoredRoleTags(desired, observed) }
        : undefined;
    }
    default:
      return undefined;
  }
}

const isStamped = (ownership: Ownership): boolean => ownership.kind === 'ours' && ownership.stamped;
