import { formatTimestamp } from 'controller-runtime/env';
import { toPrintableLine } from 'controller-runtime/text';
import { type AWSFargateProfile, RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { type AwsFailure, describeFailure, isNotDispatched, isRefused } from '../../../pkg/cloud/index.ts';
import { type ConditionType, conditionOf } from './condition-list.ts';
import { adviceAfter } from './conditions.ts';
import {
  type Drained,
  type RefusedRead,
  type Step,
  isAbout,
  isAccessEntryMutation,
  isRoleRemoval,
  subjectOf,
} from '../model/change.ts';
import { formatLocation, recordOf } from '../../shared/record.ts';
import { type AwsFacts, type CompletedReconcile, type Announced, noticesOf, reasonOf } from '../model/result.ts';
import { isAddedTagKey } from '../../../pkg/fargate/tags/tag-drift.ts';
import { EKS_CLUSTER_TAG, NAMESPACE_TAG, OWNER_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import { profileNameOf } from '../../shared/profile-names.ts';
import {
  type Reason,
  describeObstacle,
  describeReason,
  isAnnounced,
  keepsReady,
  mayStopBeforeAwsRead,
  messageOf,
  natureOf,
} from '../reasons/reasons.ts';
import { joinParts } from '../../shared/message.ts';
import { isDeleting, isDeletingForGood, isRetained } from '../../shared/object-state.ts';
import { ACTIVE, DELETING } from '../model/profile-status.ts';

/** If Cluster API Provider AWS also records such an event, this one has the same reason and text. */
export interface EventSpec {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export function eventsAfter(reconcile: CompletedReconcile): readonly EventSpec[] {
  return [
    ...eventsOfProfile(reconcile),
    ...eventsOfRefusedReads(reconcile),
    ...eventsOfDrainBegin(reconcile),
    ...eventsForSteps(stepsToReport(reconcile)),
    ...eventsOfKeptRoles(reconcile),
    ...eventsOfProblems(reconcile),
    ...eventsOfAdvice(reconcile),
  ];
}

/** Omits failed changes of an access entry if the event of `RoleRecreated` already contains AWS's refusal. */
function stepsToReport(reconcile: CompletedReconcile): readonly Step[] {
  const steps = reconcile.execution?.steps ?? [];
  return reasonOf(reconcile)?.name === 'RoleRecreated'
    ? steps.filter(({ mutation, outcome }) => outcome.kind !== 'failed' || !isAccessEntryMutation(mutation))
    : steps;
}

/** Omits the steps of a role's creation or deletion, which has one event. */
export function eventsForSteps(steps: readonly Step[]): readonly EventSpec[] {
  const isRoleNew = steps.some(({ mutation }) => mutation.kind === 'createRole');
  const isPartOfEvent = ({ mutation, outcome }: Step): boolean =>
    outcome.kind === 'done' &&
    (mutation.kind === 'attachPolicy' ? isRoleNew : isRoleRemoval(mutation) && mutation.kind !== 'deleteRole');
  return steps.filter((step) => !isPartOfEvent(step)).flatMap(eventOfStep);
}

export const retainedEvent = (object: AWSFargateProfile): EventSpec =>
  normal('RetainedEKSFargateProfile', `${describeRetained(object)}, because spec.deletionPolicy is Retain`);

export const releasedEvent = (object: AWSFargateProfile, reason: Reason): EventSpec =>
  normal(
    'ReleasedWithoutCredentials',
    `The deletion ends without a call to AWS, because the controller has created nothing in AWS for this AWSFargateProfile. If you have restored the object from a backup, look in AWS for Fargate profile "${profileNameOf(object)}" and its role. The controller could not look for them: ${describeReason(reason)}`,
  );

/**
 * The event warns about an object that is deleted without the finalizer. Returns no event if the user wants the profile
 * to stay, or if the deletion in AWS had begun: then the controller has removed the finalizer, or a user has removed it
 * on the advice of a condition.
 */
export function abandonedEvents(object: AWSFargateProfile): readonly EventSpec[] {
  const { in: location, deleting } = recordOf(object);
  if (!isDeletingForGood(object) || location.kind !== 'known' || isRetained(object) || deleting) return [];
  const message =
    "This AWSFargateProfile is being deleted without this controller's finalizer, so the controller deletes nothing in AWS. " +
    `Fargate profile "${profileNameOf(object)}" and its role stay in ${formatLocation(location)} (account/region/EKS cluster). ` +
    'If you do not need them, delete them in AWS.';
  return [warning('AbandonedEKSFargateProfile', message)];
}

export const RESUMED_DELETION: EventSpec = {
  type: 'Normal',
  reason: 'ResumedDeletion',
  message:
    'This AWSFargateProfile was being deleted when clusterctl moved it or a backup was taken, so the controller continues the deletion',
};

export const IGNORED_DELETION: EventSpec = {
  type: 'Warning',
  reason: 'IgnoredDeletion',
  message: `The annotation ${RECORD_ANNOTATION} says that this AWSFargateProfile was being deleted, but AWS or the status shows that the annotation is an old copy, so the controller does not delete the object. To delete it, run kubectl delete`,
};

function describeRetained(object: AWSFargateProfile): string {
  const { profileName, profileStatus } = object.status ?? {};
  if (profileName === undefined) return 'The controller changes nothing in AWS';
  const names = new Set([profileName, ...recordOf(object).profiles.map(({ name }) => name)]);
  const profiles = `EKS fargate profile ${[...names].join(' and ')}`;
  // If Retain is set after the deletion has begun, EKS may already be deleting the profile.
  return profileStatus === undefined || profileStatus === DELETING
    ? `The controller leaves the rest of ${profiles} and of its IAM role in AWS`
    : `The controller leaves ${profiles} and its IAM role in AWS`;
}

function eventsOfDrainBegin(reconcile: CompletedReconcile): readonly EventSpec[] {
  return noticesOf(reconcile).flatMap((reason) => {
    if (reason.name !== 'Draining' || reason.facts.begins === undefined) return [];
    const { name, predecessor, until } = reason.facts;
    const message = `Started evicting the pods of EKS fargate profile ${predecessor}, so that they move to ${name}. The profile is deleted at ${formatTimestamp(until)} at the latest`;
    return [normal('StartedDrain', message)];
  });
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

/**
 * Omits access entries if the reconcile ended with the reason `RoleRecreated`, whose own event already says that the
 * entry is unreadable.
 */
function eventsOfRefusedReads(reconcile: CompletedReconcile): readonly EventSpec[] {
  const isEntryShown = reasonOf(reconcile)?.name === 'RoleRecreated';
  const reads = reconcile.facts?.plan.refusedReads ?? [];
  return reads.filter((read) => read.of !== 'accessEntry' || !isEntryShown).map(eventOfRefusedRead);
}

function eventOfRefusedRead(read: RefusedRead): EventSpec {
  const quote = { by: 'AWS', said: read.refusal } as const;
  switch (read.of) {
    case 'accessEntry':
      return warning(
        'FailedDescribeAccessEntry',
        joinParts({
          problem: `Failed to read the access entry of ${read.principal}`,
          remedy:
            'If new pods cannot join the EKS cluster, recreate the entry with type FARGATE_LINUX, because it probably belongs to a deleted role with this name. To let the controller replace such an entry, allow it to call eks:DescribeCluster, eks:DescribeAccessEntry, eks:DeleteAccessEntry, and eks:CreateAccessEntry',
          quote,
        }),
      );
    case 'deletionProtection':
      return warning(
        'FailedDescribeCluster',
        joinParts({
          problem: `Failed to read whether the deletion protection of EKS cluster "${read.eksCluster}" is on`,
          remedy:
            'Allow the controller to call eks:DescribeCluster, so that it deletes nothing while the protection is on',
          outlook:
            'The controller continues with the deletion, but EKS refuses to delete the cluster if the protection is on',
          quote,
        }),
      );
  }
}

function eventsOfKeptRoles(reconcile: CompletedReconcile): readonly EventSpec[] {
  if (reasonOf(reconcile) !== undefined) return [];
  return (reconcile.execution?.kept ?? []).map(({ name, usedBy }) =>
    normal('KeptIAMRole', `Kept fargate IAM role "${name}", because ${usedBy} uses it`),
  );
}

/** Returns events about what has changed since the object's status and its record annotation were written. */
function eventsOfProfile({ object, facts, record }: CompletedReconcile): readonly EventSpec[] {
  if (facts === undefined) return [];
  const { profileName, profileStatus, predecessors = [] } = object.status ?? {};
  const shown = [...(profileName === undefined ? [] : [{ name: profileName, status: profileStatus }]), ...predecessors];
  const { allProfiles } = facts.plan;
  const isGone = (name: string): boolean => allProfiles?.every((each) => each !== name) === true;
  const known = recordOf(object).profiles;
  const begun = (record?.profiles ?? []).filter(({ name, id, activeSince }) => {
    const before = known.find((each) => each.name === name && (each.id === id || each.id === undefined));
    const wasUnfinished = before !== undefined && before.activeSince === undefined && before.served !== true;
    return activeSince !== undefined && wasUnfinished;
  });
  return [
    ...begun.map(({ name }) => normal('SuccessfulCreateEKSFargateProfile', `Created new EKS fargate profile ${name}`)),
    ...shown.flatMap(({ name, status }) => {
      if (name === undefined || !isGone(name)) return [];
      if (status === DELETING)
        return [normal('SuccessfulDeleteEKSFargateProfile', `Deleted EKS fargate profile ${name}`)];
      return status === ACTIVE && isMissed(facts) ? [eventOfMissingProfile(name, facts.plan)] : [];
    }),
  ];
}

/** Whether a profile of the object that is not in EKS should be there. */
const isMissed = ({ desired, observed }: AwsFacts): boolean =>
  desired.profile !== undefined && observed.cluster === 'there';

/**
 * The status shows that the profile was ACTIVE. It does not prove that another client has deleted the profile: it may be
 * older than a deletion by this controller, after a crash or a restore of etcd. So the event does not say who did it.
 */
function eventOfMissingProfile(name: string, { changes }: AwsFacts['plan']): EventSpec {
  const isRecreated = changes.some(({ mutation: each }) => each.kind === 'createProfile' && each.profile.name === name);
  const message = joinParts({
    problem: `EKS fargate profile ${name} no longer exists, so EKS has stopped its pods`,
    remedy: 'To see who deleted it, look for DeleteFargateProfile in AWS CloudTrail',
    outlook: isRecreated ? 'The controller recreates the profile' : undefined,
  });
  return warning('MissingEKSFargateProfile', message);
}

export const announcedBy = (reconcile: CompletedReconcile): Announced => ({
  problems: problemsOf(reconcile).map((each) => messageOf(each)),
  advice: adviceAfter(reconcile).map(({ message }) => message),
});

function problemsOf(reconcile: CompletedReconcile): readonly Reason[] {
  const reason = reasonOf(reconcile);
  return reason === undefined ? noticesOf(reconcile) : [reason];
}

/**
 * Announces problems that begin or change. The conditions show them as long as they last. The event of a failed change
 * already announces the problem that the change has caused.
 */
function eventsOfProblems(reconcile: CompletedReconcile): readonly EventSpec[] {
  const isFailed = stepsToReport(reconcile).some(({ outcome }) => outcome.kind === 'failed');
  const problems = problemsOf(reconcile).filter(
    (reason) => !isFailed || reconcile.facts?.plan.notices.includes(reason),
  );
  return problems.flatMap((reason) => {
    const nature = natureOf(reason);
    const isProblem = nature === 'human' || nature === 'retry';
    if ((!isProblem && !isAnnounced(reason)) || wasAnnounced(reconcile, reason)) return [];
    return [isProblem ? warningFor(reason) : normal(reason.name, messageOf(reason))];
  });
}

/**
 * Reports whether an event has already announced the reason. After a start of the manager, a condition with the reason
 * of the first problem shows that an earlier process announced all of them.
 */
function wasAnnounced(reconcile: CompletedReconcile, reason: Reason): boolean {
  const { object, end, announced } = reconcile;
  if (announced !== undefined) return announced.problems.includes(messageOf(reason));
  const [first = reason] = problemsOf(reconcile);
  const types = end === 'inSync' ? (['Stalled', 'Ready'] as const) : conditionTypesFor(object, first);
  return types.some((type) => conditionOf(object.status?.conditions, type)?.reason === first.name);
}

/** Announces new or changed advice. After a start of the manager, a Ready object's advice counts as announced. */
function eventsOfAdvice(reconcile: CompletedReconcile): readonly EventSpec[] {
  const { object, announced } = reconcile;
  const wasReady = conditionOf(object.status?.conditions, 'Ready')?.status === 'True';
  return adviceAfter(reconcile)
    .filter(({ message, isInStatus }) =>
      announced === undefined
        ? !wasReady || (isInStatus && object.status?.health === undefined)
        : !announced.advice.includes(message),
    )
    .map(({ event, message }) => warning(event, message));
}

function conditionTypesFor(object: CompletedReconcile['object'], reason: Reason): readonly ConditionType[] {
  if (isDeleting(object)) return ['Deleting'];
  // Reconciling or Stalled shows a reason that leaves Ready unchanged.
  return mayStopBeforeAwsRead(reason) || keepsReady(reason) ? ['Ready', 'Reconciling', 'Stalled'] : ['Ready'];
}

export const warningFor = (reason: Reason): EventSpec => warning(reason.name, messageOf(reason));

const normal = (reason: string, message: string): EventSpec => ({ type: 'Normal', reason, message });
const warning = (reason: string, message: string): EventSpec => ({ type: 'Warning', reason, message });
