import type { RoleArn } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { tagsAfter, tagsToCreate, tagDrift } from '../../../pkg/fargate/tags/tag-drift.ts';
import { hasNoTags, keepCase } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { Desired, DesiredProfile } from '../model/desired-state.ts';
import { type Observed, findProfile } from '../model/observed-state.ts';
import { type Change, type PlanPart, change, optional, ifAllMade } from '../model/change.ts';
import { newReason } from '../reasons/reasons.ts';
import { prepareAccessEntry } from './access-entry.ts';
import { creatingReason } from './replace.ts';
import { ACTIVE } from '../model/profile-status.ts';

export function* ensureProfile(
  desired: Desired,
  observed: Observed,
  profile: DesiredProfile,
  roleArn: RoleArn,
): PlanPart {
  const found = findProfile(observed.profiles, profile.name);
  if (found === undefined) {
    if (desired.creationBlocker !== undefined) return desired.creationBlocker;
    yield* prepareAccessEntry(desired, observed, roleArn);
    const { name, subnets, selectors } = profile;
    const cluster = desired.identity.eksCluster;
    const tags = tagsToCreate(profile);
    const created = { cluster, name, podExecutionRoleArn: roleArn, subnets, selectors, tags };
    yield change({ kind: 'createProfile', profile: created });
    return creatingReason(desired, observed, name);
  }
  switch (found.status) {
    case ACTIVE:
      yield* profileDrift(profile, found);
      return undefined;
    default:
      return newReason('UnknownProfileStatus', { name: found.name, status: found.status });
  }
}

export function* profileDrift(profile: DesiredProfile, found: FargateProfile): Iterable<Change> {
  const { name, arn } = found;
  const drift = tagDrift(profile, found, keepCase);
  const left = tagDrift(profile, { tags: tagsAfter(drift, found.tags, keepCase) }, keepCase);
  for (const [{ set, remove }, toChange] of [
    [drift, optional],
    [left, ifAllMade],
  ] as const) {
    if (!hasNoTags(set)) yield toChange({ kind: 'tagProfile', name, arn, tags: set });
    if (remove.length > 0) yield toChange({ kind: 'untagProfile', name, arn, keys: remove });
  }
}
