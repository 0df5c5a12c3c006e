import { toPrintableLine } from 'controller-runtime/text';
import { type AwsFailure, describeFailure, isNotDispatched, isRefused } from '../../../pkg/cloud/index.ts';
import { isAddedTagKey } from '../../../pkg/fargate/tags/tag-drift.ts';
import { EKS_CLUSTER_TAG, NAMESPACE_TAG, OWNER_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import { joinParts } from '../../shared/message.ts';
import { type Drained, type Step, isAbout, isAccessEntryMutation, isRoleRemoval, subjectOf } from '../model/change.ts';
import { describeObstacle } from '../reasons/reasons.ts';

/** If Cluster API Provider AWS also records such an event, this one has the same reason and text. */
export interface EventSpec {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export const normal = (reason: string, message: string): EventSpec => ({ type: 'Normal', reason, message });
export const warning = (reason: string, message: string): EventSpec => ({ type: 'Warning', reason, message });

/** Omits the steps of a role's creation or deletion, which has one event. */
export function eventsForSteps(steps: readonly Step[]): readonly EventSpec[] {
  const isRoleNew = steps.some(({ mutation }) => mutation.kind === 'createRole');
  const isPartOfEvent = ({ mutation, outcome }: Step): boolean =>
    outcome.kind === 'done' &&
    (mutation.kind === 'attachPolicy' ? isRoleNew : isRoleRemoval(mutation) && mutation.kind !== 'deleteRole');
  return steps.filter((step) => !isPartOfEvent(step)).flatMap(eventOfStep);
}

function eventOfStep({ mutation, outcome, drained }: Step): readonly EventSpec[] {
  const subject = subjectOf(mutation);
  if (outcome.kind === 'failed') {
    // A request that was not sent did not fail in AWS.
    return isNotDispatched(outcome.failure) ? [] : failureOf(mutation, subject, outcome.failure);
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
        ...(drained === undefined ? [] : [eventOfDrainEnd(subject, drained)]),
        normal(
          'InitiatedDeleteEKSFargateProfile',
          `Started deleting EKS fargate profile ${subject}${PURPOSES[mutation.because]}`,
        ),
      ];
    case 'tagProfile':
    case 'untagProfile':
    case 'tagRole':
    case 'untagRole':
      return isAdoption(mutation) ? [eventOfAdoption(mutation)] : eventsOfTags(mutation);
    case 'setTrust':
      return [normal('UpdatedIAMRole', `Updated the trust policy of fargate IAM role "${subject}"`)];
    case 'setBoundary':
    case 'removeBoundary':
      return [normal('UpdatedIAMRole', `Updated the permissions boundary of fargate IAM role "${subject}"`)];
    case 'createAccessEntry':
      return [
        normal(
          'CreatedAccessEntry',
          `Created the access entry of fargate IAM role "${subject}", so that new pods can join the EKS cluster`,
        ),
      ];
    case 'deleteAccessEntry':
      return [
        normal(
          'DeletedAccessEntry',
          `Deleted the access entry of fargate IAM role "${subject}", because it belonged to a deleted role with this name`,
        ),
      ];
    case 'attachPolicy':
      return [normal('UpdatedIAMRole', `Attached policy ${mutation.policyArn} to fargate IAM role "${subject}"`)];
    case 'detachPolicy':
      return [normal('UpdatedIAMRole', `Detached policy ${mutation.policyArn} from fargate IAM role "${subject}"`)];
  }
}

type TagMutation = Extract<Step['mutation'], { kind: 'tagProfile' | 'untagProfile' | 'tagRole' | 'untagRole' }>;

/** Besides the deletion of a role, only an adoption sets the tags by which the controller recognizes its resources. */
function isAdoption(mutation: TagMutation): boolean {
  switch (mutation.kind) {
    case 'tagProfile':
      return Object.hasOwn(mutation.tags, OWNER_TAG);
    case 'tagRole':
      return Object.hasOwn(mutation.tags, EKS_CLUSTER_TAG) || Object.hasOwn(mutation.tags, NAMESPACE_TAG);
    default:
      return false;
  }
}

function eventOfAdoption(mutation: TagMutation): EventSpec {
  const unless = 'unless spec.deletionPolicy is Retain';
  return isAbout(mutation) === 'profile'
    ? normal(
        'AdoptedEKSFargateProfile',
        `Adopted EKS fargate profile ${mutation.name}, which the controller deletes with this object ${unless}`,
      )
    : normal(
        'AdoptedIAMRole',
        `Adopted fargate IAM role "${mutation.name}", which the controller deletes with the last object that uses it ${unless}`,
      );
}

/** Omits the bookkeeping tags, which only this controller reads. */
function eventsOfTags(mutation: TagMutation): readonly EventSpec[] {
  const all = 'tags' in mutation ? Object.keys(mutation.tags) : mutation.keys;
  const keys = all.filter((key) => !isAddedTagKey(key));
  if (keys.length === 0) return [];
  const [reason, resource] =
    isAbout(mutation) === 'profile'
      ? ['UpdatedEKSFargateProfileTags', `EKS fargate profile ${mutation.name}`]
      : ['UpdatedIAMRole', `fargate IAM role "${mutation.name}"`];
  const change = 'tags' in mutation ? 'Updated the tags of' : 'Removed tags from';
  return [normal(reason, `${change} ${resource}: ${keys.join(', ')}`)];
}

const PURPOSES: Readonly<Record<Extract<Step['mutation'], { kind: 'deleteProfile' }>['because'], string>> = {
  unwanted: '',
  failed: ', because EKS reports it as failed. The controller then recreates it.',
  replaced: ', because another profile of this object has replaced it',
  different: ', because it differs from the spec. The controller then recreates it.',
};

const updateTags = (name: string): string => `update the tags of EKS fargate profile ${name}`;
const FAILURES: Partial<
  Record<Step['mutation']['kind'], { readonly reason: string; readonly doing: (name: string) => string }>
> = {
  createRole: { reason: 'FailedIAMRoleCreation', doing: (name) => `create fargate IAM role "${name}"` },
  deleteRole: { reason: 'FailedIAMRoleDeletion', doing: (name) => `delete fargate IAM role "${name}"` },
  createProfile: { reason: 'FailedCreateEKSFargateProfile', doing: (name) => `create EKS fargate profile ${name}` },
  deleteProfile: { reason: 'FailedDeleteEKSFargateProfile', doing: (name) => `delete EKS fargate profile ${name}` },
  tagProfile: { reason: 'FailedUpdateAWS', doing: updateTags },
  untagProfile: { reason: 'FailedUpdateAWS', doing: updateTags },
  createAccessEntry: {
    reason: 'FailedCreateAccessEntry',
    doing: (name) => `create the access entry of fargate IAM role "${name}"`,
  },
  deleteAccessEntry: {
    reason: 'FailedDeleteAccessEntry',
    doing: (name) => `delete the access entry of fargate IAM role "${name}"`,
  },
};

function failureOf(mutation: Step['mutation'], subject: string, failure: AwsFailure): readonly EventSpec[] {
  const { reason, doing } = FAILURES[mutation.kind] ?? {
    reason: 'FailedUpdateAWS',
    doing: (name: string) => `update fargate IAM role "${name}"`,
  };
  const detail = describeFailure(failure);
  const isAnswer = failure.statusCode !== undefined && failure.code !== 'Undecodable';
  const outlook =
    isAccessEntryMutation(mutation) && isRefused(failure)
      ? 'The controller continues without this change.'
      : 'The conditions of this object say what happens next.';
  const quote = { ...(isAnswer && { by: 'AWS' as const }), said: detail };
  return [warning(reason, joinParts({ problem: `Failed to ${doing(subject)}`, outlook, quote }))];
}

function eventOfDrainEnd(predecessor: string, { because, successor, stopped, problem }: Drained): EventSpec {
  const evicted =
    because === 'moved'
      ? `No pod of EKS fargate profile ${predecessor} is left that can move to ${successor}.`
      : because === 'timeout'
        ? `The time to drain EKS fargate profile ${predecessor} is over (spec.updateStrategy.replace.drainTimeout)${stopped === undefined ? '' : `, and ${podsOf(stopped.unmoved)} ${stopped.unmoved === 1 ? 'has' : 'have'} not moved to ${successor}`}.`
        : `No pod of EKS fargate profile ${predecessor} was evicted, because ${describeObstacle(because, predecessor, successor)}.`;
  const rest = (stopped?.count ?? 0) - (stopped?.names.length ?? 0);
  const named = stopped === undefined || stopped.count === 0 ? '' : `: ${stopped.names.join(', ')}`;
  const stops =
    stopped === undefined
      ? `How many pods EKS stops with the profile is not known${problem === undefined ? '' : `: ${problem}`}`
      : `With the profile, EKS stops ${podsOf(stopped.count)}${named}${rest > 0 ? ` and ${rest} more` : ''}`;
  const [reason, isEnd] = because === 'timeout' ? ['DrainTimedOut', false] : ['EndedDrain', because === 'moved'];
  const message = toPrintableLine(`${evicted} ${stops}`);
  return isEnd ? normal(reason, message) : warning(reason, message);
}

const podsOf = (count: number): string => `${count} ${count === 1 ? 'pod' : 'pods'}`;
