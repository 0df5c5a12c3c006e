import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { formatTimestamp } from '../../../pkg/env/timestamp.ts';
import { findProfile } from '../decide/compare.ts';
import { plan } from '../decide/plan.ts';
import { creatingReason, isSucceeded } from '../decide/replacement.ts';
import type { Desired } from '../model/desired-state.ts';
import { type Mutation, subjectOf } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { conditionOf, mergeConditions } from './conditions/condition-list.ts';
import { conditionsAfter } from './conditions/conditions.ts';

/**
 * The status with which `Ready` becomes False before a change that ends or interrupts the work of the profile; `undefined`
 * if no such change comes, or if `Ready` is not True.
 */
export function statusBefore(
  object: AWSFargateProfile,
  { desired, observed, mutation }: { desired: Desired; observed: Observed; mutation: Mutation },
  now: Ms,
): AWSFargateProfileStatus | undefined {
  const { status = {} } = object;
  if (conditionOf(status.conditions, 'Ready')?.status !== 'True') return undefined;
  const reason = endOfReady(desired, observed, mutation);
  if (reason === undefined) return undefined;
  const facts = { desired, observed, plan: plan(desired, observed) };
  const updates = conditionsAfter({ object, end: reason, facts, now, waited: 0, attempts: 0 });
  return {
    ...status,
    observedGeneration: object.metadata.generation ?? 0,
    ready: false,
    conditions: mergeConditions(status.conditions ?? [], updates, formatTimestamp(now)),
  };
}

function endOfReady(desired: Desired, observed: Observed, mutation: Mutation): Reason | undefined {
  if (mutation.kind === 'deleteProfile')
    return isSucceeded(desired, observed) ? undefined : newReason('DeletingProfile', { name: mutation.name });
  const { wanted, identity } = desired;
  if (wanted === undefined) return undefined;
  const { name } = wanted.profile;
  if (findProfile(observed.profiles, name)?.status !== 'ACTIVE') return creatingReason(desired, observed, name);
  return RESTORING_ROLE.includes(mutation.kind) && subjectOf(mutation) === wanted.role.name
    ? newReason('RestoringRole', { name: wanted.role.name, cluster: identity.eksCluster })
    : undefined;
}

/** Until these changes are complete, new pods cannot start on an ACTIVE profile. */
const RESTORING_ROLE: readonly Mutation['kind'][] = ['createRole', 'deleteAccessEntry', 'createAccessEntry'];
