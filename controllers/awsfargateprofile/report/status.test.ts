import { expect } from 'chai';
import { ProfileName, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus, Condition } from '../../../api/v1beta2/index.ts';
import type { Observed } from '../model/observed-state.ts';
import type { ReconcileEnd } from '../model/change.ts';
import type { CompletedReconcile } from '../model/result.ts';
import { newReason } from '../reasons/reasons.ts';
import { pausedStatus, statusAfter } from './status.ts';
import {
  NAMESPACE_TAG,
  ACCOUNT,
  EKS_CLUSTER,
  HERE,
  FULL_RECORD,
  NOW,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_ID,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  CREATED_AT,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  asDesired,
  desiredOf,
  desiredOfDeletion,
  observed,
  updatedRecordFor,
  type ObjectParts,
} from '../testing/builders.ts';
import { DELETE_PROFILE } from '../testing/mutations.ts';
import {
  READY,
  conditionsOf,
  failedCreate,
  observedReconcile,
  outage,
  completedReconcile,
  ready,
  sibling,
} from '../testing/completed-reconcile.ts';
import { FOREIGN_TAGS, recordTag } from '../testing/fixtures.ts';
import { withoutRoles } from '../testing/reconcile-state.ts';

/** Returns what AWS shows if the reconcile has read only the profile, because EKS is changing it. */
const inTransit = (status: string): Observed =>
  withoutRoles(observed({ profile: aProfile({ status }), role: aRole() }));
const creating = newReason('Creating', { name: PROFILE });
const NEXT = ProfileName.of(`9999-${PROFILE}`);
const IDENTITY = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };

/**
 * Returns the result of a reconcile that has found neither profile nor role, soon after the create request of the
 * object.
 */
const unansweredReconcile = (object: AWSFargateProfile): CompletedReconcile => {
  const seen = observed();
  const desired = { ...desiredOf(object, {}, seen), record: updatedRecordFor(object, seen, {}, 0).record };
  return observedReconcile({ object, desired, seen, end: sibling });
};

describe('statusAfter', () => {
  type Row = readonly [
    what: string,
    reconcile: CompletedReconcile,
    has: object,
    ...lacks: (keyof AWSFargateProfileStatus)[],
  ];
  const health = [{ code: 'AccessDenied', message: 'no', resourceIds: ['x'] }];
  const failed = observed({ profile: aProfile({ status: 'CREATE_FAILED', health }), role: aRole() });
  const before: AWSFargateProfileStatus = {
    ...READY,
    createRequestedAt: CREATED_AT,
    podExecutionRoleARN: ROLE_ARN,
    health: { issues: [{ code: 'AccessDenied' }] },
  };
  const once = anObject({ record: FULL_RECORD, status: before });
  const requested = anObject({
    record: { in: HERE, profiles: [{ name: PROFILE, requestedAt: NOW }] },
    status: { profileName: PROFILE, createRequestedAt: CREATED_AT },
  });
  const foreign = observed({ profile: aProfile({ tags: FOREIGN_TAGS }), role: aRole() });
  const notOwned = newReason('ProfileNotOwned', { name: PROFILE, whose: 'an unknown owner' });
  const former = aProfile({ name: ProfileName.of('former'), tags: {} });
  const about = 'EKSFargateProfileReady';
  const lostTags = newReason('OwnershipTagMissing', {
    resource: 'Fargate profile',
    name: former.name,
    tags: [],
    about,
  });
  const renamed = anObject({
    spec: { profileName: PROFILE },
    record: { in: HERE, profiles: [{ name: former.name, id: PROFILE_ID, served: true }] },
    status: { profileName: former.name, profileARN: former.arn },
  });
  const gone = newReason('EKSClusterNotFound', { cluster: EKS_CLUSTER, region: 'eu-west-1' });
  const { conditions: _conditions, ...known } = READY;
  const rows: readonly Row[] = [
    [
      'records what AWS reports',
      observedReconcile({ end: failedCreate, seen: failed }),
      {
        account: ACCOUNT,
        region: 'eu-west-1',
        eksClusterName: EKS_CLUSTER,
        profileARN: aProfile().arn,
        profileStatus: 'CREATE_FAILED',
        podExecutionRoleARN: ROLE_ARN,
        subnets: ['subnet-0a', 'subnet-0b'],
        health: { issues: health },
      },
    ],
    [
      'drops the issues of a healthy profile',
      observedReconcile({ object: once }),
      { profileStatus: 'ACTIVE' },
      'health',
    ],
    [
      'drops what it knew of a profile that is gone',
      observedReconcile({ object: once, seen: observed({ role: aRole() }), end: sibling }),
      {},
      ...(['profileARN', 'profileStatus', 'podExecutionRoleARN', 'health', 'createRequestedAt'] as const),
    ],
    [
      'shows the create request that AWS has not answered',
      unansweredReconcile(requested),
      { createRequestedAt: '2026-11-21T03:25:00Z' },
      'profileARN',
    ],
    [
      'shows since when the profile is ACTIVE and as the spec asks for',
      observedReconcile({ object: once }),
      { activeSince: '2026-11-21T03:25:00Z' },
    ],
    [
      'shows the identity with which the profile was created',
      observedReconcile({ object: anObject({ record: { ...FULL_RECORD, identity: IDENTITY } }) }),
      { identityRef: IDENTITY },
    ],
    [
      'drops a former identity',
      observedReconcile({ object: anObject({ record: FULL_RECORD, status: { identityRef: IDENTITY } }) }),
      {},
      'identityRef',
    ],
    [
      'shows the profile that has lost its tags, also if the spec has another name by now',
      observedReconcile({ object: renamed, seen: observed({ profile: former, role: aRole() }), end: lostTags }),
      { profileName: former.name, profileARN: former.arn },
    ],
    [
      'shows nothing of a foreign profile under the name, and drops our create request',
      observedReconcile({ object: requested, seen: foreign, end: notOwned }),
      {},
      ...(['createRequestedAt', 'profileARN', 'profileStatus', 'podExecutionRoleARN', 'subnets'] as const),
    ],
    [
      'shows of a deleted object the profile that has served, under whatever name',
      completedReconcile({
        object: aDeletedObject({ record: { in: HERE, profiles: [{ name: NEXT, id: PROFILE_ID, served: true }] } }),
        desired: desiredOfDeletion(
          aDeletedObject({ record: { in: HERE, profiles: [{ name: NEXT, id: PROFILE_ID, served: true }] } }),
          {},
          observed({ profile: aProfile({ name: NEXT }) }),
        ),
        seen: observed({ profile: aProfile({ name: NEXT }) }),
        end: newReason('DeletingProfile', { name: NEXT }),
      }),
      { profileName: NEXT, profileStatus: 'ACTIVE' },
    ],
    ['keeps the known state while AWS cannot be read', completedReconcile({ object: ready(), end: outage }), known],
    [
      'records no account in which the EKS cluster does not exist',
      observedReconcile({ end: gone, seen: observed({ cluster: 'gone' }) }),
      {},
      'account',
      'region',
    ],
    [
      'records the generation of the object',
      observedReconcile({ object: ready({ metadata: { generation: 7 } }) }),
      { observedGeneration: 7 },
    ],
    [
      'drops the failure fields of Cluster API Provider AWS',
      observedReconcile({ object: anObject({ status: { failureReason: 'x', failureMessage: 'no' } }) }),
      {},
      'failureReason',
      'failureMessage',
    ],
    ['is provisioned after a reconcile in order', observedReconcile({}), { initialization: { provisioned: true } }],
    [
      'is not provisioned while EKS creates the profile',
      observedReconcile({ end: creating, seen: observed() }),
      {},
      'initialization',
    ],
    [
      'stays provisioned when the profile fails later',
      observedReconcile({ object: ready(), end: failedCreate, seen: failed }),
      { initialization: { provisioned: true } },
    ],
  ];
  for (const [what, reconcile, has, ...lacks] of rows)
    it(what, () => {
      const status = statusAfter(reconcile);
      expect(status).to.deep.include(has);
      if (lacks.length > 0) expect(status).not.to.have.any.keys(...lacks);
    });

  it('records only the first ten health issues, truncated, and reports how many more exist', () => {
    const many = Array.from({ length: 15 }, (_, index) => ({
      code: `Issue${index}`,
      message: '😀'.repeat(50_000),
      resourceIds: Array.from({ length: 15 }, () => 'r'.repeat(50_000)),
    }));
    const seen = observed({ profile: aProfile({ health: many }), role: aRole() });
    const status = statusAfter(observedReconcile({ seen }));
    expect(status.health?.issues?.map(({ code, resourceIds }) => [code, resourceIds?.length])).to.deep.equal(
      Array.from({ length: 10 }, (_, index) => [`Issue${index}`, 10]),
    );
    // etcd accepts objects of up to 1.5 MiB.
    expect(Buffer.byteLength(JSON.stringify(status))).to.be.below(1_000_000);
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).to.match(/; and 5 more\.$/);
  });

  describe('of an object whose profile is replaced', () => {
    const OTHER = [{ namespace: 'other', labels: {} }];
    const object = anObject({
      spec: { updateStrategy: { type: 'Replace' } },
      record: {
        in: HERE,
        profiles: [
          { name: PROFILE, id: PROFILE_ID, served: true },
          { name: NEXT, id: PROFILE_ID },
        ],
      },
    });
    const statusWith = (status: string | undefined, end: ReconcileEnd = 'inSync') => {
      const next = status === undefined ? [] : [aProfile({ name: NEXT, status })];
      const seen = { ...asDesired(), profiles: [aProfile({ selectors: OTHER }), ...next] };
      return statusAfter(observedReconcile({ object, seen, end }));
    };
    const predecessors = [{ name: PROFILE, status: 'ACTIVE' }];
    const replacing = newReason('Replacing', { name: NEXT, predecessor: PROFILE });

    for (const [when, status] of [
      ['before its successor exists', undefined],
      ['while EKS creates its successor', 'CREATING'],
    ] as const)
      it(`names the profile that serves ${when}`, () =>
        expect(statusWith(status, replacing)).to.deep.include({ profileName: PROFILE, predecessors }));

    it('names its successor once that is ACTIVE', () =>
      expect(statusWith('ACTIVE')).to.deep.include({ profileName: NEXT, predecessors }));

    it('shows that EKS is deleting the predecessor, which this reconcile has begun', () => {
      const seen = { ...asDesired(), profiles: [aProfile({ selectors: OTHER }), aProfile({ name: NEXT })] };
      const steps = [{ mutation: { ...DELETE_PROFILE, because: 'replaced' }, outcome: { kind: 'done' } }] as const;
      const { predecessors: after } = statusAfter(observedReconcile({ object, seen, steps }));
      expect(after).to.deep.equal([{ name: PROFILE, status: 'DELETING' }]);
    });
  });

  describe('status.role', () => {
    type Role = NonNullable<AWSFargateProfileStatus['role']>;
    const [EXTRA, THEIRS] = ['arn:aws:iam::111122223333:policy/extra', 'arn:aws:iam::111122223333:policy/theirs'];
    const OURS = { name: ROLE, id: 'AROAEXAMPLE', managed: true, attachedPolicies: [POD_EXECUTION_POLICY] };
    const shared = RoleName.of('shared');
    const formerRole = { name: RoleName.of('former'), id: 'AROAFORMER', managed: true };
    const withRecord = (role: Role, spec: ObjectParts['spec'] = {}) => anObject({ spec, status: { role } });
    const live = (role: Parameters<typeof aRole>[0]) => observed({ profile: aProfile(), role: aRole(role) });
    const recorded: Role = { name: ROLE, id: 'AROAEXAMPLE', managed: true, attachedPolicies: [POD_EXECUTION_POLICY] };
    const blocked = newReason('RoleBlocked', { name: ROLE, blockers: ['an inline policy'] });
    const leavingWith = aDeletedObject({ status: { role: recorded } });
    const ofTeamB = live({ tags: { [NAMESPACE_TAG]: 'team-b' } });

    const roles: readonly (readonly [what: string, reconcile: CompletedReconcile, role: object])[] = [
      ['of ours', observedReconcile({ seen: live({ attached: [POD_EXECUTION_POLICY, THEIRS] }) }), OURS],
      [
        'of another owner',
        observedReconcile({ object: anObject({ spec: { roleName: shared } }), seen: live({ name: shared, tags: {} }) }),
        { name: 'shared', id: 'AROAEXAMPLE', managed: false },
      ],
      [
        'that has another owner by now, without its policies',
        observedReconcile({ object: withRecord(recorded, { roleName: ROLE }), seen: ofTeamB }),
        { name: ROLE, id: 'AROAEXAMPLE', managed: false },
      ],
      [
        'without what was recorded of another name',
        observedReconcile({ object: withRecord({ ...formerRole, attachedPolicies: ['x'] }) }),
        OURS,
      ],
      [
        'with a policy that this controller has attached before, by the record in the tags of the role',
        observedReconcile({
          seen: live({
            attached: [POD_EXECUTION_POLICY, EXTRA, THEIRS],
            tags: { ...ROLE_TAGS, ...recordTag(`policy ${EXTRA}`) },
          }),
        }),
        { ...OURS, attachedPolicies: [POD_EXECUTION_POLICY, EXTRA] },
      ],
      [
        'as recorded while it is being deleted',
        completedReconcile({
          object: leavingWith,
          desired: desiredOfDeletion(leavingWith),
          seen: observed({ role: aRole() }),
          end: blocked,
        }),
        recorded,
      ],
      [
        'with the id that IAM has now',
        observedReconcile({ object: withRecord({ name: ROLE, id: 'AROAFORMER' }) }),
        OURS,
      ],
      [
        'as recorded when the reconcile has observed only a profile in transit',
        observedReconcile({ object: withRecord(recorded), end: creating, seen: inTransit('CREATING') }),
        recorded,
      ],
    ];
    for (const [what, reconcile, role] of roles)
      it(`is that ${what}`, () => expect(statusAfter(reconcile).role).to.deep.equal(role));

    for (const [what, boundary, found, inSpec, inTags] of [
      ['that the spec names', EXTRA, EXTRA, EXTRA, undefined],
      ['that the controller set earlier, by the record in the tags of the role', EXTRA, EXTRA, undefined, EXTRA],
      ['that is still on the role when IAM has refused the one in the spec', EXTRA, EXTRA, THEIRS, EXTRA],
      ['but none that another client set', undefined, THEIRS, undefined, undefined],
      ['until another client replaces it', undefined, THEIRS, undefined, EXTRA],
    ] as const)
      it(`has a permissions boundary ${what}`, () => {
        const object = anObject(inSpec === undefined ? {} : { spec: { rolePermissionsBoundary: inSpec } });
        const tags = { ...ROLE_TAGS, ...(inTags !== undefined && recordTag(`boundary ${inTags}`)) };
        const { role } = statusAfter(observedReconcile({ object, seen: live({ permissionsBoundary: found, tags }) }));
        expect(role?.permissionsBoundary).to.equal(boundary);
      });
  });
});

describe('pausedStatus', () => {
  it('keeps the earlier status, and sets Paused', () => {
    const status = pausedStatus(ready({ metadata: { generation: 5 } }), ['its Cluster is paused'], NOW);
    const { conditions, ...rest } = status;
    const { conditions: before, ...restBefore } = READY;
    expect(rest, 'the generation is not observed').to.deep.equal({ ...restBefore, deletionPolicy: 'Delete' });
    const others = (list: readonly Condition[] = []) => list.filter(({ type }) => type !== 'Paused');
    expect(others(conditions)).to.deep.equal(others(before));
    expect(conditionsOf(status)['Paused']).to.equal('True / Paused');
  });

  it('shows the effective deletion policy, also of an object without a status', () => {
    const policyOf = (object: AWSFargateProfile) => pausedStatus(object, [], NOW).deletionPolicy;
    expect(policyOf(anObject())).to.equal('Delete');
    expect(policyOf(anObject({ spec: { deletionPolicy: 'Retain' } }))).to.equal('Retain');
  });
});
