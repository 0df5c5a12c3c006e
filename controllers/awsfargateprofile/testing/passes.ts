import type { AWSFargateProfile, AWSFargateProfileStatus, Condition } from '../../../api/v1beta2/index.ts';
import type { Desired, Step } from '../model.ts';
import type { End, Pass, Seen } from '../pass.ts';
import type { Why } from '../reasons.ts';
import { why } from '../reasons.ts';
import type { ObjectParts } from './builders.ts';
import { NOW, PROFILE, THEN, aProfile, anObject, asWanted, desiredOf } from './builders.ts';

const SETTLED: End = { kind: 'settled' };
export const stop = (reason: Why): End => ({ kind: 'stopped', why: reason });
export const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: THEN,
  observedGeneration: 1,
});

/** The status of an object that has been Ready for long. */
export const READY: AWSFargateProfileStatus = {
  observedGeneration: 1,
  ready: true,
  initialization: { provisioned: true },
  profileName: PROFILE,
  profileARN: aProfile().arn,
  profileStatus: 'ACTIVE',
  conditions: [
    condition('Ready', 'True', 'Ready', 'as before'),
    condition('CredentialsReady', 'True', 'Authenticated'),
    condition('EKSFargateProfileReady', 'True', 'Active'),
    condition('IAMFargateRolesReady', 'True', 'Ready'),
    condition('Reconciling', 'False', 'Idle'),
    condition('Stalled', 'False', 'NotStalled'),
    condition('Paused', 'False', 'NotPaused'),
    condition('Deleting', 'False', 'NotDeleting'),
  ],
};

export interface Given {
  readonly object?: AWSFargateProfile;
  readonly end?: End;
  readonly desired?: Desired | undefined;
  readonly seen?: Seen | undefined;
  readonly trail?: readonly Step[];
  readonly waited?: number;
  readonly attempts?: number;
}

/** A pass that has looked at nothing in AWS, where nothing else is said. */
export function passOf({ object = anObject(), end = SETTLED, desired, seen, ...rest }: Given): Pass {
  return {
    object,
    end,
    trail: [],
    now: NOW,
    waited: 0,
    attempts: 0,
    ...(desired && { desired }),
    ...(seen && { observed: seen }),
    ...rest,
  };
}

/** A pass that has looked at all of AWS, and found it as wanted where nothing else is said. */
export const looked = (given: Given): Pass => passOf({ desired: desiredOf(given.object), seen: asWanted(), ...given });

/** The conditions by type, each as `status / reason`. */
export const conditionsOf = (status: AWSFargateProfileStatus): Readonly<Record<string, string>> =>
  Object.fromEntries((status.conditions ?? []).map((each) => [each.type, `${each.status} / ${each.reason}`]));

export const MINUTE = 60_000;
export const outage = why('AWSUnavailable', { words: 'no answer', about: 'EKSFargateProfileReady' });
export const unreadable = why('WaitingForAPI', { kind: 'Cluster', why: 'the kind is not served' });
export const sibling = why('WaitingForSibling', { ahead: 'team-a_api', doing: 'being created', foreign: false });
export const failedCreate = why('CreateFailed', {
  name: PROFILE,
  issues: [{ code: 'AccessDenied', message: 'no', resourceIds: [] }],
});
/** An object that has been Ready for long. */
export const ready = (parts: ObjectParts = {}): AWSFargateProfile => anObject({ ...parts, status: READY });
