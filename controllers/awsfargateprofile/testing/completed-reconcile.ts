import type { AWSFargateProfile, AWSFargateProfileStatus, Condition } from '../../../api/v1beta2/index.ts';
import type { Desired } from '../model/desired-state.ts';
import type { ReconcileEnd, Step } from '../model/change.ts';
import { plan } from '../plan/plan.ts';
import { recordAtEnd } from '../record-around-changes.ts';
import { type Observed, observedAfter } from '../model/observed-state.ts';
import type { CompletedReconcile, Execution } from '../model/result.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { type ObjectParts, NOW, PROFILE, CREATED_AT, aProfile, anObject, asDesired, desiredOf } from './builders.ts';

export const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: CREATED_AT,
  observedGeneration: 1,
});

/** The status of an AWSFargateProfile that is Ready. */
export const READY: AWSFargateProfileStatus = {
  observedGeneration: 1,
  ready: true,
  initialization: { provisioned: true },
  profileName: PROFILE,
  profileARN: aProfile().arn,
  profileStatus: 'ACTIVE',
  conditions: [
    condition('Ready', 'True', 'Ready', 'as before'),
    condition('Available', 'True', 'Active'),
    condition('CredentialsReady', 'True', 'Authenticated'),
    condition('EKSFargateProfileReady', 'True', 'Active'),
    condition('IAMFargateRolesReady', 'True', 'Ready'),
    condition('Reconciling', 'False', 'Idle'),
    condition('Stalled', 'False', 'NotStalled'),
    condition('Paused', 'False', 'NotPaused'),
    condition('Deleting', 'False', 'NotDeleting'),
  ],
};

export interface CompletedReconcileParts {
  readonly object?: AWSFargateProfile;
  readonly end?: ReconcileEnd;
  readonly desired?: Desired | undefined;
  readonly seen?: Observed | undefined;
  readonly steps?: readonly Step[];
  readonly notices?: readonly Reason[];
  readonly kept?: Execution['kept'];
  readonly waited?: number;
  readonly attempts?: number;
}

/**
 * Returns the result of a reconcile, which by default has read nothing from AWS, and whose changes have not touched the
 * record.
 */
export function completedReconcile({
  object = anObject(),
  end = 'inSync',
  desired,
  seen,
  steps = [],
  notices = [],
  kept: keptByExecution = [],
  ...rest
}: CompletedReconcileParts): CompletedReconcile {
  const facts = desired &&
    seen && { desired, observed: seen, after: observedAfter(seen, steps), plan: plan(desired, seen) };
  const kept = [...(facts?.plan.kept ?? []), ...keptByExecution];
  const record = desired && seen && recordAtEnd(desired.record, desired, seen, { end, kept });
  const execution = { end, steps: [...steps], notices: [...notices], kept };
  return {
    object,
    end,
    now: NOW,
    waited: 0,
    attempts: 0,
    ...(facts && { facts }),
    ...(record && { record }),
    execution,
    ...rest,
  };
}

/** Returns the result of a reconcile that has read AWS. By default, Fargate profile and role match the spec. */
export const observedReconcile = (given: CompletedReconcileParts): CompletedReconcile => {
  const { seen = asDesired() } = given;
  return completedReconcile({ desired: desiredOf(given.object, {}, seen), seen, ...given });
};

/** Returns the text `status / reason` of each condition, with the type of the condition as key. */
export const conditionsOf = (status: AWSFargateProfileStatus): Readonly<Record<string, string>> =>
  Object.fromEntries((status.conditions ?? []).map((each) => [each.type, `${each.status} / ${each.reason}`]));

export const MINUTE = 60_000;
export const outage = newReason('AWSUnavailable', { detail: 'no answer', about: 'EKSFargateProfileReady' });
export const unreadable = newReason('WaitingForAPI', { kind: 'Cluster', reason: 'the kind is not served' });
export const sibling = newReason('WaitingForSibling', {
  ahead: 'team-a_api',
  doing: 'being created',
  isUnverified: false,
});
export const failedCreate = newReason('CreateFailed', {
  name: PROFILE,
  issues: [{ code: 'AccessDenied', message: 'no', resourceIds: [] }],
});
export const ready = (parts: ObjectParts = {}): AWSFargateProfile => anObject({ ...parts, status: READY });
