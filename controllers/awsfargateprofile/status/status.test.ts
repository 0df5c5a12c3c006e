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
  MINUTE,
  READY,
  conditionsOf,
  failedCreate,
  observedPass,
  outage,
  completedPass,
  ready,
  sibling,
} from '../testing/completed-pass.ts';
import { FOREIGN_TAGS } from '../testing/fixtures.ts';

describe('statusAfter', () => {
  it('records what AWS reports', () => {
    const health = [{ code: 'AccessDenied', message: 'no', resourceIds: ['x'] }];
    const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED', health }), role: aRole() });
    expect(statusAfter(observedPass({ end: failedCreate, seen }))).to.deep.include({
      account: ACCOUNT,
      region: 'eu-west-1',
      eksClusterName: EKS_CLUSTER,
      profileARN: aProfile().arn,
      profileStatus: 'CREATE_FAILED',
      podExecutionRoleARN: ROLE_ARN,
      subnets: ['subnet-0a', 'subnet-0b'],
      health: { issues: health },
    });
  });

  it('records the first ten health issues, shortened, and says how many there are', () => {
    const health = Array.from({ length: 15 }, (_, index) => ({
      code: `Issue${index}`,
      message: '😀'.repeat(50_000),
      resourceIds: Array.from({ length: 15 }, () => 'r'.repeat(50_000)),
    }));
    const status = statusAfter(observedPass({ seen: observed({ profile: aProfile({ health }), role: aRole() }) }));
    expect(status.health?.issues?.map(({ code, resourceIds }) => [code, resourceIds?.length])).to.deep.equal(
      Array.from({ length: 10 }, (_, index) => [`Issue${index}`, 10]),
    );
    // etcd accepts objects of up to 1.5 MiB.
    expect(Buffer.byteLength(JSON.stringify(status))).to.be.below(1_000_000);
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).to.contain('; and 5 more. Correct');
  });

  it('drops what AWS no longer reports', () => {
    const before: AWSFargateProfileStatus = {
      ...READY,
      createRequestedAt: CREATED_AT,
      podExecutionRoleARN: ROLE_ARN,
      health: { issues: [{ code: 'AccessDenied' }] },
    };
    const object = anObject({ status: before });
    expect(statusAfter(observedPass({ object })), 'healthy again').not.to.have.property('health');
    const gone = statusAfter(observedPass({ object, seen: observed({ role: aRole() }), end: sibling }));
    expect(gone).not.to.have.any.keys('profileARN', 'profileStatus', 'podExecutionRoleARN', 'health');
    expect(gone, 'the profile is gone, and its create is over').not.to.have.property('createRequestedAt');
  });

  it('keeps the ARN of a profile that has lost its tags, also if the spec has another name by now', () => {
    const former = aProfile({ name: ProfileName.of('former'), tags: {} });
    const record = { profileName: former.name, profileARN: former.arn };
    const object = anObject({ spec: { profileName: PROFILE }, status: record });
    const seen: Observed = {
      cluster: 'there',
      profiles: [
        { name: PROFILE, found: undefined },
        { name: former.name, found: former },
      ],
      roles: [{ name: ROLE, found: 'unread' }],
    };
    const about = 'EKSFargateProfileReady';
    const lost = newReason('OwnershipTagMissing', { resource: 'Fargate profile', name: former.name, tags: [], about });
    expect(statusAfter(observedPass({ object, seen, end: lost }))).to.include({ profileARN: former.arn });
  });

  it('records nothing of a foreign profile under the name, and drops our create request', () => {
    const object = anObject({ status: { profileName: PROFILE, createRequestedAt: CREATED_AT } });
    const seen = observed({ profile: aProfile({ tags: FOREIGN_TAGS }), role: aRole() });
    const end = newReason('ProfileNotOwned', { name: PROFILE, whose: 'an unknown owner' });
    expect(statusAfter(observedPass({ object, seen, end }))).not.to.have.any.keys(
      'createRequestedAt',
      'profileARN',
      'profileStatus',
      'podExecutionRoleARN',
      'subnets',
    );
  });

  it('keeps the known state while AWS cannot be read', () => {
    const { conditions: _conditions, ...before } = READY;
    expect(statusAfter(completedPass({ object: ready(), end: outage }))).to.deep.include(before);
  });

  it('records no account in which the EKS cluster does not exist', () => {
    const end = newReason('EKSClusterNotFound', { cluster: EKS_CLUSTER, region: 'eu-west-1' });
    expect(statusAfter(observedPass({ end, seen: observed({ cluster: 'gone' }) }))).not.to.have.any.keys(
      'account',
      'region',
    );
  });

  it('records the generation of the object', () => {
    expect(statusAfter(observedPass({ object: ready({ metadata: { generation: 7 } }) })).observedGeneration).to.equal(
      7,
    );
  });

  it('drops the failure fields of Cluster API Provider AWS', () => {
    const object = anObject({ status: { failureReason: 'InvalidConfiguration', failureMessage: 'no' } });
    expect(statusAfter(observedPass({ object }))).not.to.have.any.keys('failureReason', 'failureMessage');
  });

  it('returns an equal status when nothing has changed, so that status is not written again', () => {
    const once = statusAfter(observedPass({ object: ready() }));
    const twice = statusAfter({ ...observedPass({ object: anObject({ status: once }) }), now: NOW + 60 * MINUTE });
    expect(twice).to.deep.equal(once);
  });

  describe('status.initialization.provisioned', () => {
    const provisioned = (pass: CompletedPass): boolean | undefined => statusAfter(pass).initialization?.provisioned;

    it('is true after a pass that found AWS as desired', () => expect(provisioned(observedPass({}))).to.equal(true));

    it('is absent while EKS creates the profile', () => {
      expect(provisioned(observedPass({ end: newReason('Creating', { name: PROFILE }), seen: observed() }))).to.equal(
        undefined,
      );
    });

    it('stays true when the profile fails later', () => {
      const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED' }) });
      expect(provisioned(observedPass({ object: ready(), end: failedCreate, seen }))).to.equal(true);
    });

    it('is absent after a completed deletion', () => {
      const object = aDeletedObject();
      expect(provisioned(completedPass({ object, desired: desiredOfDeletion(object), seen: observed() }))).to.equal(
        undefined,
      );
    });
  });

  describe('status.role', () => {
    const roleOf = (pass: CompletedPass) => statusAfter(pass).role;

    it('has the name, the id, the owner and the attached policies of ours', () => {
      const role = aRole({ attached: [POD_EXECUTION_POLICY, 'arn:aws:iam::111122223333:policy/theirs'] });
      expect(roleOf(observedPass({ seen: observed({ profile: aProfile(), role }) }))).to.deep.equal({
        name: ROLE,
        id: 'AROAEXAMPLE',
        accessEntryCheckedFor: 'AROAEXAMPLE',
        managed: true,
        attachedPolicies: [POD_EXECUTION_POLICY],
      });
    });

    it('is not managed when the role has another owner', () => {
      const shared = RoleName.of('shared');
      const object = anObject({ spec: { roleName: shared } });
      const seen = observed({ profile: aProfile(), role: aRole({ name: shared, tags: {} }) });
      expect(roleOf(observedPass({ object, seen }))).to.include({ name: 'shared', managed: false });
    });

    it('has no policies of this controller when the role has another owner', () => {
      const status = {
        role: { name: ROLE, id: 'AROAEXAMPLE', managed: true, attachedPolicies: [POD_EXECUTION_POLICY] },
      };
      const object = anObject({ spec: { roleName: ROLE }, status });
      const seen = observed({ profile: aProfile(), role: aRole({ tags: { [NAMESPACE_TAG]: 'team-b' } }) });
      expect(roleOf(observedPass({ object, seen }))).to.deep.equal({ name: ROLE, id: 'AROAEXAMPLE', managed: false });
    });

    it('has nothing of a former role when the role has another name', () => {
      const former = { name: RoleName.of('former'), id: 'AROAFORMER', managed: true, attachedPolicies: ['x'] };
      expect(roleOf(observedPass({ object: anObject({ status: { role: former } }) }))).to.deep.equal({
        name: ROLE,
        id: 'AROAEXAMPLE',
        accessEntryCheckedFor: 'AROAEXAMPLE',
        managed: true,
        attachedPolicies: [POD_EXECUTION_POLICY],
      });
    });

    it('has no policy that was recorded while the role had another owner', () => {
      const theirs = 'arn:aws:iam::111122223333:policy/theirs';
      const object = anObject({ status: { role: { name: ROLE, managed: false, attachedPolicies: [theirs] } } });
      const seen = observed({ profile: aProfile(), role: aRole({ attached: [POD_EXECUTION_POLICY, theirs] }) });
      expect(roleOf(observedPass({ object, seen }))?.attachedPolicies).to.deep.equal([POD_EXECUTION_POLICY]);
    });

    describe('has a permissions boundary', () => {
      const [bound, theirs] = ['arn:aws:iam::111122223333:policy/bound', 'arn:aws:iam::111122223333:policy/theirs'];
      const boundaryAfter = (found: string, inSpec?: string, recorded?: string) => {
        const object = anObject({
          ...(inSpec !== undefined && { spec: { rolePermissionsBoundary: inSpec } }),
          ...(recorded !== undefined && { status: { role: { name: ROLE, permissionsBoundary: recorded } } }),
        });
        const seen = observed({ profile: aProfile(), role: aRole({ permissionsBoundary: found }) });
        return roleOf(observedPass({ object, seen }))?.permissionsBoundary;
      };

      it('if the spec names it', () => expect(boundaryAfter(bound, bound)).to.equal(bound));
      it('if the controller set it earlier', () => expect(boundaryAfter(bound, undefined, bound)).to.equal(bound));
      it('but none that another client set', () => expect(boundaryAfter(theirs)).to.equal(undefined));
      it('until another client replaces it', () => expect(boundaryAfter(theirs, undefined, bound)).to.equal(undefined));
      it('that is still on the role when IAM has refused the one in the spec', () => {
        expect(boundaryAfter(bound, theirs, bound)).to.equal(bound);
      });
    });

    it('keeps the policies of this controller while the role is being deleted', () => {
      const role = { name: ROLE, id: 'AROAEXAMPLE', managed: true, attachedPolicies: [POD_EXECUTION_POLICY] };
      const object = aDeletedObject({ status: { role } });
      const end = newReason('RoleBlocked', { name: ROLE, blockers: ['an inline policy'] });
      const pass = completedPass({
        object,
        desired: desiredOfDeletion(object),
        seen: observed({ role: aRole() }),
        end,
      });
      expect(roleOf(pass)).to.deep.equal(role);
    });

    it('keeps the id to which the access entry is bound until the user has updated the access entry', () => {
      const status: AWSFargateProfileStatus = { role: { name: ROLE, id: 'AROAFORMER', managed: true } };
      const facts = { name: ROLE, arn: ROLE_ARN, id: 'AROAEXAMPLE', cluster: EKS_CLUSTER, entry: 'outdated' } as const;
      const object = anObject({ status });
      const stopped = observedPass({ object, end: newReason('RoleRecreated', facts) });
      expect(roleOf(stopped)?.id).to.equal('AROAFORMER');
      expect(roleOf(observedPass({ object }))?.id).to.equal('AROAEXAMPLE');
    });

    it('stays the former role as long as that role exists', () => {
      const former = { name: RoleName.of('former'), id: 'AROAFORMER', managed: true };
      const object = anObject({ status: { role: former } });
      const roles = [
        { name: ROLE, found: aRole() },
        { name: former.name, found: aRole({ name: former.name }) },
      ];
      const end = newReason('SpecDiffers', { name: PROFILE, fields: ['x'], isProvisioned: false });
      expect(roleOf(observedPass({ object, end, seen: { ...asWanted(), roles } }))).to.deep.equal(former);
      const gone = [
        { name: ROLE, found: aRole() },
        { name: former.name, found: undefined },
      ];
      expect(roleOf(observedPass({ object, end, seen: { ...asWanted(), roles: gone } }))).to.include({ name: ROLE });
    });

    it('stays as recorded when the pass observed only a profile in transit', () => {
      const role = { name: ROLE, id: 'AROAEXAMPLE', managed: true };
      const seen: Observed = {
        cluster: 'there',
        profiles: [{ name: PROFILE, found: aProfile({ status: 'CREATING' }) }],
        roles: [{ name: ROLE, found: 'unread' }],
      };
      const object = anObject({ status: { role } });
      expect(roleOf(observedPass({ object, seen, end: newReason('Creating', { name: PROFILE }) }))).to.deep.equal(role);
    });
  });

  describe('status.subnets', () => {
    it('keeps the subnets of a provisioned profile, whatever profile has its name now', () => {
      const object = anObject({ status: { ...READY, subnets: ['subnet-0f'] } });
      const end = newReason('SpecDiffers', { name: PROFILE, fields: ['subnets'], isProvisioned: false });
      expect(statusAfter(observedPass({ object, end })).subnets).to.deep.equal(['subnet-0f']);
    });

    it('has the subnets of the profile until the profile is provisioned', () => {
      expect(statusAfter(observedPass({})).subnets).to.deep.equal(['subnet-0a', 'subnet-0b']);
    });
  });

  describe('status.tagKeys', () => {
    const object = anObject({ status: { tagKeys: ['former'] }, spec: { additionalTags: { team: 'a' } } });

    it('drops the keys that the spec no longer has, once the pass has settled', () => {
      const { tagKeys = [] } = statusAfter(observedPass({ object }));
      expect(tagKeys).to.include('team').and.not.to.include('former');
      expect(tagKeys).to.include.members(Object.keys(ROLE_TAGS));
    });

    it('keeps all keys until the pass has settled', () => {
      expect(statusAfter(observedPass({ object, end: sibling })).tagKeys).to.deep.equal(['former']);
    });
  });

  describe('status.createRequestedAt', () => {
    const status: AWSFargateProfileStatus = { createRequestedAt: CREATED_AT, profileName: PROFILE };
    const object = anObject({ status });
    const after = (outcome: Step['outcome'], isCreateUnconfirmed = false) =>
      statusAfter(
        observedPass({
          object,
          desired: desiredOf(object, { isCreateUnconfirmed }),
          seen: observed({ role: aRole() }),
          end: sibling,
          steps: [{ mutation: CREATE_PROFILE, outcome }],
        }),
      ).createRequestedAt;
    const refusedBy = (code: string, statusCode?: number): Step['outcome'] => {
      const { statusCode: _default, ...failure } = aFailure({ code });
      return { kind: 'failed', failure: { ...failure, ...(statusCode !== undefined && { statusCode }) } };
    };

    const rows: readonly (readonly [string, Step['outcome'], boolean])[] = [
      ['accepted', { kind: 'done', profile: aProfile({ status: 'CREATING' }) }, true],
      ['refused because EKS changes a sibling', { kind: 'siblingBusy', by: PROFILE, doing: 'CREATING' }, false],
      ['refused because EKS updates the cluster', { kind: 'clusterUpdating', failure: aFailure() }, false],
      ['refused for the trust policy', { kind: 'roleRejected', failure: aFailure() }, false],
      ['refused for a subnet', refusedBy('InvalidParameterException', 400), false],
      ['answered with a 500', refusedBy('ServerException', 500), true],
      ["answered with a proxy's page", refusedBy('Undecodable', 408), true],
      ['not answered', refusedBy('NoAnswer'), true],
      ['answered with "exists already"', { kind: 'nameTaken' }, true],
    ];
    for (const [answer, outcome, isKept] of rows) {
      it(`is ${isKept ? 'kept' : 'dropped'} when the create was ${answer}`, () => {
        expect(after(outcome)).to.equal(isKept ? CREATED_AT : undefined);
      });
    }

    it('is kept while an earlier create is unconfirmed', () => {
      expect(after({ kind: 'clusterUpdating', failure: aFailure() }, true)).to.equal(CREATED_AT);
    });
  });

  describe('status.role.attachedPolicies, recorded before the role is created,', () => {
    const object = anObject({ status: { role: { name: ROLE, attachedPolicies: [POD_EXECUTION_POLICY] } } });
    const policiesAfter = (outcome: Step['outcome']) => {
      const steps = [{ mutation: CREATE_ROLE, outcome }];
      const pass = { object, desired: desiredOf(object), seen: observed({}), end: sibling, steps };
      return statusAfter(observedPass(pass)).role?.attachedPolicies;
    };

    it('are dropped when IAM refused the role, because a missing role has no policies', () => {
      expect(policiesAfter({ kind: 'failed', failure: aFailure({ code: 'LimitExceeded', statusCode: 409 }) })).to.equal(
        undefined,
      );
    });

    it('stay when the role may have been created', () => {
      const outcomes: readonly Step['outcome'][] = [
        { kind: 'failed', failure: aFailure({ code: 'ServiceFailure', statusCode: 500 }) },
        { kind: 'nameTaken' },
      ];
      for (const outcome of outcomes) expect(policiesAfter(outcome)).to.deep.equal([POD_EXECUTION_POLICY]);
    });
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

  it('reports in Deleting that a deletion waits for the end of the pause', () => {
    const status = pausedStatus(aDeletedObject({ status: READY }), BY, NOW);
    expect(status.conditions?.find(({ type }) => type === 'Deleting')).to.include({
      status: 'True',
      reason: 'Paused',
      message: 'The deletion waits for the end of the pause: Cluster spec.paused is set to true',
    });
  });

  it('returns an equal status when nothing has changed', () => {
    const once = pausedStatus(anObject(), BY, NOW);
    expect(pausedStatus(anObject({ status: once }), BY, NOW + MINUTE)).to.deep.equal(once);
  });

  it('is followed by Paused False after the next pass', () => {
    const object = anObject({ status: pausedStatus(ready(), BY, NOW) });
    expect(conditionsOf(statusAfter(observedPass({ object })))).to.deep.include({ Paused: 'False / NotPaused' });
  });
});
