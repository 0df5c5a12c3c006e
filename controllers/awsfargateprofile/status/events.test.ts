import { expect } from 'chai';
import { RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { conditionsAfter } from './conditions/conditions.ts';
import { eventsAfter, retainedEvent } from './events.ts';
import { statusAfter } from './status.ts';
import type { Mutation } from '../model/mutation.ts';
import type { MutationOutcome, Step } from '../model/outcome.ts';
import type { Reason, ReportedIssue } from '../reasons/reasons.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import {
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  CREATED_AT,
  aDeletedObject,
  aFailure,
  aProfile,
  aRole,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import {
  ATTACH_POLICY,
  CREATE_PROFILE,
  CREATE_ROLE,
  DELETE_PROFILE,
  DELETE_ROLE,
  SET_TRUST,
} from '../testing/mutations.ts';
import type { CompletedPassParts } from '../testing/completed-pass.ts';
import { READY, completedPass, condition, observedPass, ready } from '../testing/completed-pass.ts';
import { FOREIGN_TAGS } from '../testing/fixtures.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';

const ARN = aProfile().arn;
const DONE: MutationOutcome = { kind: 'done' };

interface Given {
  readonly object?: AWSFargateProfile;
  readonly steps?: readonly Step[];
  readonly reason?: Reason;
  readonly status?: string | undefined;
  readonly tags?: Tags;
}

/**
 * Returns the events of a reconcile that found the Fargate profile with this status, or no profile if `status` is
 * absent.
 */
function told({ object = anObject(), steps = [], reason, status, tags = PROFILE_TAGS }: Given): readonly string[] {
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  const desired = isGoing ? desiredOfDeletion(object) : desiredOf(object);
  const seen = observed({ profile: status === undefined ? undefined : aProfile({ status, tags }) });
  const pass = completedPass({ object, desired, seen, end: reason ?? 'inOrder', steps });
  return eventsAfter(pass).map(({ type, reason: word, message }) => `${type} ${word}: ${message}`);
}

const did = (mutation: Mutation, outcome: MutationOutcome = DONE): readonly string[] =>
  told({ steps: [{ mutation, outcome }] });

describe('the events of a completed mutation', () => {
  const rows: readonly (readonly [mutation: Mutation, event: string | undefined])[] = [
    [CREATE_ROLE, `Normal SuccessfulIAMRoleCreation: Created fargate IAM role "${ROLE}"`],
    [DELETE_ROLE, `Normal SuccessfulIAMRoleDeletion: Deleted fargate IAM role "${ROLE}"`],
    [CREATE_PROFILE, `Normal InitiatedCreateEKSFargateProfile: Started creating EKS fargate profile ${PROFILE}`],
    [DELETE_PROFILE, `Normal InitiatedDeleteEKSFargateProfile: Started deleting EKS fargate profile ${PROFILE}`],
    [
      { kind: 'deleteProfile', name: PROFILE, because: 'failed' },
      `Normal InitiatedDeleteEKSFargateProfile: Started deleting EKS fargate profile ${PROFILE}, because EKS reports it as failed. The controller then creates it again.`,
    ],
    [
      { kind: 'deleteProfile', name: PROFILE, because: 'different' },
      `Normal InitiatedDeleteEKSFargateProfile: Started deleting EKS fargate profile ${PROFILE}, because it differs from the spec. The controller then creates it again.`,
    ],
    [
      { kind: 'tagProfile', name: PROFILE, arn: ARN, tags: {} },
      `Normal UpdatedEKSFargateProfileTags: Updated the tags of EKS fargate profile ${PROFILE}`,
    ],
    [
      { kind: 'untagProfile', name: PROFILE, arn: ARN, keys: [] },
      `Normal UpdatedEKSFargateProfileTags: Updated the tags of EKS fargate profile ${PROFILE}`,
    ],
    [SET_TRUST, `Normal UpdatedIAMRole: Updated the trust policy of fargate IAM role "${ROLE}"`],
    [
      { kind: 'setBoundary', name: ROLE, policyArn: 'x' },
      `Normal UpdatedIAMRole: Updated the permissions boundary of fargate IAM role "${ROLE}"`,
    ],
    [
      { kind: 'removeBoundary', name: ROLE },
      `Normal UpdatedIAMRole: Updated the permissions boundary of fargate IAM role "${ROLE}"`,
    ],
    [ATTACH_POLICY, undefined],
    [{ kind: 'detachPolicy', name: ROLE, policyArn: POD_EXECUTION_POLICY, retiring: true }, undefined],
    [{ kind: 'tagRole', name: ROLE, tags: {} }, undefined],
    [{ kind: 'untagRole', name: ROLE, keys: [] }, undefined],
  ];
  for (const [mutation, event] of rows) {
    it(`of ${mutation.kind}: ${event ?? 'none'}`, () => {
      expect(did(mutation)).to.deep.equal(event === undefined ? [] : [event]);
    });
  }

  const quiet: readonly MutationOutcome[] = [
    { kind: 'gone' },
    { kind: 'nameTaken' },
    { kind: 'notVisible' },
    { kind: 'clusterGone' },
    { kind: 'siblingBusy', by: PROFILE, doing: 'CREATING' },
    { kind: 'clusterUpdating', failure: aFailure() },
    { kind: 'roleRejected', failure: aFailure() },
    { kind: 'outdated', failure: aFailure() },
  ];
  for (const outcome of quiet) {
    it(`are none when the outcome is ${outcome.kind}: the controller changed nothing in AWS`, () => {
      for (const [mutation] of rows) expect(did(mutation, outcome)).to.deep.equal([]);
    });
  }
});

describe('the events of a failed mutation', () => {
  const failure = aFailure({
    code: 'InvalidParameterException',
    statusCode: 400,
    message: 'Subnet subnet-0a provided in Fargate Profile is not a private subnet',
    requestId: '11111111-2222-3333-4444-555555555555',
  });
  const detail =
    'Subnet subnet-0a provided in Fargate Profile is not a private subnet (EKS CreateFargateProfile: InvalidParameterException)';
  const rows: readonly (readonly [Mutation, string])[] = [
    [CREATE_ROLE, `Warning FailedIAMRoleCreation: Failed to create fargate IAM role "${ROLE}". AWS says: ${detail}`],
    [DELETE_ROLE, `Warning FailedIAMRoleDeletion: Failed to delete fargate IAM role "${ROLE}". AWS says: ${detail}`],
    [
      CREATE_PROFILE,
      `Warning FailedCreateEKSFargateProfile: Failed to create EKS fargate profile ${PROFILE}. AWS says: ${detail}`,
    ],
    [
      DELETE_PROFILE,
      `Warning FailedDeleteEKSFargateProfile: Failed to delete EKS fargate profile ${PROFILE}. AWS says: ${detail}`,
    ],
    [ATTACH_POLICY, `Warning FailedUpdateAWS: Failed to update fargate IAM role "${ROLE}". AWS says: ${detail}`],
  ];
  for (const [mutation, event] of rows) {
    it(`of ${mutation.kind} contain the message of AWS, and point to the conditions`, () => {
      expect(did(mutation, { kind: 'failed', failure })).to.deep.equal([
        `${event}. The conditions of this object tell what happens next.`,
      ]);
    });
  }

  it('of an access entry say that the controller goes on if AWS refuses the change, for no condition tells it', () => {
    const subject = `Failed to delete the access entry of fargate IAM role "${ROLE}"`;
    const deletion: Mutation = {
      kind: 'deleteAccessEntry',
      name: RoleName.of(ROLE),
      principal: RoleArn.of('arn:aws:iam::111122223333:role/web'),
      because: 'profileCreation',
    };
    expect(did(deletion, { kind: 'failed', failure })).to.deep.equal([
      `Warning FailedDeleteAccessEntry: ${subject}. AWS says: ${detail}. The controller continues without this change.`,
    ]);
    const unanswered = aFailure({ code: 'NoAnswer', message: 'no answer within 10 s' });
    expect(did(deletion, { kind: 'failed', failure: unanswered })[0]).to.match(
      /no answer within 10 s .*The conditions of this object tell what happens next\.$/,
    );
  });

  it('are none when the request of the mutation was not sent', () => {
    const unsent = aFailure({ code: 'NotDispatched', message: 'the rate limit: no result within 15 s' });
    expect(did(CREATE_PROFILE, { kind: 'failed', failure: unsent })).to.deep.equal([]);
  });

  it('are one event, although the reason of the pass is a Warning too', () => {
    const reason = newReason('Refused', { detail, about: 'EKSFargateProfileReady' });
    const steps: readonly Step[] = [{ mutation: CREATE_PROFILE, outcome: { kind: 'failed', failure } }];
    expect(told({ steps, reason: reason })).to.have.length(1);
  });
});

describe('the events of a creation or deletion that EKS has completed', () => {
  const object = (status: AWSFargateProfileStatus) => anObject({ status: { profileName: PROFILE, ...status } });
  const leaving = (status: AWSFargateProfileStatus) => aDeletedObject({ status: { profileName: PROFILE, ...status } });
  const CREATED = `Normal SuccessfulCreateEKSFargateProfile: Created new EKS fargate profile ${PROFILE}`;
  const DELETED = `Normal SuccessfulDeleteEKSFargateProfile: Deleted EKS fargate profile ${PROFILE}`;

  it('report that EKS has created the profile', () => {
    const creating = object({ profileStatus: 'CREATING', createRequestedAt: CREATED_AT });
    expect(told({ object: creating, status: 'ACTIVE' })).to.deep.equal([CREATED]);
  });

  it('report the creation also when no pass has seen the profile as CREATING', () => {
    expect(told({ object: object({ createRequestedAt: CREATED_AT }), status: 'ACTIVE' })).to.deep.equal([CREATED]);
  });

  it('report the creation once', () => {
    const active = object({ profileStatus: 'ACTIVE', createRequestedAt: CREATED_AT });
    expect(told({ object: active, status: 'ACTIVE' })).to.deep.equal([]);
  });

  it('report no creation of an adopted profile', () => {
    expect(told({ object: object({}), status: 'ACTIVE' })).to.deep.equal([]);
  });

  it('report no creation when the profile with this name belongs to another owner', () => {
    const reason = newReason('ProfileNotOwned', { name: PROFILE, whose: 'an unknown owner' });
    const asked = { object: object({ createRequestedAt: CREATED_AT }), status: 'ACTIVE', reason: reason };
    expect(told({ ...asked, tags: FOREIGN_TAGS })).to.deep.equal([`Warning ProfileNotOwned: ${messageOf(reason)}`]);
  });

  it('report no creation while the profile is CREATING or CREATE_FAILED', () => {
    const creating = object({ profileStatus: 'CREATING', createRequestedAt: CREATED_AT });
    const waiting = newReason('Creating', { name: PROFILE });
    expect(told({ object: creating, status: 'CREATING', reason: waiting })).to.deep.equal([]);
    expect(told({ object: creating, status: 'CREATE_FAILED', reason: waiting })).to.deep.equal([]);
  });

  it('report that EKS has deleted the profile', () => {
    expect(told({ object: leaving({ profileStatus: 'DELETING' }) })).to.deep.equal([DELETED]);
  });

  it('report no deletion when status does not record the profile as DELETING', () => {
    expect(told({ object: leaving({ profileStatus: 'ACTIVE' }) })).to.deep.equal([]);
    expect(told({ object: leaving({}) })).to.deep.equal([]);
  });

  it('come before the events of the mutations of the same pass', () => {
    const steps: readonly Step[] = [{ mutation: DELETE_ROLE, outcome: DONE }];
    expect(told({ object: leaving({ profileStatus: 'DELETING' }), steps })).to.deep.equal([
      DELETED,
      `Normal SuccessfulIAMRoleDeletion: Deleted fargate IAM role "${ROLE}"`,
    ]);
  });
});

describe('the Warning event of a reason', () => {
  const trouble = newReason('SpecDiffers', {
    name: PROFILE,
    fields: ['subnets are a instead of b'],
    isProvisioned: false,
  });
  const WARNING = `Warning SpecDiffers: ${messageOf(trouble)}`;
  const showing = (type: string, message: string): AWSFargateProfileStatus => ({
    conditions: [{ type, status: 'False', reason: 'x', message, lastTransitionTime: CREATED_AT }],
  });

  it('is recorded when the reason is new', () => {
    expect(told({ reason: trouble })).to.deep.equal([WARNING]);
    expect(told({ reason: trouble, object: anObject({ status: showing('Ready', 'something else') }) })).to.deep.equal([
      WARNING,
    ]);
  });

  it('is not repeated while the Ready condition has the same message', () => {
    const object = anObject({ status: showing('Ready', messageOf(trouble)) });
    expect(told({ reason: trouble, object })).to.deep.equal([]);
  });

  it('is not repeated for a Ready profile while Reconciling or Stalled has the same message', () => {
    const refused = newReason('APIServerRefused', { message: 'forbidden', remedy: 'Apply the roles again' });
    expect(told({ reason: refused, object: anObject({ status: showing('Ready', 'All is well') }) })).to.have.length(1);
    for (const type of ['Reconciling', 'Stalled']) {
      const object = anObject({ status: showing(type, messageOf(refused)) });
      expect(told({ reason: refused, object }), type).to.deep.equal([]);
    }
  });

  it('is not repeated during a deletion while the Deleting condition has the same message', () => {
    const blocked = newReason('RoleBlocked', { name: ROLE, blockers: ['the inline policy "x"'] });
    expect(told({ reason: blocked, object: aDeletedObject() })).to.have.length(1);
    const object = aDeletedObject({ status: showing('Deleting', messageOf(blocked)) });
    expect(told({ reason: blocked, object })).to.deep.equal([]);
  });

  it('is recorded for a failed creation, although the controller retries it', () => {
    const failed = newReason('CreateFailed', { name: PROFILE, issues: [] });
    expect(told({ reason: failed })).to.deep.equal([`Warning CreateFailed: ${messageOf(failed)}`]);
  });

  it('is not repeated for a problem whose message is longer than a condition allows', () => {
    const reason = newReason('SpecDiffers', { name: PROFILE, fields: ['😀'.repeat(20_000)] });
    const pass = observedPass({ end: reason });
    expect(eventsAfter(pass).map((event) => event.reason)).to.deep.equal(['SpecDiffers']);
    const status = statusAfter(pass);
    const ofReady = status.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    expect(ofReady.length).to.be.at.most(32_768);
    expect(ofReady).to.contain('Change the spec to match the profile');
    expect(ofReady.isWellFormed()).to.equal(true);
    expect(eventsAfter(observedPass({ object: anObject({ status }), end: reason }))).to.deep.equal([]);
  });

  it('is not recorded for a wait or an outage, which ends without an action of the user', () => {
    expect(told({ reason: newReason('Creating', { name: PROFILE }) })).to.deep.equal([]);
    expect(told({ reason: newReason('AWSUnavailable', { detail: 'no answer' }) })).to.deep.equal([]);
    expect(told({})).to.deep.equal([]);
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
    eventsAfter(observedPass({ object, seen: observed({ profile: aProfile({ health }), role: aRole() }) })).map(
      ({ type, reason }) => `${type} ${reason}`,
    );

  for (const [what, health] of [
    ['the issues', few],
    ['more issues than the status has room for', many],
  ] as const)
    it(`is recorded once, when ${what} begin`, () => {
      expect(seenWith(ready(), health)).to.deep.equal(['Warning UnhealthyEKSFargateProfile']);
      const seen = observed({ profile: aProfile({ health }), role: aRole() });
      const message = conditionsAfter(observedPass({ seen })).find(({ type }) => type === 'Ready')?.message ?? '';
      const conditions = [condition('Ready', 'True', 'Ready', message)];
      expect(seenWith(anObject({ status: { ...READY, conditions } }), health)).to.deep.equal([]);
    });

  it('is not recorded for a healthy profile', () => {
    expect(eventsAfter(observedPass({ object: ready() }))).to.deep.equal([]);
  });
});

describe('the event of an object that is deleted with its profile and role kept', () => {
  it('names the profile that stays in AWS, and without a profile says that nothing changes', () => {
    expect(retainedEvent(aDeletedObject({ status: { profileName: PROFILE, profileStatus: 'ACTIVE' } }))).to.deep.equal({
      type: 'Normal',
      reason: 'RetainedEKSFargateProfile',
      message: `The controller leaves EKS fargate profile ${PROFILE} and its IAM role in AWS, because spec.deletionPolicy is Retain`,
    });
    expect(retainedEvent(aDeletedObject()).message).to.equal(
      'The controller changes nothing in AWS, because spec.deletionPolicy is Retain',
    );
  });

  it('says "the rest of" a profile that EKS deletes or has deleted', () => {
    for (const profileStatus of ['DELETING', undefined]) {
      const status = { profileName: PROFILE, ...(profileStatus && { profileStatus }) };
      expect(retainedEvent(aDeletedObject({ status })).message).to.equal(
        `The controller leaves the rest of EKS fargate profile ${PROFILE} and of its IAM role in AWS, because spec.deletionPolicy is Retain`,
      );
    }
  });
});

describe('the events about a kept role', () => {
  const object = aDeletedObject();
  const keptAfter = (pass: CompletedPassParts): readonly string[] =>
    eventsAfter(completedPass({ object, desired: desiredOfDeletion(object), seen: observed(), ...pass })).map(
      ({ reason, message }) => `${reason}: ${message}`,
    );
  const kept = [{ name: ROLE, usedBy: 'AWSFargateProfile team-a/other' }];
  const seen = observed({ profile: aProfile({ tags: FOREIGN_TAGS }), role: aRole() });

  it('name the object that uses the role too, once the deletion is over', () => {
    expect(keptAfter({ kept })).to.deep.equal([
      `KeptIAMRole: Kept fargate IAM role "${ROLE}", because AWSFargateProfile team-a/other uses it`,
    ]);
    expect(keptAfter({ kept, end: newReason('Conflict', {}) })).to.deep.equal([]);
  });

  it('name the foreign profile that uses the role', () => {
    expect(keptAfter({ seen })).to.deep.equal([
      `KeptIAMRole: Kept fargate IAM role "${ROLE}", because Fargate profile "${PROFILE}" uses it`,
    ]);
  });

  it('do not exist for a foreign role, a wanted role, and with deletionPolicy Retain', () => {
    const { profiles } = seen;
    expect(keptAfter({ seen: { ...observed({ role: aRole({ tags: {} }) }), profiles } })).to.deep.equal([]);
    expect(keptAfter({ object: anObject(), desired: desiredOf(), seen })).to.deep.equal([]);
    expect(keptAfter({ desired: { ...desiredOfDeletion(), surplus: 'retain' }, seen })).to.deep.equal([]);
  });
});

describe('the event about an object for which the controller does nothing', () => {
  it('is recorded when the wait begins, and not again', () => {
    const reason = newReason('ClusterDeleting', { what: 'Cluster team-a/prod' });
    const message = messageOf(reason);
    expect(told({ reason })).to.deep.equal([`Normal ClusterDeleting: ${message}`]);
    const shown = { type: 'Ready', status: 'False', message, lastTransitionTime: CREATED_AT } as const;
    expect(told({ reason, object: anObject({ status: { conditions: [shown] } }) })).to.deep.equal([]);
  });
});
