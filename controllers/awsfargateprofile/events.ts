import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { describeFailure, isNotDispatched } from '../../pkg/cloud/errors.ts';
import type { ConditionType } from './conditions.ts';
import { conditionOf } from './conditions.ts';
import { ownerOf, profileNamed } from './comparison.ts';
import type { Step } from './model.ts';
import { subjectOf } from './model.ts';
import type { Why } from './reasons.ts';
import { mayHideAws, messageOf, natureOf } from './reasons.ts';
import type { Pass } from './pass.ts';
import { isDeleting } from '../standing.ts';

/** What is told of an object as it happens; reasons and words as Cluster API Provider AWS has them, where it has any. */
export interface EventSpec {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The events of a pass, in the order in which it came about: what has ended, what was done, what newly needs a human. */
export function eventsOf(pass: Pass): readonly EventSpec[] {
  return [...eventsOfProfile(pass), ...eventsOfSteps(pass), ...eventOfTrouble(pass)];
}

/** What a pass did in AWS, or tried to. */
export const eventsOfSteps = ({ trail }: Pick<Pass, 'trail'>): readonly EventSpec[] => trail.flatMap(eventOfStep);

/** The object is let go with everything left in AWS as it is. */
export const retained = ({ status }: AWSFargateProfile): EventSpec =>
  normal('RetainedEKSFargateProfile', `${wordsOfRetention(status)}: deletionPolicy is Retain`);

function wordsOfRetention({ profileName, profileStatus }: AWSFargateProfileStatus = {}): string {
  if (profileName === undefined) return 'Nothing was changed in AWS';
  // Retain may have come after the deletion had begun.
  return profileStatus === undefined || profileStatus === 'DELETING'
    ? `What is left of EKS fargate profile ${profileName} and its role stays in AWS`
    : `Left EKS fargate profile ${profileName} and its role in AWS`;
}

function eventOfStep({ mutation, outcome }: Step): readonly EventSpec[] {
  const subject = subjectOf(mutation);
  if (outcome.kind === 'failed') {
    // What was not sent is sent in a moment: no news, and no failure of AWS.
    return isNotDispatched(outcome.failure) ? [] : failureOf(mutation.kind, subject, describeFailure(outcome.failure));
  }
  if (outcome.kind !== 'done') return [];
  switch (mutation.kind) {
    case 'createRole':
      return [normal('SuccessfulIAMRoleCreation', `Created fargate IAM role "${subject}"`)];
    case 'deleteRole':
      return [normal('SuccessfulIAMRoleDeletion', `Deleted fargate IAM role "${subject}"`)];
    case 'createProfile':
      return [normal('InitiatedCreateEKSFargateProfile', `Started creating EKS fargate profile ${subject}`)];
    case 'deleteProfile':
      return [
        normal(
          'InitiatedDeleteEKSFargateProfile',
          `Started deleting EKS fargate profile ${subject}${PURPOSES[mutation.because]}`,
        ),
      ];
    case 'tagProfile':
    case 'untagProfile':
      return [normal('UpdatedEKSFargateProfileTags', `Updated the tags of EKS fargate profile ${subject}`)];
    case 'setTrust':
      return [normal('UpdatedIAMRole', `Updated the trust policy of fargate IAM role "${subject}"`)];
    case 'setBoundary':
    case 'removeBoundary':
      return [normal('UpdatedIAMRole', `Updated the permissions boundary of fargate IAM role "${subject}"`)];
    case 'attachPolicy':
    case 'detachPolicy':
    case 'tagRole':
    case 'untagRole':
      // Part of every creation and deletion: no news.
      return [];
  }
}

/** Why a profile is deleted whose object is not. */
const PURPOSES: Readonly<Record<Extract<Step['mutation'], { kind: 'deleteProfile' }>['because'], string>> = {
  unwanted: '',
  failed: ', to create it anew after it failed',
  different: ', to create it anew as the spec wants it',
};

const FAILURES: Partial<
  Record<Step['mutation']['kind'], { readonly reason: string; readonly doing: (name: string) => string }>
> = {
  createRole: { reason: 'FailedIAMRoleCreation', doing: (name) => `create fargate IAM role "${name}"` },
  deleteRole: { reason: 'FailedIAMRoleDeletion', doing: (name) => `delete fargate IAM role "${name}"` },
  createProfile: { reason: 'FailedCreateEKSFargateProfile', doing: (name) => `create EKS fargate profile ${name}` },
  deleteProfile: { reason: 'FailedDeleteEKSFargateProfile', doing: (name) => `delete EKS fargate profile ${name}` },
};

function failureOf(kind: Step['mutation']['kind'], subject: string, words: string): readonly EventSpec[] {
  const { reason, doing } = FAILURES[kind] ?? {
    reason: 'FailedUpdateAWS',
    doing: (name: string) => `update "${name}"`,
  };
  return [warning(reason, `Failed to ${doing(subject)}: ${words}`)];
}

/** A creation or deletion that EKS has brought to its end since the last pass. */
function eventsOfProfile({ object, desired, observed }: Pass): readonly EventSpec[] {
  const { profileName, profileStatus } = object.status ?? {};
  if (desired === undefined || observed === undefined || profileName === undefined) return [];
  const found = profileNamed(observed.profiles, profileName);
  if (found !== undefined && ownerOf(desired, found).kind !== 'ours') return [];
  const now = found?.status;
  // EKS may have finished before it was looked at for the first time.
  const wasAskedFor = object.status?.createRequestedAt !== undefined;
  if (now === 'ACTIVE' && wasAskedFor && (profileStatus === 'CREATING' || profileStatus === undefined)) {
    return [normal('SuccessfulCreateEKSFargateProfile', `Created new EKS fargate profile ${profileName}`)];
  }
  return now === undefined && profileStatus === 'DELETING'
    ? [normal('SuccessfulDeleteEKSFargateProfile', `Deleted EKS fargate profile ${profileName}`)]
    : [];
}

/** What needs a human is told when it begins, once; the conditions say it for as long as it lasts. */
function eventOfTrouble({ object, end, trail }: Pass): readonly EventSpec[] {
  if (end.kind !== 'stopped' || trail.some(({ outcome }) => outcome.kind === 'failed')) return [];
  const nature = natureOf(end.why);
  if (nature !== 'human' && nature !== 'retry') return [];
  const message = messageOf(end.why);
  const isShown = tellersOf(object, end.why).some(
    (type) => conditionOf(object.status?.conditions, type)?.message === message,
  );
  return isShown ? [] : [eventOf(end.why)];
}

/** The conditions that say it for as long as it lasts. */
function tellersOf(object: Pass['object'], reason: Why): readonly ConditionType[] {
  if (isDeleting(object)) return ['Deleting'];
  // What may leave Ready as it is says it in Reconciling, then in Stalled.
  return mayHideAws(reason) ? ['Ready', 'Reconciling', 'Stalled'] : ['Ready'];
}

/** What a human has to see to. */
export const eventOf = (reason: Why): EventSpec => warning(reason.reason, messageOf(reason));

const normal = (reason: string, message: string): EventSpec => ({ type: 'Normal', reason, message });
const warning = (reason: string, message: string): EventSpec => ({ type: 'Warning', reason, message });
