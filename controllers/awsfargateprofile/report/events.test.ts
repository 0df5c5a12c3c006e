import { expect } from 'chai';
import {
  type AWSFargateProfile,
  type AWSFargateProfileStatus,
  DELETE_FOR_MOVE_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import { ProfileName } from '../../../api/names.ts';
import type { ProfileRecord, RecordedProfile } from '../../shared/record.ts';
import { abandonedEvents, eventsAfter, announcedBy, retainedEvent } from './events.ts';
import { statusAfter } from './status.ts';
import type { DesiredInputs } from '../desired/desired.ts';
import type { Observed } from '../model/observed-state.ts';
import { isDeleting } from '../../shared/object-state.ts';
import type { Mutation, MutationOutcome, Step } from '../model/change.ts';
import { type Reason, type ReportedIssue, messageOf, newReason } from '../reasons/reasons.ts';
import {
  CREATION_FACTS,
  HERE,
  FULL_RECORD,
  NOW,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_ID,
  PROFILE_TAGS,
  ROLE,
  ROLE_TAGS,
  CREATED_AT,
  aDeletedObject,
  aFailure,
  aProfile,
  aRole,
  anObject,
  asDesired,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import {
  ATTACH_POLICY,
  CREATE_PROFILE,
  CREATE_ROLE,
  DELETE_ACCESS_ENTRY,
  DELETE_PROFILE,
  DELETE_ROLE,
  SET_TRUST,
  STRIP_ROLE,
} from '../testing/mutations.ts';
import { READY, completedReconcile, observedReconcile, ready } from '../testing/completed-reconcile.ts';
import { FOREIGN_TAGS } from '../testing/fixtures.ts';
import { REASON_EXAMPLES } from '../testing/reason-examples.ts';
import type { CompletedReconcile } from '../model/result.ts';
import { ADDED_TAG, EKS_CLUSTER_TAG, NAMESPACE_TAG, type Tags } from '../../../pkg/fargate/tags/tag-keys.ts';

const ARN = aProfile().arn;
const DONE: MutationOutcome = { kind: 'done' };

interface Given {
  readonly object?: AWSFargateProfile;
  readonly steps?: readonly Step[];
  readonly reason?: Reason;
  readonly status?: string | undefined;
  readonly tags?: Tags;
  readonly depth?: 'glance' | 'survey';
}

/**
 * Returns the events of a reconcile that found the Fargate profile with this status, or no profile if `status` is
 * absent.
 */
function eventsOf({
  object = anObject(),
  steps = [],
  reason,
  status,
  tags = PROFILE_TAGS,
  depth = 'survey',
}: Given): readonly string[] {
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  const found = observed({ profile: status === undefined ? undefined : aProfile({ status, tags }) });
  const seen = { ...found, depth };
  const desired = isGoing ? desiredOfDeletion(object, {}, seen) : desiredOf(object, {}, seen);
  const reconcile = completedReconcile({ object, desired, seen, end: reason ?? 'inSync', steps });
  return eventsAfter(reconcile).map(({ type, reason: word, message }) => `${type} ${word}: ${message}`);
}

const did = (mutation: Mutation, outcome: MutationOutcome = DONE): readonly string[] =>
  eventsOf({ steps: [{ mutation, outcome }] });

const INITIATED = `Normal InitiatedDeleteEKSFargateProfile: Started deleting EKS fargate profile ${PROFILE}`;
const AGAIN = 'The controller then recreates it.';
const CHANGED_TAGS = { 'cost-center': 'x', [ADDED_TAG]: 'x', team: 'x' };
const OF_PROFILE = `EKS fargate profile ${PROFILE}`;
const OF_ROLE = `fargate IAM role "${ROLE}"`;
const UPDATED_TAGS = 'Normal UpdatedEKSFargateProfileTags: Updated the tags of';
const REMOVED_TAGS = 'Normal UpdatedEKSFargateProfileTags: Removed tags from';
const UPDATED_ROLE = 'Normal UpdatedIAMRole';
const BOUNDARY = `${UPDATED_ROLE}: Updated the permissions boundary of ${OF_ROLE}`;
const RETAIN = 'unless spec.deletionPolicy is Retain';
const ADOPTED_ROLE = `Normal AdoptedIAMRole: Adopted fargate IAM role "${ROLE}", which the controller deletes with the last object that uses it ${RETAIN}`;

describe('the events of a completed mutation', () => {
  const rows: readonly (readonly [mutation: Mutation, event: string | undefined])[] = [
    [CREATE_ROLE, `Normal SuccessfulIAMRoleCreation: Created fargate IAM role "${ROLE}"`],
    [DELETE_ROLE, `Normal SuccessfulIAMRoleDeletion: Deleted fargate IAM role "${ROLE}"`],
    [CREATE_PROFILE, `Normal InitiatedCreateEKSFargateProfile: Started creating EKS fargate profile ${PROFILE}`],
    [DELETE_PROFILE, INITIATED],
    [{ ...DELETE_PROFILE, because: 'failed' }, `${INITIATED}, because EKS reports it as failed. ${AGAIN}`],
    [{ ...DELETE_PROFILE, because: 'different' }, `${INITIATED}, because it differs from the spec. ${AGAIN}`],
    [
      { kind: 'tagProfile', name: PROFILE, arn: ARN, tags: CHANGED_TAGS },
      `${UPDATED_TAGS} ${OF_PROFILE}: cost-center, team`,
    ],
    [{ kind: 'tagProfile', name: PROFILE, arn: ARN, tags: { [ADDED_TAG]: 'x' } }, undefined],
    [
      { kind: 'tagProfile', name: PROFILE, arn: ARN, tags: PROFILE_TAGS },
      `Normal AdoptedEKSFargateProfile: Adopted EKS fargate profile ${PROFILE}, which the controller deletes with this object ${RETAIN}`,
    ],
    [{ kind: 'untagProfile', name: PROFILE, arn: ARN, keys: ['old', ADDED_TAG] }, `${REMOVED_TAGS} ${OF_PROFILE}: old`],
    [{ kind: 'untagProfile', name: PROFILE, arn: ARN, keys: [ADDED_TAG] }, undefined],
    [SET_TRUST, `Normal UpdatedIAMRole: Updated the trust policy of fargate IAM role "${ROLE}"`],
    [{ kind: 'setBoundary', name: ROLE, policyArn: 'x' }, BOUNDARY],
    [{ kind: 'removeBoundary', name: ROLE }, BOUNDARY],
    [ATTACH_POLICY, `${UPDATED_ROLE}: Attached policy ${POD_EXECUTION_POLICY} to ${OF_ROLE}`],
    [{ ...STRIP_ROLE, retiring: false }, `${UPDATED_ROLE}: Detached policy ${POD_EXECUTION_POLICY} from ${OF_ROLE}`],
    [STRIP_ROLE, undefined],
    [
      { kind: 'tagRole', name: ROLE, tags: CHANGED_TAGS },
      `${UPDATED_ROLE}: Updated the tags of ${OF_ROLE}: cost-center, team`,
    ],
    [{ kind: 'tagRole', name: ROLE, tags: { [ADDED_TAG]: 'x' } }, undefined],
    [{ kind: 'tagRole', name: ROLE, tags: { [EKS_CLUSTER_TAG]: 'x' } }, ADOPTED_ROLE],
    [{ kind: 'tagRole', name: ROLE, tags: { [NAMESPACE_TAG]: 'x' } }, ADOPTED_ROLE],
    [{ kind: 'tagRole', name: ROLE, tags: ROLE_TAGS, retiring: true }, undefined],
    [{ kind: 'untagRole', name: ROLE, keys: ['old'] }, `${UPDATED_ROLE}: Removed tags from ${OF_ROLE}: old`],
    [{ kind: 'untagRole', name: ROLE, keys: [ADDED_TAG] }, undefined],
    [DELETE_ACCESS_ENTRY, undefined],
    [
      { ...DELETE_ACCESS_ENTRY, because: 'profileCreation' },
      `Normal DeletedAccessEntry: Deleted the access entry of ${OF_ROLE}, because it belonged to a deleted role with this name`,
    ],
  ];
  for (const [mutation, event] of rows)
    it(`of ${mutation.kind}: ${event ?? 'none'}`, () =>
      expect(did(mutation)).to.deep.equal(event === undefined ? [] : [event]));

  it('are one event for a new role and its policies', () => {
    const steps = [CREATE_ROLE, ATTACH_POLICY].map((mutation) => ({ mutation, outcome: DONE }));
    expect(eventsOf({ steps })).to.deep.equal([`Normal SuccessfulIAMRoleCreation: Created ${OF_ROLE}`]);
    const failure = aFailure({ statusCode: 403, code: 'AccessDenied' });
    const [created, failed] = eventsOf({
      steps: [
        { mutation: CREATE_ROLE, outcome: DONE },
        { mutation: ATTACH_POLICY, outcome: { kind: 'failed', failure } },
      ],
    });
    expect(created).to.contain('Created');
    expect(failed).to.contain(`Failed to update ${OF_ROLE}`);
  });

  it('are none when the controller has changed nothing in AWS', () => {
    const failure = aFailure();
    const outcomes: readonly MutationOutcome[] = [
      ...(['gone', 'nameTaken', 'notVisible', 'clusterGone'] as const).map((kind) => ({ kind })),
      ...(['clusterUpdating', 'roleRejected', 'outdated'] as const).map((kind) => ({ kind, failure })),
      { kind: 'siblingBusy', by: PROFILE, doing: 'CREATING' },
      { kind: 'failed', failure: aFailure({ code: 'NotDispatched', message: 'the rate limit: no result in 15 s' }) },
    ];
    for (const outcome of outcomes)
      for (const [mutation] of rows) expect(did(mutation, outcome), outcome.kind).to.deep.equal([]);
  });
});

describe('the events of a failed mutation', () => {
  const failure = aFailure({ code: 'InvalidParameterException', statusCode: 400, message: 'no' });
  const detail = 'no (EKS CreateFargateProfile: InvalidParameterException)';
  const [LATER, ON] = [
    'The conditions of this object say what happens next.',
    'The controller continues without this change.',
  ];
  const deletion: Mutation = { ...DELETE_ACCESS_ENTRY, because: 'profileCreation' };
  const rows: readonly (readonly [Mutation, reason: string, doing: string, outlook?: string])[] = [
    [CREATE_ROLE, 'FailedIAMRoleCreation', `create fargate IAM role "${ROLE}"`],
    [DELETE_ROLE, 'FailedIAMRoleDeletion', `delete fargate IAM role "${ROLE}"`],
    [CREATE_PROFILE, 'FailedCreateEKSFargateProfile', `create EKS fargate profile ${PROFILE}`],
    [DELETE_PROFILE, 'FailedDeleteEKSFargateProfile', `delete EKS fargate profile ${PROFILE}`],
    [ATTACH_POLICY, 'FailedUpdateAWS', `update fargate IAM role "${ROLE}"`],
    [deletion, 'FailedDeleteAccessEntry', `delete the access entry of fargate IAM role "${ROLE}"`, ON],
  ];
  for (const [mutation, reason, doing, outlook = LATER] of rows)
    it(`of ${mutation.kind} contain the message of AWS, and say what happens next`, () =>
      expect(did(mutation, { kind: 'failed', failure })).to.deep.equal([
        `Warning ${reason}: Failed to ${doing}. ${outlook} AWS says: ${detail}.`,
      ]));

  it('of an access entry point to the conditions if AWS has not answered', () => {
    const unanswered = aFailure({ code: 'NoAnswer', message: 'no answer within 10 s' });
    const [event] = did(deletion, { kind: 'failed', failure: unanswered });
    expect(event)
      .to.match(/: no answer within 10 s[^.]*\.$/)
      .and.to.contain(`. ${LATER} `);
  });

  it('are one event, although the reason of the reconcile is a Warning too', () => {
    const reason = newReason('Refused', { detail, about: 'EKSFargateProfileReady' });
    expect(
      eventsOf({ steps: [{ mutation: CREATE_PROFILE, outcome: { kind: 'failed', failure } }], reason }),
    ).to.have.length(1);
  });
});

describe('the events of a creation or deletion that EKS has completed', () => {
  const noting = (...profiles: readonly RecordedProfile[]) => anObject({ record: { in: HERE, profiles } });
  const leaving = (status: AWSFargateProfileStatus) =>
    aDeletedObject({ record: FULL_RECORD, status: { profileName: PROFILE, ...status } });
  const CREATED = `Normal SuccessfulCreateEKSFargateProfile: Created new EKS fargate profile ${PROFILE}`;
  const DELETED = `Normal SuccessfulDeleteEKSFargateProfile: Deleted EKS fargate profile ${PROFILE}`;

  const created = { name: PROFILE, id: PROFILE_ID };
  const creating = noting(created);
  const openUnderOther = { name: ProfileName.of('other'), requestedAt: NOW };
  const predecessors = [{ name: PROFILE, status: 'DELETING' }];
  const reason = newReason('Creating', { name: PROFILE });
  const blocked = newReason('Refused', { detail: 'no', about: 'IAMFargateRolesReady' });
  const notOurs = newReason('ProfileNotOwned', { name: PROFILE, whose: 'an unknown owner' });
  for (const [situation, given, events] of [
    ['a profile that EKS has created', { object: creating, status: 'ACTIVE' }, [CREATED]],
    [
      'the same, before all is in order',
      { object: creating, status: 'ACTIVE', reason: blocked },
      [CREATED, `Warning Refused: ${messageOf(blocked)}`],
    ],
    ['the same, once more', { object: noting({ ...created, served: true, activeSince: NOW }), status: 'ACTIVE' }, []],
    [
      'the same, once more, before all is in order, beside another request without an answer',
      { object: noting(openUnderOther, { ...created, activeSince: NOW }), status: 'ACTIVE' },
      [],
    ],
    ['a profile that was found', { object: noting(), status: 'ACTIVE' }, []],
    ['a profile that takes over again', { object: noting({ ...created, served: true }), status: 'ACTIVE' }, []],
    [
      'a profile of another owner',
      { object: noting({ name: PROFILE, requestedAt: NOW }), status: 'ACTIVE', tags: FOREIGN_TAGS, reason: notOurs },
      [`Warning ProfileNotOwned: ${messageOf(notOurs)}`],
    ],
    ['a profile that is being created', { object: creating, status: 'CREATING', reason }, []],
    ['a profile that could not be created', { object: creating, status: 'CREATE_FAILED', reason }, []],
    ['a profile that EKS has deleted', { object: leaving({ profileStatus: 'DELETING' }) }, [DELETED]],
    ['a predecessor that EKS has deleted', { object: anObject({ status: { predecessors } }) }, [DELETED]],
    ['the same, which a glance does not show', { object: anObject({ status: { predecessors } }), depth: 'glance' }, []],
    ['a profile that another client has deleted', { object: leaving({ profileStatus: 'ACTIVE' }) }, []],
    ['a profile that was never there', { object: leaving({}) }, []],
  ] satisfies readonly (readonly [string, Given, readonly string[]])[])
    it(`are right for ${situation}`, () => expect(eventsOf(given)).to.deep.equal(events));

  it('come before the events of the mutations of the same reconcile', () => {
    const steps: readonly Step[] = [{ mutation: DELETE_ROLE, outcome: DONE }];
    expect(eventsOf({ object: leaving({ profileStatus: 'DELETING' }), steps })).to.deep.equal([
      DELETED,
      `Normal SuccessfulIAMRoleDeletion: Deleted fargate IAM role "${ROLE}"`,
    ]);
  });
});

describe('the event about a profile that was ACTIVE and no longer exists', () => {
  const GONE =
    'no longer exists, so EKS has stopped its pods. To see who deleted it, look for DeleteFargateProfile in AWS CloudTrail.';
  const MISSING = `Normal MissingEKSFargateProfile: EKS fargate profile ${PROFILE} ${GONE}`;
  const RECREATED = `${MISSING} The controller recreates the profile.`;
  const creationBlocker = newReason('ClusterDeleting', { what: 'Cluster team-a/prod' });
  const blocked = { creationFacts: { ...CREATION_FACTS, creationBlocker } };
  const former = ProfileName.of(`former-${PROFILE}`);
  const predecessor = anObject({ status: { predecessors: [{ name: former, status: 'ACTIVE' }] } });
  const missingEvents = (
    object: AWSFargateProfile,
    seen: Observed,
    over: Partial<DesiredInputs> = {},
  ): readonly string[] => {
    const desired = isDeleting(object) ? desiredOfDeletion(object, {}, seen) : desiredOf(object, over, seen);
    return eventsAfter(completedReconcile({ object, desired, seen }))
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
      .filter((event) => event.includes('Missing'));
  };

  for (const [situation, object, seen, events, over] of [
    ['says that the controller recreates the profile', ready(), observed(), [RECREATED]],
    ['does not say so if the controller may not create it', ready(), observed(), [MISSING], blocked],
    [
      'names a predecessor, which the controller does not recreate',
      predecessor,
      observed(),
      [MISSING.replace(PROFILE, former)],
    ],
    ['is not recorded after a glance', ready(), observed({ depth: 'glance' }), []],
    ['is not recorded if the EKS cluster no longer exists', ready(), observed({ cluster: 'gone' }), []],
    ['is not recorded for an existing profile', ready(), asDesired(), []],
    ['is not recorded for a deleted object', aDeletedObject({ status: READY }), observed(), []],
    ['is not recorded for a restored object without a status', anObject({ record: FULL_RECORD }), observed(), []],
  ] satisfies readonly (readonly [string, AWSFargateProfile, Observed, readonly string[], Partial<DesiredInputs>?])[])
    it(situation, () => expect(missingEvents(object, seen, over)).to.deep.equal(events));

  it('is not repeated', () => {
    const status = statusAfter(observedReconcile({ object: ready(), seen: observed() }));
    expect(missingEvents(anObject({ status }), observed())).to.deep.equal([]);
  });
});

describe('the Warning event of a reason', () => {
  const trouble = newReason('SpecDiffers', {
    name: PROFILE,
    fields: ['subnets are a instead of b'],
    isSpecFixed: false,
  });
  const refused = newReason('APIServerRefused', { message: 'forbidden', remedy: 'Apply the roles again' });
  const blocked = newReason('RoleBlocked', { name: ROLE, blockers: ['the inline policy "x"'] });
  const failed = newReason('CreateFailed', { name: PROFILE, issues: [] });
  const showing = (type: string, shown: Reason | undefined): AWSFargateProfileStatus => {
    const message = shown === undefined ? 'All is well' : messageOf(shown);
    const reason = shown?.name ?? 'x';
    return { conditions: [{ type, status: 'False', reason, message, lastTransitionTime: CREATED_AT }] };
  };
  const alive = (type: string, shown?: Reason) => anObject({ status: showing(type, shown) });

  for (const [situation, reason, object, wasAnnounced] of [
    ['a new problem', trouble, anObject(), true],
    ['another problem than Ready shows', trouble, alive('Ready'), true],
    ['the problem that Ready shows', trouble, alive('Ready', trouble), false],
    ['a problem beside a Ready profile', refused, alive('Ready'), true],
    ['the same, shown in Reconciling', refused, alive('Reconciling', refused), false],
    ['the same, shown in Stalled', refused, alive('Stalled', refused), false],
    ['a problem of a deletion', blocked, aDeletedObject(), true],
    ['the same, shown in Deleting', blocked, aDeletedObject({ status: showing('Deleting', blocked) }), false],
    ['a failed creation, although the controller retries it', failed, anObject(), true],
    ['a wait', newReason('Creating', { name: PROFILE }), anObject(), false],
    ['an outage', newReason('AWSUnavailable', { detail: 'no answer' }), anObject(), false],
  ] as const)
    it(`is ${wasAnnounced ? '' : 'not '}recorded for ${situation}`, () => {
      const events = wasAnnounced ? [`Warning ${reason.name}: ${messageOf(reason)}`] : [];
      expect(eventsOf({ reason, object })).to.deep.equal(events);
    });

  it('is recorded for each problem of a usable profile, except the one that the event of a failed change announces', () => {
    const kept = newReason('PredecessorKept', REASON_EXAMPLES.PredecessorKept);
    const reasonsOf = (given: CompletedReconcile) => eventsAfter(given).map((event) => event.reason);
    const withPredecessor = (steps: readonly Step[]): CompletedReconcile => {
      const { facts, ...rest } = observedReconcile({ object: ready(), notices: [refused], steps });
      return facts === undefined ? rest : { ...rest, facts: { ...facts, plan: { ...facts.plan, notices: [kept] } } };
    };
    const reconcile = withPredecessor([]);
    expect(reasonsOf(reconcile)).to.deep.equal(['APIServerRefused', 'PredecessorKept']);
    expect(reasonsOf({ ...reconcile, announced: announcedBy(reconcile) })).to.deep.equal([]);
    const failing = withPredecessor([{ mutation: ATTACH_POLICY, outcome: { kind: 'failed', failure: aFailure() } }]);
    expect(reasonsOf(failing)).to.deep.equal(['FailedUpdateAWS', 'PredecessorKept']);
  });

  it('is not repeated for a problem with a message that is longer than a condition allows', () => {
    const reason = newReason('SpecDiffers', { name: PROFILE, fields: ['😀'.repeat(20_000)] });
    const reconcile = observedReconcile({ end: reason });
    expect(eventsAfter(reconcile).map((event) => event.reason)).to.deep.equal(['SpecDiffers']);
    const status = statusAfter(reconcile);
    const ofReady = status.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    expect(ofReady.length).to.be.at.most(32_768);
    expect(ofReady).to.contain('Change the spec to match the profile');
    expect(ofReady.isWellFormed()).to.equal(true);
    expect(eventsAfter(observedReconcile({ object: anObject({ status }), end: reason }))).to.deep.equal([]);
    const other = observedReconcile({ end: newReason('SpecDiffers', { name: PROFILE, fields: ['subnets'] }) });
    expect(eventsAfter({ ...reconcile, announced: announcedBy(reconcile) })).to.deep.equal([]);
    expect(eventsAfter({ ...reconcile, announced: announcedBy(other) })).to.have.length(1);
  });
});

describe('the event about health issues of a profile in use', () => {
  const few: readonly ReportedIssue[] = [
    { code: 'AccessDenied', message: 'The role cannot be assumed', resourceIds: [] },
  ];
  const many = Array.from({ length: 300 }, (_, index) => ({
    code: 'AccessDenied',
    message: `issue ${index} ${'😀'.repeat(10_000)}`,
    resourceIds: Array.from({ length: 300 }, () => 'r'.repeat(10_000)),
  }));
  const seenWith = (object: AWSFargateProfile, health = few): readonly string[] =>
    eventsAfter(observedReconcile({ object, seen: observed({ profile: aProfile({ health }), role: aRole() }) })).map(
      ({ type, reason }) => `${type} ${reason}`,
    );

  for (const [what, health] of [
    ['the issues', few],
    ['more issues than the status has room for', many],
  ] as const)
    it(`is recorded once, when ${what} begin`, () => {
      expect(seenWith(ready(), health)).to.deep.equal(['Warning UnhealthyEKSFargateProfile']);
      const seen = observed({ profile: aProfile({ health }), role: aRole() });
      const reconcile = observedReconcile({ object: ready(), seen });
      expect(seenWith(anObject({ status: statusAfter(reconcile) }), health)).to.deep.equal([]);
      expect(eventsAfter({ ...reconcile, announced: announcedBy(reconcile) })).to.deep.equal([]);
      const healthy = observedReconcile({ object: ready() });
      expect(eventsAfter({ ...reconcile, announced: announcedBy(healthy) })).to.have.length(1);
    });

  it('is not recorded for a healthy profile', () => {
    expect(eventsAfter(observedReconcile({ object: ready() }))).to.deep.equal([]);
  });
});

describe('the event of an object that is deleted with its profile and role kept', () => {
  const PROFILE_AND_ROLE = `EKS fargate profile ${PROFILE} and its IAM role`;
  const REST = `the rest of EKS fargate profile ${PROFILE} and of its IAM role`;
  for (const [status, what] of [
    [{ profileName: PROFILE, profileStatus: 'ACTIVE' }, `The controller leaves ${PROFILE_AND_ROLE} in AWS`],
    [{ profileName: PROFILE, profileStatus: 'DELETING' }, `The controller leaves ${REST} in AWS`],
    [{ profileName: PROFILE }, `The controller leaves ${REST} in AWS`],
    [{}, 'The controller changes nothing in AWS'],
  ] as const)
    it(what, () =>
      expect(retainedEvent(aDeletedObject({ status }))).to.deep.equal({
        type: 'Normal',
        reason: 'RetainedEKSFargateProfile',
        message: `${what}, because spec.deletionPolicy is Retain`,
      }),
    );

  it('names each profile of the record, because a replacement may leave two', () => {
    const record = { in: HERE, profiles: [...FULL_RECORD.profiles, { name: ProfileName.of('9999-team-a_web') }] };
    const object = aDeletedObject({ record, status: { profileName: PROFILE, profileStatus: 'ACTIVE' } });
    expect(retainedEvent(object).message).to.contain(`EKS fargate profile ${PROFILE} and 9999-${PROFILE} and its`);
  });
});

describe('the event of an object that is deleted without the finalizer of this controller', () => {
  const without = (
    annotations: readonly string[] = [],
    record: Partial<ProfileRecord> = FULL_RECORD,
  ): AWSFargateProfile =>
    aDeletedObject({
      metadata: { finalizers: ['other'], annotations: Object.fromEntries(annotations.map((key) => [key, 'true'])) },
      record,
    });
  const { deletionTimestamp: _none, ...living } = without().metadata;
  for (const [situation, object, count] of [
    ['another client has removed it', without(), 1],
    ['the controller has removed it', without([], { in: HERE, deleting: true }), 0],
    ['clusterctl moves the object', without([DELETE_FOR_MOVE_ANNOTATION]), 0],
    ['the object is not deleted', { ...without(), metadata: living }, 0],
    ['its profile and role are to stay', without([RETAIN_ANNOTATION]), 0],
    ['AWS has nothing of it', without([], {}), 0],
  ] as const)
    it(`is ${count === 0 ? 'not ' : ''}recorded: ${situation}`, () =>
      expect(abandonedEvents(object)).to.have.length(count));
});

describe('the event about an object for which the controller does nothing', () => {
  it('is recorded when the wait begins, and not again', () => {
    const reason = newReason('ClusterDeleting', { what: 'Cluster team-a/prod' });
    const message = messageOf(reason);
    expect(eventsOf({ reason })).to.deep.equal([`Normal ClusterDeleting: ${message}`]);
    const shown = {
      type: 'Ready',
      status: 'False',
      reason: reason.name,
      message,
      lastTransitionTime: CREATED_AT,
    } as const;
    expect(eventsOf({ reason, object: anObject({ status: { conditions: [shown] } }) })).to.deep.equal([]);
  });
});
