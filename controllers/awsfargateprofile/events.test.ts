import { expect } from 'chai';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { eventsOf, retained } from './events.ts';
import type { Mutation, Outcome, Step } from './model.ts';
import type { Pass } from './pass.ts';
import type { Why } from './reasons.ts';
import { messageOf, why } from './reasons.ts';
import {
  NOW,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  THEN,
  aDeletedObject,
  aFailure,
  aProfile,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from './testing/builders.ts';
import {
  ATTACH_POLICY,
  CREATE_PROFILE,
  CREATE_ROLE,
  DELETE_PROFILE,
  DELETE_ROLE,
  SET_TRUST,
} from './testing/mutations.ts';
import { FOREIGN } from './testing/situations.ts';
import type { Tags } from '../../pkg/fargate/tags.ts';

const ARN = aProfile().arn;
const DONE: Outcome = { kind: 'done' };

interface Given {
  readonly object?: AWSFargateProfile;
  readonly trail?: readonly Step[];
  readonly why?: Why;
  readonly status?: string | undefined;
  readonly tags?: Tags;
}

/** What is told of a pass that saw the profile in this status; without one, it saw none. */
function told({ object = anObject(), trail = [], why: reason, status, tags = PROFILE_TAGS }: Given): readonly string[] {
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  const pass: Pass = {
    object,
    desired: isGoing ? desiredOfDeletion(object) : desiredOf(object),
    observed: observed({ profile: status === undefined ? undefined : aProfile({ status, tags }) }),
    end: reason === undefined ? { kind: 'settled' } : { kind: 'stopped', why: reason },
    trail,
    now: NOW,
    waited: 0,
    attempts: 0,
  };
  return eventsOf(pass).map(({ type, reason: word, message }) => `${type} ${word}: ${message}`);
}

const did = (mutation: Mutation, outcome: Outcome = DONE): readonly string[] =>
  told({ trail: [{ mutation, outcome }] });

describe('the events of a change in AWS', () => {
  const rows: readonly (readonly [mutation: Mutation, event: string | undefined])[] = [
    [CREATE_ROLE, `Normal SuccessfulIAMRoleCreation: Created fargate IAM role "${ROLE}"`],
    [DELETE_ROLE, `Normal SuccessfulIAMRoleDeletion: Deleted fargate IAM role "${ROLE}"`],
    [CREATE_PROFILE, `Normal InitiatedCreateEKSFargateProfile: Started creating EKS fargate profile ${PROFILE}`],
    [DELETE_PROFILE, `Normal InitiatedDeleteEKSFargateProfile: Started deleting EKS fargate profile ${PROFILE}`],
    [
      { kind: 'deleteProfile', name: PROFILE, because: 'failed' },
      `Normal InitiatedDeleteEKSFargateProfile: Started deleting EKS fargate profile ${PROFILE}, to create it anew after it failed`,
    ],
    [
      { kind: 'deleteProfile', name: PROFILE, because: 'different' },
      `Normal InitiatedDeleteEKSFargateProfile: Started deleting EKS fargate profile ${PROFILE}, to create it anew as the spec wants it`,
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
    it(`${mutation.kind}: ${event ?? 'none'}`, () => {
      expect(did(mutation)).to.deep.equal(event === undefined ? [] : [event]);
    });
  }

  const quiet: readonly Outcome[] = [
    { kind: 'vanished' },
    { kind: 'already' },
    { kind: 'notVisible' },
    { kind: 'clusterGone' },
    { kind: 'siblingBusy', by: PROFILE, doing: 'CREATING' },
    { kind: 'clusterUpdating' },
    { kind: 'rolePropagating', failure: aFailure() },
    { kind: 'outdated', failure: aFailure() },
  ];
  for (const outcome of quiet) {
    it(`none where the outcome is ${outcome.kind}: it is waited for, or nothing was done`, () => {
      for (const [mutation] of rows) expect(did(mutation, outcome)).to.deep.equal([]);
    });
  }
});

describe('the events of a failed change', () => {
  const failure = aFailure({
    code: 'InvalidParameterException',
    statusCode: 400,
    message: 'Subnet subnet-0a provided in Fargate Profile is not a private subnet',
    requestId: '11111111-2222-3333-4444-555555555555',
  });
  const words =
    'Subnet subnet-0a provided in Fargate Profile is not a private subnet (EKS CreateFargateProfile: InvalidParameterException)';
  const rows: readonly (readonly [Mutation, string])[] = [
    [CREATE_ROLE, `Warning FailedIAMRoleCreation: Failed to create fargate IAM role "${ROLE}": ${words}`],
    [DELETE_ROLE, `Warning FailedIAMRoleDeletion: Failed to delete fargate IAM role "${ROLE}": ${words}`],
    [
      CREATE_PROFILE,
      `Warning FailedCreateEKSFargateProfile: Failed to create EKS fargate profile ${PROFILE}: ${words}`,
    ],
    [
      DELETE_PROFILE,
      `Warning FailedDeleteEKSFargateProfile: Failed to delete EKS fargate profile ${PROFILE}: ${words}`,
    ],
    [ATTACH_POLICY, `Warning FailedUpdateAWS: Failed to update "${ROLE}": ${words}`],
  ];
  for (const [mutation, event] of rows) {
    it(`${mutation.kind}: in AWS’s own words`, () => {
      expect(did(mutation, { kind: 'failed', failure })).to.deep.equal([event]);
    });
  }

  it('are none where it was not even sent', () => {
    const unsent = aFailure({ code: 'NotDispatched', message: 'the rate limit: no result within 15 s' });
    expect(did(CREATE_PROFILE, { kind: 'failed', failure: unsent })).to.deep.equal([]);
  });

  it('are told once, not once more as what needs a human', () => {
    const reason = why('Refused', { words, about: 'EKSFargateProfileReady' });
    const trail: readonly Step[] = [{ mutation: CREATE_PROFILE, outcome: { kind: 'failed', failure } }];
    expect(told({ trail, why: reason })).to.have.length(1);
  });
});

describe('the events of what EKS has brought to its end', () => {
  const object = (status: AWSFargateProfileStatus) => anObject({ status: { profileName: PROFILE, ...status } });
  const leaving = (status: AWSFargateProfileStatus) => aDeletedObject({ status: { profileName: PROFILE, ...status } });
  const CREATED = `Normal SuccessfulCreateEKSFargateProfile: Created new EKS fargate profile ${PROFILE}`;
  const DELETED = `Normal SuccessfulDeleteEKSFargateProfile: Deleted EKS fargate profile ${PROFILE}`;

  it('tell of a profile that was created', () => {
    const creating = object({ profileStatus: 'CREATING', createRequestedAt: THEN });
    expect(told({ object: creating, status: 'ACTIVE' })).to.deep.equal([CREATED]);
  });

  it('tell of one that was created before it was looked at', () => {
    expect(told({ object: object({ createRequestedAt: THEN }), status: 'ACTIVE' })).to.deep.equal([CREATED]);
  });

  it('tell of it once', () => {
    const active = object({ profileStatus: 'ACTIVE', createRequestedAt: THEN });
    expect(told({ object: active, status: 'ACTIVE' })).to.deep.equal([]);
  });

  it('do not tell of one that was not asked for: it was adopted', () => {
    expect(told({ object: object({}), status: 'ACTIVE' })).to.deep.equal([]);
  });

  it('do not tell of one that somebody else has made under its name', () => {
    const reason = why('ProfileNotOwned', { name: PROFILE, whose: 'somebody else' });
    const asked = { object: object({ createRequestedAt: THEN }), status: 'ACTIVE', why: reason };
    expect(told({ ...asked, tags: FOREIGN })).to.deep.equal([`Warning ProfileNotOwned: ${messageOf(reason)}`]);
  });

  it('do not tell of one that is still being created, or failed', () => {
    const creating = object({ profileStatus: 'CREATING', createRequestedAt: THEN });
    const waiting = why('Creating', { name: PROFILE });
    expect(told({ object: creating, status: 'CREATING', why: waiting })).to.deep.equal([]);
    expect(told({ object: creating, status: 'CREATE_FAILED', why: waiting })).to.deep.equal([]);
  });

  it('tell of a profile that was deleted', () => {
    expect(told({ object: leaving({ profileStatus: 'DELETING' }) })).to.deep.equal([DELETED]);
  });

  it('tell of nothing where nothing was being deleted', () => {
    expect(told({ object: leaving({ profileStatus: 'ACTIVE' }) })).to.deep.equal([]);
    expect(told({ object: leaving({}) })).to.deep.equal([]);
  });

  it('come before what was done after', () => {
    const trail: readonly Step[] = [{ mutation: DELETE_ROLE, outcome: DONE }];
    expect(told({ object: leaving({ profileStatus: 'DELETING' }), trail })).to.deep.equal([
      DELETED,
      `Normal SuccessfulIAMRoleDeletion: Deleted fargate IAM role "${ROLE}"`,
    ]);
  });
});

describe('the events of trouble', () => {
  const trouble = why('SpecDiffers', { name: PROFILE, fields: ['subnets are a, wanted b'] });
  const WARNING = `Warning SpecDiffers: ${messageOf(trouble)}`;
  const showing = (type: string, message: string): AWSFargateProfileStatus => ({
    conditions: [{ type, status: 'False', reason: 'x', message, lastTransitionTime: THEN }],
  });

  it('tell when it begins', () => {
    expect(told({ why: trouble })).to.deep.equal([WARNING]);
    expect(told({ why: trouble, object: anObject({ status: showing('Ready', 'something else') }) })).to.deep.equal([
      WARNING,
    ]);
  });

  it('tell it once: conditions say it for as long as it lasts', () => {
    const object = anObject({ status: showing('Ready', messageOf(trouble)) });
    expect(told({ why: trouble, object })).to.deep.equal([]);
  });

  it('tell it once of a profile that stays Ready, where Reconciling says it, or Stalled', () => {
    const refused = why('APIServerRefused', { words: 'forbidden', cure: 'Apply the roles again' });
    expect(told({ why: refused, object: anObject({ status: showing('Ready', 'All is well') }) })).to.have.length(1);
    for (const type of ['Reconciling', 'Stalled']) {
      const object = anObject({ status: showing(type, messageOf(refused)) });
      expect(told({ why: refused, object }), type).to.deep.equal([]);
    }
  });

  it('tell it once on deletion as well', () => {
    const blocked = why('RoleBlocked', { name: ROLE, blockers: ['the inline policy "x"'] });
    expect(told({ why: blocked, object: aDeletedObject() })).to.have.length(1);
    const object = aDeletedObject({ status: showing('Deleting', messageOf(blocked)) });
    expect(told({ why: blocked, object })).to.deep.equal([]);
  });

  it('tell of a failed creation, which is retried', () => {
    const failed = why('CreateFailed', { name: PROFILE, issues: [] });
    expect(told({ why: failed })).to.deep.equal([`Warning CreateFailed: ${messageOf(failed)}`]);
  });

  it('tell nothing of what goes on by itself', () => {
    expect(told({ why: why('Creating', { name: PROFILE }) })).to.deep.equal([]);
    expect(told({ why: why('AWSUnavailable', { words: 'no answer' }) })).to.deep.equal([]);
    expect(told({})).to.deep.equal([]);
  });
});

describe('the event of an object that is let go', () => {
  it('says what stays', () => {
    expect(retained(aDeletedObject({ status: { profileName: PROFILE, profileStatus: 'ACTIVE' } }))).to.deep.equal({
      type: 'Normal',
      reason: 'RetainedEKSFargateProfile',
      message: `Left EKS fargate profile ${PROFILE} and its role in AWS: deletionPolicy is Retain`,
    });
    expect(retained(aDeletedObject()).message).to.equal('Nothing was changed in AWS: deletionPolicy is Retain');
  });

  it('does not say that a profile stays which is on its way out, or gone', () => {
    for (const profileStatus of ['DELETING', undefined]) {
      const status = { profileName: PROFILE, ...(profileStatus && { profileStatus }) };
      expect(retained(aDeletedObject({ status })).message).to.equal(
        `What is left of EKS fargate profile ${PROFILE} and its role stays in AWS: deletionPolicy is Retain`,
      );
    }
  });
});
