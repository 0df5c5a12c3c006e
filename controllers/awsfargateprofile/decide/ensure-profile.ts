import type { RoleArn } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/eks/eks-api.ts';
import { tagsToCreate } from '../../../pkg/fargate/tags/added-record.ts';
import { tagDrift } from '../../../pkg/fargate/tags/tag-drift.ts';
import { hasNoTags, keepCase } from '../../../pkg/fargate/tags/tag-map.ts';
import type { Decision } from '../model/decision.ts';
import { mutateWith, stopWith } from '../model/decision.ts';
import type { Desired, WantedProfile } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { newReason } from '../reasons/reasons.ts';
import { prepareAccessEntry } from './change-access-entry.ts';
import { findProfile, replacementFacts } from './compare.ts';

/** Returns the next step to create or correct the Fargate profile; `undefined` if there is none. */
export function ensureProfile(
  desired: Desired,
  observed: Observed,
  wanted: WantedProfile,
  roleArn: RoleArn,
): Decision | undefined {
  const found = findProfile(observed.profiles, wanted.name);
  if (found === undefined) {
    if (desired.creationBlocker !== undefined) return stopWith(desired.creationBlocker);
    const step = prepareAccessEntry(desired, observed);
    if (step !== undefined) return step;
    const { name, subnets, selectors } = wanted;
    const tags = tagsToCreate(wanted);
    return mutateWith({
      kind: 'createProfile',
      profile: { cluster: desired.identity.eksCluster, name, podExecutionRoleArn: roleArn, subnets, selectors, tags },
    });
  }
  switch (found.status) {
    case 'CREATING':
      return stopWith(newReason('Creating', { name: found.name }));
    case 'DELETING':
      return stopWith(newReason('DeletingProfile', replacementFacts(desired, found)));
    case 'CREATE_FAILED':
    case 'DELETE_FAILED':
      return mutateWith({ kind: 'deleteProfile', name: found.name, because: 'failed' });
    case 'ACTIVE':
      return correctProfileDrift(desired, wanted, found);
    default:
      return stopWith(newReason('UnknownProfileStatus', { name: found.name, status: found.status }));
  }
}

function correctProfileDrift(desired: Desired, wanted: WantedProfile, found: FargateProfile): Decision | undefined {
  const { set, remove } = tagDrift(wanted, found, desired.recorded.tagKeys, keepCase);
  if (!hasNoTags(set)) return mutateWith({ kind: 'tagProfile', name: found.name, arn: found.arn, tags: set });
  return remove.length > 0
    ? mutateWith({ kind: 'untagProfile', name: found.name, arn: found.arn, keys: remove })
    : undefined;
}
