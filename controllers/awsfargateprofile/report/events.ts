import { formatTimestamp } from 'controller-runtime/env';
import { type AWSFargateProfile, RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { type ConditionType, conditionOf } from './condition-list.ts';
import { adviceAfter } from './conditions.ts';
import { type EventSpec, eventsForSteps, normal, warning } from './step-events.ts';
import { type RefusedRead, type Step, isAccessEntryMutation } from '../model/change.ts';
import { formatLocation, recordOf } from '../../shared/record.ts';
import { type AwsFacts, type CompletedReconcile, type Announced, noticesOf, reasonOf } from '../model/result.ts';
import { profileNameOf } from '../../shared/profile-names.ts';
import {
  type Reason,
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
  const { depth, profiles } = facts.observed;
  const isGone = (name: string): boolean => depth === 'survey' && !profiles.some((each) => each.name === name);
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
 * The event is not a Warning, because no later reconcile repeats it if the manager crashes before it is recorded.
 */
function eventOfMissingProfile(name: string, { changes }: AwsFacts['plan']): EventSpec {
  const isRecreated = changes.some(({ mutation: each }) => each.kind === 'createProfile' && each.profile.name === name);
  const message = joinParts({
    problem: `EKS fargate profile ${name} no longer exists, so EKS has stopped its pods`,
    remedy: 'To see who deleted it, look for DeleteFargateProfile in AWS CloudTrail',
    outlook: isRecreated ? 'The controller recreates the profile' : undefined,
  });
  return normal('MissingEKSFargateProfile', message);
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
