import { expect } from 'chai';
import { ProfileName, type RoleArn, RoleName } from '../../api/names.ts';
import type { FoundRole, Observed } from './model/observed-state.ts';
import { newReason } from './reasons/reasons.ts';
import { eventsAfter } from './report/events.ts';
import {
  FULL_RECORD,
  HERE,
  NAMESPACE_TAG,
  NOW,
  PROFILE,
  PROFILE_ID,
  PROFILE_TAGS,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  asDesired,
  desiredOf,
  desiredOfDeletion,
  observed,
} from './testing/builders.ts';
import { type CompletedReconcileParts, completedReconcile } from './testing/completed-reconcile.ts';
import { FOREIGN_TAGS, SHARED_ROLE, SHARED_ROLE_ARN, SHARED_ROLE_NAME } from './testing/fixtures.ts';
import { deleted, living, testPlans, withPlan } from './testing/plan-tables.ts';

// These tests show which roles stay in AWS although the object no longer needs them, and which events report this. The
// tests in guards/role-users cover who uses a role, and execute.test.ts what happens to a role that another object uses.

const DELETE_ROLE = 'strip pod policy; delete role; in order';
const deletion = deleted();
const alone = (role: Partial<FoundRole> = {}): Observed => observed({ role: aRole(role) });
/** Another owner's profile uses the object's role. */
const used = (status = 'ACTIVE'): Observed =>
  observed({ profile: aProfile({ status, tags: FOREIGN_TAGS }), role: aRole() });
const FORMER = ProfileName.of('former');

describe('a deletion', () => {
  const recorded = (roleARN: RoleArn) => deleted({ spec: { roleARN }, record: FULL_RECORD });
  const { profiles: users, ...rest } = used('DELETING');
  testPlans({
    'with a role that': [
      ...withPlan(
        'in order',
        ['is foreign', deleted({ spec: { roleName: SHARED_ROLE_NAME } }), observed({ role: SHARED_ROLE })],
        ['has a foreign profile as its user', deletion, used()],
        ['is named by spec.roleARN, before the record has the change', recorded(ROLE_ARN), alone()],
        [
          'is named by spec.roleARN and lost its tags, before the record has the change',
          recorded(ROLE_ARN),
          alone({ tags: {} }),
        ],
        [
          'has two foreign profiles as users, of which EKS is deleting one',
          deletion,
          { ...rest, profiles: [...users, aProfile({ name: FORMER, tags: FOREIGN_TAGS })] },
        ],
      ),
      ['has a foreign profile as its user that EKS is deleting', deletion, used('DELETING'), 'stop: DeletingProfile'],
      ['has an inline policy', deletion, alone({ blockers: ['x'] }), 'stop: RoleBlocked'],
      ['is another one than that of spec.roleARN', recorded(SHARED_ROLE_ARN), alone(), DELETE_ROLE],
    ],
  });
});

describe('a change of the role name', () => {
  const NAME = RoleName.of('former-role');
  const CREATE = 'create role; attach pod policy; create profile; stop: Creating';
  const record = { in: HERE, profiles: [{ name: FORMER, id: PROFILE_ID }], roles: [{ name: NAME, id: 'AROAEXAMPLE' }] };
  const renamed = living({ spec: { profileName: PROFILE }, record });
  const withFormer = (role: Partial<FoundRole> = {}, user?: Parameters<typeof aProfile>[0]): Observed => {
    const found = aRole({ name: NAME, ...role });
    return {
      ...observed(),
      profiles: user === undefined ? [] : [aProfile({ name: FORMER, podExecutionRoleArn: found.arn, ...user })],
      roles: [
        { name: ROLE, found: undefined },
        { name: NAME, found },
      ],
    };
  };
  testPlans({
    'with a former role of ours that': [
      ['is unused', renamed, withFormer(), `strip pod policy; delete role former-role; ${CREATE}`],
      [
        'belongs to another namespace now',
        renamed,
        withFormer({ tags: { ...ROLE_TAGS, [NAMESPACE_TAG]: 'team-b' } }),
        CREATE,
      ],
      ['is used by a foreign profile', renamed, withFormer({}, { tags: FOREIGN_TAGS }), CREATE],
      [
        'is used by our former profile',
        renamed,
        withFormer({}, { tags: PROFILE_TAGS, createdAt: NOW }),
        'delete different profile former; stop: DeletingProfile',
      ],
      [
        'is used by our former, DELETING profile',
        renamed,
        withFormer({}, { status: 'DELETING' }),
        'stop: DeletingProfile',
      ],
    ],
  });
});

describe('the events about a kept role', () => {
  const object = aDeletedObject();
  const keptAfter = (reconcile: CompletedReconcileParts): readonly string[] =>
    eventsAfter(completedReconcile({ object, desired: desiredOfDeletion(object), seen: observed(), ...reconcile })).map(
      ({ reason, message }) => `${reason}: ${message}`,
    );
  const kept = [{ name: ROLE, usedBy: 'AWSFargateProfile team-a/other' }];

  it('name the object that uses the role too, once the deletion is over', () => {
    expect(keptAfter({ kept })).to.deep.equal([
      `KeptIAMRole: Kept fargate IAM role "${ROLE}", because AWSFargateProfile team-a/other uses it`,
    ]);
    expect(keptAfter({ kept, end: newReason('Conflict', {}) })).to.deep.equal([]);
  });

  it('name the foreign profile that uses the role', () => {
    expect(keptAfter({ seen: used() })).to.deep.equal([
      `KeptIAMRole: Kept fargate IAM role "${ROLE}", because Fargate profile "${PROFILE}" uses it`,
    ]);
  });

  it("do not exist for a foreign role, a wanted role, a role of the object's own profile, and with Retain", () => {
    const { profiles } = used();
    expect(keptAfter({ seen: { ...alone({ tags: {} }), profiles } })).to.deep.equal([]);
    expect(keptAfter({ object: anObject(), desired: desiredOf(), seen: used() })).to.deep.equal([]);
    expect(keptAfter({ seen: asDesired() })).to.deep.equal([]);
    expect(keptAfter({ desired: { ...desiredOfDeletion(), unwanted: 'retain' }, seen: used() })).to.deep.equal([]);
  });
});
