import type { FargateProfile } from '../../pkg/cloud/types.ts';
import { sameSelectors } from '../../pkg/fargate/selectors.ts';
import { sameSubnets } from '../../pkg/fargate/subnets.ts';
import { ownerOf, wantedRoleArn, succeeded } from './comparison.ts';
import { establish, establishProfile, establishRole, renewal } from './establish.ts';
import type { Decision, Desired, Observed, WantedProfile } from './model.ts';
import { objection, profileObjection, roleObjection } from './objections.ts';
import type { Why } from './reasons.ts';
import { why } from './reasons.ts';
import { retire } from './retire.ts';

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
    if (found.status === 'DELETING') return why('DeletingProfile', succeeded(desired, found));
    if (found.status !== 'CREATING') continue;
    // What is to be retained goes nowhere once it is there.
    return isAsWanted(desired.wanted?.profile, found) || desired.surplus === 'retain'
      ? why('Creating', { name: found.name })
      : why('WaitingForCreate', succeeded(desired, found));
  }
  return undefined;
}

/** Nothing is wanted and a profile of ours is there: it goes first, whatever its roles are. */
export const areRolesForLater = (desired: Desired, profiles: Observed['profiles']): boolean =>
  desired.wanted === undefined &&
  profiles.some(({ found }) => found !== undefined && ownerOf(desired, found).kind === 'ours');

/** As far as the profile itself tells: its role is not looked at yet. */
const isAsWanted = (wanted: WantedProfile | undefined, found: FargateProfile): boolean =>
  wanted?.name === found.name &&
  sameSelectors(wanted.selectors, found.selectors) &&
  sameSubnets(wanted.subnets, found.subnets);
