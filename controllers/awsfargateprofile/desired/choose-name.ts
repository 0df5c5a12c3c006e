import type { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { isNamedAfter, nextReplacementName } from '../../../pkg/fargate/names.ts';
import { isReplaceable } from '../../shared/object-state.ts';
import { type ProfileRecord, servedIn } from '../../shared/record.ts';
import { ACTIVE, isFailed, isGoing } from '../model/profile-status.ts';

export interface ProfileNames {
  readonly base: ProfileName;
  readonly record: ProfileRecord;
  /** `ours` are this object's profiles, and `all` are the EKS cluster's. */
  readonly ours: readonly FargateProfile[];
  readonly all: readonly FargateProfile[];
  readonly fits: (profile: FargateProfile) => boolean;
}

/**
 * If one of this object's profiles fits the spec, returns its name. Otherwise returns the name of the profile to create
 * or, if the spec does not allow a replacement, of the profile that differs.
 */
export function chooseName(object: AWSFargateProfile, { base, record, ours, all, fits }: ProfileNames): ProfileName {
  const living = ours.filter((each) => !isGoing(each));
  const [chosen] = living
    .filter(fits)
    .toSorted((a, b) => Number(b.status === ACTIVE) - Number(a.status === ACTIVE) || (a.name < b.name ? -1 : 1));
  if (chosen !== undefined) return chosen.name;
  const named = living.filter(({ name }) => isNamedAfter(name, base));
  if (!isReplaceable(object)) return (servedIn(record, named) ?? named[0])?.name ?? base;
  const isTaken = (name: ProfileName): boolean => all.some((each) => each.name === name && !isOwnFailed(ours, each));
  const isAsGiven = living.length === 0 || (object.spec.profileName !== undefined && named.length === 0);
  if (isAsGiven) return base;
  return nextReplacementName(
    base,
    ours.filter((each) => !isFailed(each)).map(({ name }) => name),
    isTaken,
  );
}

/** This object's failed profiles do not block their names, because the controller deletes these profiles. */
const isOwnFailed = (ours: readonly FargateProfile[], profile: FargateProfile): boolean =>
  isFailed(profile) && ours.includes(profile);
