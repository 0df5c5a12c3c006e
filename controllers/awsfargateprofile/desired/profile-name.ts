import type { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { isNamedAfter, nextReplacementName } from '../../../pkg/fargate/names.ts';
import { type Note, servedIn } from '../../shared/note.ts';
import { isReplaceable } from '../../shared/object-state.ts';
import { isFailed, isGoing } from '../model/fit.ts';

export interface ProfileNames {
  readonly base: ProfileName;
  readonly note: Note;
  /** The profiles of this object, and all of the EKS cluster. */
  readonly ours: readonly FargateProfile[];
  readonly all: readonly FargateProfile[];
  readonly fits: (profile: FargateProfile) => boolean;
}

/**
 * The name of the profile that the spec asks for. If a profile of this object fits the spec, the name is that of this
 * profile. Otherwise the controller creates a profile with the name.
 */
export function chooseName(object: AWSFargateProfile, { base, note, ours, all, fits }: ProfileNames): ProfileName {
  const living = ours.filter((each) => !isGoing(each));
  const [chosen] = living
    .filter(fits)
    .toSorted((a, b) => Number(b.status === 'ACTIVE') - Number(a.status === 'ACTIVE') || (a.name < b.name ? -1 : 1));
  if (chosen !== undefined) return chosen.name;
  const named = living.filter(({ name }) => isNamedAfter(name, base));
  if (!isReplaceable(object)) return (servedIn(note, named) ?? named[0])?.name ?? base;
  const isTaken = (name: ProfileName): boolean => all.some((each) => each.name === name && !isOwnFailed(ours, each));
  const isAsGiven = living.length === 0 || (object.spec.profileName !== undefined && named.length === 0);
  if (isAsGiven) return base;
  return nextReplacementName(
    base,
    ours.filter((each) => !isFailed(each)).map(({ name }) => name),
    isTaken,
  );
}

/** Its name is free again as soon as the controller has deleted it. */
const isOwnFailed = (ours: readonly FargateProfile[], profile: FargateProfile): boolean =>
  isFailed(profile) && ours.includes(profile);
