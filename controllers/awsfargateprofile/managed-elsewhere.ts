import type { Ms } from 'controller-runtime/env';
import { cut, MAX_FACT } from 'controller-runtime/text';
import { type AWSFargateProfile, TAKE_OVER_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../pkg/cloud/index.ts';
import { isNamedAfter } from '../../pkg/fargate/names.ts';
import { isReplaceable } from '../shared/object-state.ts';
import { profileIdOf } from '../shared/record.ts';
import { type Looking, mayFitSpec } from './model/observed-state.ts';
import { isFailed } from './model/profile-status.ts';

// A profile with this object's owner tag may belong to another copy of the object, in another management cluster or
// before a backup was restored. The controller asks the user about such a profile (ManagedElsewhere).

/**
 * If another copy of this object created a profile at most this long before this object's own profile, the survey
 * before this object's create request may not have shown it. EKS shows new profiles up to a minute late, and throttling
 * can delay the create request.
 */
const UNSEEN_BEFORE_CREATE: Ms = 5 * 60_000;

/** Returns the IDs of profiles that a user has declared to be this object's. */
const takenOver = ({ metadata }: AWSFargateProfile): readonly string[] =>
  cut(metadata.annotations?.[TAKE_OVER_ANNOTATION] ?? '', MAX_FACT)
    .split(',')
    .map((id) => id.trim());

/**
 * Returns the `unrecorded` profiles that another copy of this object has created, or to which another client has added
 * the owner tag. `recorded` are the object's other profiles. `isLost` says that the object has recently lost its record.
 */
export function findManagedElsewhere(
  looking: Looking,
  { recorded, unrecorded }: Readonly<Record<'recorded' | 'unrecorded', readonly FargateProfile[]>>,
  isLost: boolean,
): readonly FargateProfile[] {
  const { object, identity, isLeaving } = looking;
  const { last } = looking.record;
  const takeOver = takenOver(object);
  const fits = (profile: FargateProfile): boolean => mayFitSpec(looking, profile);
  // While the record counts as lost, a young profile may be the result of a request in the lost record.
  const isOfAnotherCopy = (profile: FargateProfile): boolean =>
    !isLost &&
    last !== undefined &&
    profile.createdAt !== undefined &&
    profile.createdAt >= last - UNSEEN_BEFORE_CREATE &&
    !fits(profile);
  // A deletion expects all profiles of the object, and so does Replace, because spec.profileName may have changed.
  const isExpected = ({ name }: FargateProfile): boolean =>
    isLeaving || isReplaceable(object) || isNamedAfter(name, identity.profileName);
  // This object has a profile already, and would not have chosen this name.
  const isTaggedByOthers = (profile: FargateProfile): boolean =>
    !isExpected(profile) &&
    !isFailed(profile) &&
    (recorded.length > 0 || unrecorded.some((other) => other !== profile && fits(other)));
  return unrecorded.filter(
    (profile) =>
      !takeOver.includes(profileIdOf(profile.arn) ?? '') && (isOfAnotherCopy(profile) || isTaggedByOthers(profile)),
  );
}
