import { expect } from 'chai';
import { ProfileName, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileStatus, Condition } from '../../../api/v1beta2/index.ts';
import type { Step } from '../model/outcome.ts';
import type { Observed } from '../model/observed-state.ts';
import type { CompletedPass } from '../model/pass.ts';
import { newReason } from '../reasons/reasons.ts';
import { pausedStatus, statusAfter } from './status.ts';
import {
  NAMESPACE_TAG,
  ACCOUNT,
  EKS_CLUSTER,
  NOW,
  POD_EXECUTION_POLICY,
  PROFILE,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  CREATED_AT,
  aDeletedObject,
  aFailure,
  aProfile,
  aRole,
  anObject,
  asWanted,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import { CREATE_PROFILE, CREATE_ROLE } from '../testing/mutations.ts';
import {
  READY,
  conditionsOf,
  failedCreate,
  observedPass,
  outage,
  completedPass,
  ready,
  sibling,
} from '../testing/completed-pass.ts';
import type { ObjectParts } from '../testing/builders.ts';
import { FOREIGN_TAGS } from '../testing/fixtures.ts';

/** What AWS shows while the pass has read only the profile, because EKS is changing it. */
const inTransit = (status: string): Observed => ({
  cluster: 'there',
  profiles: [{ name: PROFILE, found: aProfile({ status }) }],
  roles: [{ name: ROLE, found: 'unread' }],
});
const creating = newReason('Creating', { name: PROFILE });
const specDiffers = newReason('SpecDiffers', { name: PROFILE, fields: ['x'], isProvisioned: false });

describe('statusAfter', () => {
  type Row = readonly [what: string, pass: CompletedPass, has: object, ...lacks: (keyof AWSFargateProfileStatus)[]];
  const health = [{ code: 'AccessDenied', message: 'no', resourceIds: ['x'] }];
  const failed = observed({ profile: aProfile({ status: 'CREATE_FAILED', health }), role: aRole() });
  const before: AWSFargateProfileStatus = {
    ...READY,
    createRequestedAt: CREATED_AT,
    podExecutionRoleARN: ROLE_ARN,
    health: { issues: [{ code: 'AccessDenied' }] },
  };
  const once = anObject({ status: before });
  const requested = anObject({ status: { profileName: PROFILE, createRequestedAt: CREATED_AT } });
  const foreign = observed({ profile: aProfile({ tags: FOREIGN_TAGS }), role: aRole() });
  const notOwned = newReason('ProfileNotOwned', { name: PROFILE, whose: 'an unknown owner' });
  const former = aProfile({ name: ProfileName.of('former'), tags: {} });
  const withFormer: Observed = {
    ...inTransit('ACTIVE'),
    profiles: [
      { name: PROFILE, found: undefined },
      { name: former.name, found: former },
    ],
  };
  const about = 'EKSFargateProfileReady';
  const lostTags = newReason('OwnershipTagMissing', {
    resource: 'Fargate profile',
    name: former.name,
    tags: [],
    about,
  });
  const renamed = anObject({
    spec: { profileName: PROFILE },
    status: { profileName: former.name, profileARN: former.arn },
  });
  const gone = newReason('EKSClusterNotFound', { cluster: EKS_CLUSTER, region: 'eu-west-1' });
  const { conditions: _conditions, ...known } = READY;
  const provisionedSubnets = anObject({ status: { ...READY, subnets: ['subnet-0f'] } });
  const leaving = aDeletedObject();
  const rows: readonly Row[] = [
    [
      'records what AWS reports',
      observedPass({ end: failedCreate, seen: failed }),
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
    ['drops the issues of a healthy profile', observedPass({ object: once }), { profileStatus: 'ACTIVE' }, 'health'],
    [
      'drops what it knew of a profile that is gone, and its create is over',
      observedPass({ object: once, seen: observed({ role: aRole() }), end: sibling }),
      {},
      ...(['profileARN', 'profileStatus', 'podExecutionRoleARN', 'health', 'createRequestedAt'] as const),
    ],
    [
      'keeps the create whose answer is lost, although the profile that it was to replace is gone',
      observedPass({
        object: once,
        desired: desiredOf(once, { isCreateUnconfirmed: true }),
        seen: observed({ role: aRole() }),
        end: sibling,
      }),
      { createRequestedAt: CREATED_AT },
      'profileARN',
    ],
    [
      'keeps the ARN of a profile that has lost its tags, also if the spec has another name by now',
      observedPass({ object: renamed, seen: withFormer, end: lostTags }),
      { profileARN: former.arn },
    ],
    [
      'records nothing of a foreign profile under the name, and drops our create request',
      observedPass({ object: requested, seen: foreign, end: notOwned }),
      {},
      ...(['createRequestedAt', 'profileARN', 'profileStatus', 'podExecutionRoleARN', 'subnets'] as const),
    ],
    ['keeps the known state while AWS cannot be read', completedPass({ object: ready(), end: outage }), known],
    [
      'records no account in which the EKS cluster does not exist',
      observedPass({ end: gone, seen: observed({ cluster: 'gone' }) }),
      {},
      'account',
      'region',
    ],
    [
      'records the generation of the object',
      observedPass({ object: ready({ metadata: { generation: 7 } }) }),
      { observedGeneration: 7 },
    ],
    [
      'drops the failure fields of Cluster API Provider AWS',
      observedPass({ object: anObject({ status: { failureReason: 'x', failureMessage: 'no' } }) }),
      {},
      'failureReason',
      'failureMessage',
    ],
    ['is provisioned after a pass in order', observedPass({}), { initialization: { provisioned: true } }],
    [
      'is not provisioned while EKS creates the profile',
      observedPass({ end: creating, seen: observed() }),
      {},
      'initialization',
    ],
    [
      'stays provisioned when the profile fails later',
      observedPass({ object: ready(), end: failedCreate, seen: failed }),
      { initialization: { provisioned: true } },
    ],
    [
      'is not provisioned after a completed deletion',
      completedPass({ object: leaving, desired: desiredOfDeletion(leaving), seen: observed() }),
      {},
      'initialization',
    ],
    [
      'keeps the subnets of a provisioned profile, whatever profile has its name now',
      observedPass({ object: provisionedSubnets, end: specDiffers }),
      { subnets: ['subnet-0f'] },
    ],
  ];
  for (const [what, pass, has, ...lacks] of rows)
    it(what, () => {
      const status = statusAfter(pass);
      expect(status).to.deep.include(has);
      if (lacks.length > 0) expect(status).not.to.have.any.keys(...lacks);
    });

  it('records the first ten health issues, shortened, and says how many there are', () => {
    const many = Array.from({ length: 15 }, (_, index) => ({
      code: `Issue${index}`,
      message: '😀'.repeat(50_000),
      resourceIds: Array.from({ length: 15 }, () => 'r'.repeat(50_000)),
    }));
    const seen = observed({ profile: aProfile({ health: many }), role: aRole() });
    const status = statusAfter(observedPass({ seen }));
    expect(status.health?.issues?.map(({ code, resourceIds }) => [code, resourceIds?.length])).to.deep.equal(
      Array.from({ length: 10 }, (_, index) => [`Issue${index}`, 10]),
    );
    // etcd accepts objects of up to 1.5 MiB.
    expect(Buffer.byteLength(JSON.stringify(status))).to.be.below(1_000_000);
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).to.contain('; and 5 more. Correct');
  });

  it('has all wanted tag keys once the pass has settled, and until then those of before', () => {
    const object = anObject({ status: { tagKeys: ['former'] }, spec: { additionalTags: { team: 'a' } } });
    const { tagKeys = [] } = statusAfter(observedPass({ object }));
    expect(tagKeys)
      .to.include.members(['team', ...Object.keys(ROLE_TAGS)])
      .and.not.to.include('former');
    expect(statusAfter(observedPass({ object, end: sibling })).tagKeys).to.deep.equal(['former']);
  });

  describe('status.role', () => {
    type Role = NonNullable<AWSFargateProfileStatus['role']>;
    const [EXTRA, THEIRS] = ['arn:aws:iam::111122223333:policy/extra', 'arn:aws:iam::111122223333:policy/theirs'];
    const OURS = {
      name: ROLE,
      id: 'AROAEXAMPLE',
      accessEntryCheckedFor: 'AROAEXAMPLE',
      managed: true,
      attachedPolicies: [POD_EXECUTION_POLICY],
    };
    const shared = RoleName.of('shared');
    const formerRole = { name: RoleName.of('former'), id: 'AROAFORMER', managed: true };
    const withRecord = (role: Role, spec: ObjectParts['spec'] = {}) => anObject({ spec, status: { role } });
    const live = (role: Parameters<typeof aRole>[0]) => observed({ profile: aProfile(), role: aRole(role) });
    const beside = (found: ReturnType<typeof aRole> | undefined): Observed => ({
      ...asWanted(),
      roles: [
        { name: ROLE, found: aRole() },
        { name: formerRole.name, found },
      ],
    });
    const recorded: Role = { name: ROLE, id: 'AROAEXAMPLE', managed: true, attachedPolicies: [POD_EXECUTION_POLICY] };
    const recreated = {
      name: ROLE,
      arn: ROLE_ARN,
      id: 'AROAEXAMPLE',
      cluster: EKS_CLUSTER,
      entry: 'outdated',
    } as const;
    const blocked = newReason('RoleBlocked', { name: ROLE, blockers: ['an inline policy'] });
    const leavingWith = aDeletedObject({ status: { role: recorded } });
    const ofTeamB = live({ tags: { [NAMESPACE_TAG]: 'team-b' } });

    const roles: readonly (readonly [what: string, pass: CompletedPass, role: object])[] = [
      ['of ours', observedPass({ seen: live({ attached: [POD_EXECUTION_POLICY, THEIRS] }) }), OURS],
      [
        'of another owner',
        observedPass({ object: anObject({ spec: { roleName: shared } }), seen: live({ name: shared, tags: {} }) }),
        { name: 'shared', id: 'AROAEXAMPLE', managed: false },
      ],
      [
        'that has another owner by now, without its policies',
        observedPass({ object: withRecord(recorded, { roleName: ROLE }), seen: ofTeamB }),
        { name: ROLE, id: 'AROAEXAMPLE', managed: false },
      ],
      [
        'without what was recorded of another name',
        observedPass({ object: withRecord({ ...formerRole, attachedPolicies: ['x'] }) }),
        OURS,
      ],
      [
        'without a policy that was recorded while it had another owner',
        observedPass({
          object: withRecord({ name: ROLE, managed: false, attachedPolicies: [THEIRS] }),
          seen: live({ attached: [POD_EXECUTION_POLICY, THEIRS] }),
        }),
        OURS,
      ],
      [
        'as recorded while it is being deleted',
        completedPass({
          object: leavingWith,
          desired: desiredOfDeletion(leavingWith),
          seen: observed({ role: aRole() }),
          end: blocked,
        }),
        recorded,
      ],
      [
        'with the id of a former role, until its access entry is made anew',
        observedPass({
          object: withRecord({ name: ROLE, id: 'AROAFORMER', managed: true }),
          end: newReason('RoleRecreated', recreated),
        }),
        { name: ROLE, id: 'AROAFORMER', managed: true, attachedPolicies: [POD_EXECUTION_POLICY] },
      ],
      [
        'with its new id then',
        observedPass({ object: withRecord({ name: ROLE, id: 'AROAFORMER', managed: true }) }),
        OURS,
      ],
      [
        'of a former name, as long as that role exists',
        observedPass({
          object: withRecord(formerRole),
          end: specDiffers,
          seen: beside(aRole({ name: formerRole.name })),
        }),
        formerRole,
      ],
      [
        'of the new name then',
        observedPass({ object: withRecord(formerRole), end: specDiffers, seen: beside(undefined) }),
        { name: ROLE, id: 'AROAEXAMPLE', managed: true, attachedPolicies: [POD_EXECUTION_POLICY] },
      ],
      [
        'as recorded when the pass has observed only a profile in transit',
        observedPass({ object: withRecord(recorded), end: creating, seen: inTransit('CREATING') }),
        recorded,
      ],
    ];
    for (const [what, pass, role] of roles)
      it(`is that ${what}`, () => expect(statusAfter(pass).role).to.deep.equal(role));

    for (const [what, boundary, found, inSpec, onRecord] of [
      ['that the spec names', EXTRA, EXTRA, EXTRA, undefined],
      ['that the controller set earlier', EXTRA, EXTRA, undefined, EXTRA],
      ['that is still on the role when IAM has refused the one in the spec', EXTRA, EXTRA, THEIRS, EXTRA],
      ['but none that another client set', undefined, THEIRS, undefined, undefined],
      ['until another client replaces it', undefined, THEIRS, undefined, EXTRA],
    ] as const)
      it(`has a permissions boundary ${what}`, () => {
        const object = anObject({
          ...(inSpec !== undefined && { spec: { rolePermissionsBoundary: inSpec } }),
          ...(onRecord !== undefined && { status: { role: { name: ROLE, permissionsBoundary: onRecord } } }),
        });
        const { role } = statusAfter(observedPass({ object, seen: live({ permissionsBoundary: found }) }));
        expect(role?.permissionsBoundary).to.equal(boundary);
      });

    for (const [what, outcome, policies] of [
      ['IAM refused the role', { kind: 'failed', failure: aFailure({ code: 'LimitExceeded', statusCode: 409 }) }],
      ['IAM failed', { kind: 'failed', failure: aFailure({ statusCode: 500 }) }, [POD_EXECUTION_POLICY]],
      ['IAM says that the role exists', { kind: 'nameTaken' }, [POD_EXECUTION_POLICY]],
    ] satisfies readonly (readonly [string, Step['outcome'], policies?: readonly string[]])[])
      it(`has policies that were recorded before its creation only if it may exist: ${what}`, () => {
        const object = withRecord({ name: ROLE, attachedPolicies: [POD_EXECUTION_POLICY] });
        const steps = [{ mutation: CREATE_ROLE, outcome }];
        const pass = observedPass({ object, desired: desiredOf(object), seen: observed({}), end: sibling, steps });
        expect(statusAfter(pass).role?.attachedPolicies).to.deep.equal(policies);
      });
  });

  describe('status.createRequestedAt', () => {
    const after = (outcome: Step['outcome'], isCreateUnconfirmed = false) =>
      statusAfter(
        observedPass({
          object: requested,
          desired: desiredOf(requested, { isCreateUnconfirmed }),
          seen: observed({ role: aRole() }),
          end: sibling,
          steps: [{ mutation: CREATE_PROFILE, outcome }],
        }),
      ).createRequestedAt;
    const refusedBy = (code: string, statusCode?: number): Step['outcome'] => {
      const { statusCode: _default, ...failure } = aFailure({ code });
      return { kind: 'failed', failure: { ...failure, ...(statusCode !== undefined && { statusCode }) } };
    };
    const updating: Step['outcome'] = { kind: 'clusterUpdating', failure: aFailure() };
    const outcomes: readonly (readonly [string, Step['outcome'], boolean])[] = [
      ['accepted', { kind: 'done', profile: aProfile({ status: 'CREATING' }) }, true],
      ['refused because EKS changes a sibling', { kind: 'siblingBusy', by: PROFILE, doing: 'CREATING' }, false],
      ['refused because EKS updates the cluster', updating, false],
      ['refused for the trust policy', { kind: 'roleRejected', failure: aFailure() }, false],
      ['refused for a subnet', refusedBy('InvalidParameterException', 400), false],
      ['answered with a 500', refusedBy('ServerException', 500), true],
      ["answered with a proxy's page", refusedBy('Undecodable', 408), true],
      ['not answered', refusedBy('NoAnswer'), true],
      ['answered with "exists already"', { kind: 'nameTaken' }, true],
    ];
    for (const [answer, outcome, isKept] of outcomes)
      it(`is ${isKept ? 'kept' : 'dropped'} when the create was ${answer}`, () =>
        expect(after(outcome)).to.equal(isKept ? CREATED_AT : undefined));

    it('is kept while an earlier create is unconfirmed', () => expect(after(updating, true)).to.equal(CREATED_AT));
  });
});

describe('pausedStatus', () => {
  const BY = ['Cluster spec.paused is set to true'];

  it('keeps the earlier status, and sets Paused', () => {
    const status = pausedStatus(ready({ metadata: { generation: 5 } }), BY, NOW);
    const { conditions, ...rest } = status;
    const { conditions: before, ...restBefore } = READY;
    expect(rest, 'the generation is not observed').to.deep.equal({ ...restBefore, deletionPolicy: 'Delete' });
    const others = (list: readonly Condition[] = []) => list.filter(({ type }) => type !== 'Paused');
    expect(others(conditions)).to.deep.equal(others(before));
    expect(conditionsOf(status)['Paused']).to.equal('True / Paused');
  });

  it('shows the effective deletion policy, also of an object without a status', () => {
    expect(pausedStatus(anObject(), BY, NOW).deletionPolicy).to.equal('Delete');
    expect(pausedStatus(anObject({ spec: { deletionPolicy: 'Retain' } }), BY, NOW).deletionPolicy).to.equal('Retain');
  });

  it('names what pauses the object', () => {
    const status = pausedStatus(anObject(), [...BY, 'AWSFargateProfile has the annotation'], NOW);
    expect(status.conditions).to.deep.equal([
      {
        type: 'Paused',
        status: 'True',
        observedGeneration: 1,
        reason: 'Paused',
        message: 'Cluster spec.paused is set to true, AWSFargateProfile has the annotation',
        lastTransitionTime: '2026-11-21T03:25:00Z',
      },
    ]);
  });

  it('is followed by Paused False after the next pass', () => {
    const object = anObject({ status: pausedStatus(ready(), BY, NOW) });
    expect(conditionsOf(statusAfter(observedPass({ object })))).to.deep.include({ Paused: 'False / NotPaused' });
  });
});
