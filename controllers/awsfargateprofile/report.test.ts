import { expect } from 'chai';
import { RoleName } from '../../api/names.ts';
import type { AWSFargateProfileStatus, Condition } from '../../api/v1beta2/index.ts';
import type { Step } from './model.ts';
import type { Pass, Seen } from './pass.ts';
import { why } from './reasons.ts';
import { pausedStatus, statusOf } from './report.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  NOW,
  POD_EXECUTION_POLICY,
  PROFILE,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  THEN,
  aDeletedObject,
  aFailure,
  aProfile,
  aRole,
  anObject,
  asWanted,
  desiredOf,
  desiredOfDeletion,
  observed,
} from './testing/builders.ts';
import { CREATE_PROFILE } from './testing/mutations.ts';
import {
  MINUTE,
  READY,
  conditionsOf,
  failedCreate,
  looked,
  outage,
  passOf,
  ready,
  sibling,
  stop,
} from './testing/passes.ts';
import { FOREIGN } from './testing/situations.ts';

describe('status', () => {
  it('says what AWS says now', () => {
    const health = [{ code: 'AccessDenied', message: 'no', resourceIds: ['x'] }];
    const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED', health }), role: aRole() });
    expect(statusOf(looked({ end: stop(failedCreate), seen }))).to.deep.include({
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

  it('drops what AWS does not say any more', () => {
    const before: AWSFargateProfileStatus = {
      ...READY,
      createRequestedAt: THEN,
      podExecutionRoleARN: ROLE_ARN,
      health: { issues: [{ code: 'AccessDenied' }] },
    };
    const object = anObject({ status: before });
    expect(statusOf(looked({ object })), 'healthy again').not.to.have.property('health');
    const gone = statusOf(looked({ object, seen: observed({ role: aRole() }), end: stop(sibling) }));
    expect(gone).not.to.have.any.keys('profileARN', 'profileStatus', 'podExecutionRoleARN', 'health');
    expect(gone, 'with the profile its create is over').not.to.have.property('createRequestedAt');
  });

  it('says nothing of a profile of the name that is somebody else’s, and that no create of ours can come any more', () => {
    const object = anObject({ status: { profileName: PROFILE, createRequestedAt: THEN } });
    const seen = observed({ profile: aProfile({ tags: FOREIGN }), role: aRole() });
    const end = stop(why('ProfileNotOwned', { name: PROFILE, whose: 'somebody else' }));
    expect(statusOf(looked({ object, seen, end }))).not.to.have.any.keys(
      'createRequestedAt',
      'profileARN',
      'profileStatus',
      'podExecutionRoleARN',
      'subnets',
    );
  });

  it('keeps what was known while AWS cannot be looked at', () => {
    const { conditions: _conditions, ...before } = READY;
    expect(statusOf(passOf({ object: ready(), end: stop(outage) }))).to.deep.include(before);
  });

  it('is not tied to an account in which there is no such cluster', () => {
    const end = stop(why('EKSClusterNotFound', { cluster: EKS_CLUSTER, region: 'eu-west-1' }));
    expect(statusOf(looked({ end, seen: observed({ cluster: 'gone' }) }))).not.to.have.any.keys('account', 'region');
  });

  it('speaks of this generation', () => {
    expect(statusOf(looked({ object: ready({ metadata: { generation: 7 } }) })).observedGeneration).to.equal(7);
  });

  it('does not carry what Cluster API Provider AWS has left there', () => {
    const object = anObject({ status: { failureReason: 'InvalidConfiguration', failureMessage: 'no' } });
    expect(statusOf(looked({ object }))).not.to.have.any.keys('failureReason', 'failureMessage');
  });

  it('is the same the second time: nothing is written when nothing changed', () => {
    const once = statusOf(looked({ object: ready() }));
    const twice = statusOf({ ...looked({ object: anObject({ status: once }) }), now: NOW + 60 * MINUTE });
    expect(twice).to.deep.equal(once);
  });

  describe('provisioned', () => {
    const provisioned = (pass: Pass): boolean | undefined => statusOf(pass).initialization?.provisioned;

    it('is set by a pass that found all as wanted', () => expect(provisioned(looked({}))).to.equal(true));

    it('is not set before', () => {
      expect(provisioned(looked({ end: stop(why('Creating', { name: PROFILE })), seen: observed() }))).to.equal(
        undefined,
      );
    });

    it('stays when the profile fails later', () => {
      const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED' }) });
      expect(provisioned(looked({ object: ready(), end: stop(failedCreate), seen }))).to.equal(true);
    });

    it('is not set by a deletion that has come to its end', () => {
      const object = aDeletedObject();
      expect(provisioned(passOf({ object, desired: desiredOfDeletion(object), seen: observed() }))).to.equal(undefined);
    });
  });

  describe('of the role', () => {
    const roleOf = (pass: Pass) => statusOf(pass).role;

    it('says which it is, that it is ours, and what is attached of ours', () => {
      const role = aRole({ attached: [POD_EXECUTION_POLICY, 'arn:aws:iam::111122223333:policy/theirs'] });
      expect(roleOf(looked({ seen: observed({ profile: aProfile(), role }) }))).to.deep.equal({
        name: ROLE,
        id: 'AROAEXAMPLE',
        managed: true,
        attachedPolicies: [POD_EXECUTION_POLICY],
      });
    });

    it('says that somebody else’s is not ours', () => {
      const shared = RoleName.of('shared');
      const object = anObject({ spec: { roleName: shared } });
      const seen = observed({ profile: aProfile(), role: aRole({ name: shared, tags: {} }) });
      expect(roleOf(looked({ object, seen }))).to.include({ name: 'shared', managed: false });
    });

    it('keeps the id that the access entry is bound to until somebody has seen to that', () => {
      const status: AWSFargateProfileStatus = { role: { name: ROLE, id: 'AROAFORMER', managed: true } };
      const facts = { name: ROLE, arn: ROLE_ARN, id: 'AROAEXAMPLE', cluster: EKS_CLUSTER };
      const object = anObject({ status });
      const stopped = looked({ object, end: stop(why('RoleRecreated', facts)) });
      expect(roleOf(stopped)?.id).to.equal('AROAFORMER');
      expect(roleOf(looked({ object }))?.id).to.equal('AROAEXAMPLE');
    });

    it('is that of the former role, as long as that is still there', () => {
      const former = { name: RoleName.of('former'), id: 'AROAFORMER', managed: true };
      const object = anObject({ status: { role: former } });
      const roles = [
        { name: ROLE, found: aRole() },
        { name: former.name, found: aRole({ name: former.name }) },
      ];
      const end = stop(why('SpecDiffers', { name: PROFILE, fields: ['x'] }));
      expect(roleOf(looked({ object, end, seen: { ...asWanted(), roles } }))).to.deep.equal(former);
      const gone = [
        { name: ROLE, found: aRole() },
        { name: former.name, found: undefined },
      ];
      expect(roleOf(looked({ object, end, seen: { ...asWanted(), roles: gone } }))).to.include({ name: ROLE });
    });

    it('keeps what was known where only a profile in transit was looked at', () => {
      const role = { name: ROLE, id: 'AROAEXAMPLE', managed: true };
      const seen: Seen = { cluster: 'there', profiles: [{ name: PROFILE, found: aProfile({ status: 'CREATING' }) }] };
      const object = anObject({ status: { role } });
      expect(roleOf(looked({ object, seen, end: stop(why('Creating', { name: PROFILE })) }))).to.deep.equal(role);
    });
  });

  describe('of the subnets', () => {
    it('is what a provisioned profile was given, whatever stands under its name now', () => {
      const object = anObject({ status: { ...READY, subnets: ['subnet-0f'] } });
      const end = stop(why('SpecDiffers', { name: PROFILE, fields: ['subnets'] }));
      expect(statusOf(looked({ object, end })).subnets).to.deep.equal(['subnet-0f']);
    });

    it('is that of the profile until then', () => {
      expect(statusOf(looked({})).subnets).to.deep.equal(['subnet-0a', 'subnet-0b']);
    });
  });

  describe('of the keys of tags', () => {
    const object = anObject({ status: { tagKeys: ['former'] }, spec: { additionalTags: { team: 'a' } } });

    it('gives up those that are off by now', () => {
      const { tagKeys = [] } = statusOf(looked({ object }));
      expect(tagKeys).to.include('team').and.not.to.include('former');
      expect(tagKeys).to.include.members(Object.keys(ROLE_TAGS));
    });

    it('keeps them until then', () => {
      expect(statusOf(looked({ object, end: stop(sibling) })).tagKeys).to.deep.equal(['former']);
    });
  });

  describe('of a create that was asked for', () => {
    const status: AWSFargateProfileStatus = { createRequestedAt: THEN, profileName: PROFILE };
    const object = anObject({ status });
    const after = (outcome: Step['outcome'], createUnseen = false) =>
      statusOf(
        looked({
          object,
          desired: desiredOf(object, { createUnseen }),
          seen: observed({ role: aRole() }),
          end: stop(sibling),
          trail: [{ mutation: CREATE_PROFILE, outcome }],
        }),
      ).createRequestedAt;
    const refusedBy = (code: string, statusCode?: number): Step['outcome'] => {
      const { statusCode: _default, ...failure } = aFailure({ code });
      return { kind: 'failed', failure: { ...failure, ...(statusCode !== undefined && { statusCode }) } };
    };

    const rows: readonly (readonly [string, Step['outcome'], boolean])[] = [
      ['taken', { kind: 'done', profile: aProfile({ status: 'CREATING' }) }, true],
      ['refused, as a sibling is busy', { kind: 'siblingBusy', by: PROFILE, doing: 'CREATING' }, false],
      ['refused, as the cluster is updated', { kind: 'clusterUpdating' }, false],
      ['refused, for the trust policy', { kind: 'rolePropagating', failure: aFailure() }, false],
      ['refused, for a subnet', refusedBy('InvalidParameterException', 400), false],
      ['answered with a 500', refusedBy('ServerException', 500), true],
      ["answered with a proxy's page", refusedBy('Undecodable', 408), true],
      ['not answered', refusedBy('NoAnswer'), true],
      ['answered with "exists already"', { kind: 'already' }, true],
    ];
    for (const [what, outcome, isKept] of rows) {
      it(`is ${isKept ? 'kept' : 'taken back'} when it was ${what}`, () => {
        expect(after(outcome)).to.equal(isKept ? THEN : undefined);
      });
    }

    it('is kept while an earlier one may still appear', () => {
      expect(after({ kind: 'clusterUpdating' }, true)).to.equal(THEN);
    });
  });
});

describe('the status of a paused object', () => {
  const BY = ['Cluster spec.paused is set to true'];

  it('is as it was, but that it is paused', () => {
    const status = pausedStatus(ready({ metadata: { generation: 5 } }), BY, NOW);
    const { conditions, ...rest } = status;
    const { conditions: before, ...restBefore } = READY;
    expect(rest, 'the generation is not observed').to.deep.equal(restBefore);
    const others = (list: readonly Condition[] = []) => list.filter(({ type }) => type !== 'Paused');
    expect(others(conditions)).to.deep.equal(others(before));
    expect(conditionsOf(status)['Paused']).to.equal('True / Paused');
  });

  it('says by what', () => {
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

  it('says of a deletion that it waits for that', () => {
    const status = pausedStatus(aDeletedObject({ status: READY }), BY, NOW);
    expect(status.conditions?.find(({ type }) => type === 'Deleting')).to.include({
      status: 'True',
      reason: 'Paused',
      message: 'The deletion waits: Cluster spec.paused is set to true',
    });
  });

  it('is the same the second time', () => {
    const once = pausedStatus(anObject(), BY, NOW);
    expect(pausedStatus(anObject({ status: once }), BY, NOW + MINUTE)).to.deep.equal(once);
  });

  it('ends with the next pass', () => {
    const object = anObject({ status: pausedStatus(ready(), BY, NOW) });
    expect(conditionsOf(statusOf(looked({ object })))).to.deep.include({ Paused: 'False / NotPaused' });
  });
});
