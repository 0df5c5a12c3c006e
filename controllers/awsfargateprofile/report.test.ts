import { expect } from 'chai';
import { RoleName } from '../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus, Condition } from '../../api/v1beta2/index.ts';
import type { Desired, Step } from './model.ts';
import type { End, Pass, Seen } from './pass.ts';
import type { Why } from './reasons.ts';
import { PATIENCE, why } from './reasons.ts';
import { pausedStatus, statusOf } from './report.ts';
import type { ObjectParts } from './testing/builders.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  NOW,
  POD_EXECUTION_POLICY,
  PROFILE,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
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

const THEN = '2026-11-20T10:00:00Z';
const SETTLED: End = { kind: 'settled' };
const stop = (reason: Why): End => ({ kind: 'stopped', why: reason });
const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: THEN,
  observedGeneration: 1,
});

/** The status of an object that has been Ready for long. */
const READY: AWSFargateProfileStatus = {
  observedGeneration: 1,
  ready: true,
  initialization: { provisioned: true },
  profileName: PROFILE,
  profileARN: aProfile().arn,
  profileStatus: 'ACTIVE',
  conditions: [
    condition('Ready', 'True', 'Ready', 'as before'),
    condition('CredentialsReady', 'True', 'Authenticated'),
    condition('EKSFargateProfileReady', 'True', 'Active'),
    condition('IAMFargateRolesReady', 'True', 'Ready'),
    condition('Reconciling', 'False', 'Idle'),
    condition('Stalled', 'False', 'NotStalled'),
    condition('Paused', 'False', 'NotPaused'),
    condition('Deleting', 'False', 'NotDeleting'),
  ],
};

interface Given {
  readonly object?: AWSFargateProfile;
  readonly end?: End;
  readonly desired?: Desired | undefined;
  readonly seen?: Seen | undefined;
  readonly trail?: readonly Step[];
  readonly waited?: number;
  readonly attempts?: number;
}

function passOf({ object = anObject(), end = SETTLED, desired, seen, ...rest }: Given): Pass {
  return {
    object,
    end,
    trail: [],
    now: NOW,
    waited: 0,
    attempts: 0,
    ...(desired && { desired }),
    ...(seen && { observed: seen }),
    ...rest,
  };
}

const looked = (given: Given): Pass => passOf({ desired: desiredOf(given.object), seen: asWanted(), ...given });

const conditionsOf = (status: AWSFargateProfileStatus): Readonly<Record<string, string>> =>
  Object.fromEntries((status.conditions ?? []).map((each) => [each.type, `${each.status} / ${each.reason}`]));

/** Ready, Reconciling and Stalled after the pass, each as `status / reason`. */
function phase(
  pass: Pass,
): readonly [ready: string | undefined, reconciling: string | undefined, stalled: string | undefined] {
  const conditions = conditionsOf(statusOf(pass));
  return [conditions['Ready'], conditions['Reconciling'], conditions['Stalled']];
}

const MINUTE = 60_000;
const outage = why('AWSUnavailable', { words: 'no answer', about: 'EKSFargateProfileReady' });
const unreadable = why('WaitingForAPI', { kind: 'Cluster', why: 'the kind is not served' });
const sibling = why('WaitingForSibling', { ahead: 'team-a_api', doing: 'being created', foreign: false });
const failedCreate = why('CreateFailed', {
  name: PROFILE,
  issues: [{ code: 'AccessDenied', message: 'no', resourceIds: [] }],
});
const ready = (parts: ObjectParts = {}): AWSFargateProfile => anObject({ ...parts, status: READY });

describe('the phases', () => {
  const waits: readonly (readonly [string, Why])[] = [
    ['its Cluster', why('WaitingForCluster', { cluster: 'team-a/prod' })],
    ['its control plane', why('WaitingForEKSControlPlane', { words: 'not ready' })],
    ['a sibling', sibling],
    ['IAM', why('Propagating', { what: 'the trust policy' })],
    ['the quota', why('QuotaExceeded', { words: 'limit exceeded' })],
    ['an update of the cluster', why('ClusterUpdating', { cluster: EKS_CLUSTER, remaining: 1 })],
    ['creation', why('Creating', { name: PROFILE })],
  ];
  for (const [what, reason] of waits) {
    it(`waiting for ${what}: Reconciling`, () => {
      expect(phase(looked({ end: stop(reason), seen: observed() }))).to.deep.equal([
        `False / ${reason.reason}`,
        `True / ${reason.reason}`,
        'False / NotStalled',
      ]);
    });
  }

  it('ACTIVE at this generation: Ready', () => {
    expect(phase(looked({}))).to.deep.equal(['True / Ready', 'False / Idle', 'False / NotStalled']);
  });

  const humans: readonly (readonly [string, Why])[] = [
    ['refused by EKS', why('Refused', { words: 'not a private subnet', about: 'EKSFargateProfileReady' })],
    ['denied by IAM', why('AccessDenied', { words: 'no', about: 'IAMFargateRolesReady' })],
    ['the name is taken', why('ProfileNotOwned', { name: PROFILE, whose: 'somebody else' })],
    ['the spec differs', why('SpecDiffers', { name: PROFILE, fields: ['subnets'] })],
    ['no credentials', why('CredentialsMissing', { words: 'none' })],
  ];
  for (const [what, reason] of humans) {
    it(`${what}: Stalled`, () => {
      expect(phase(looked({ end: stop(reason), seen: observed() }))).to.deep.equal([
        `False / ${reason.reason}`,
        'False / Stalled',
        `True / ${reason.reason}`,
      ]);
    });
  }

  it('CREATE_FAILED and being retried: Reconciling, and Stalled after some tries', () => {
    const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED' }), role: aRole() });
    const after = (attempts: number) => phase(looked({ end: stop(failedCreate), seen, attempts }));
    expect(after(0)).to.deep.equal(['False / CreateFailed', 'True / CreateFailed', 'False / NotStalled']);
    expect(after(PATIENCE - 1)).to.deep.equal(after(0));
    expect(after(PATIENCE)).to.deep.equal(['False / CreateFailed', 'False / Stalled', 'True / CreateFailed']);
  });

  it('being made once more after it failed often: what is wrong stays said', () => {
    const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED' }), role: aRole() });
    const stalled = statusOf(looked({ end: stop(failedCreate), seen, attempts: PATIENCE }));
    const object = anObject({ status: stalled });
    const again = looked({
      object,
      end: stop(why('Creating', { name: PROFILE })),
      seen: observed(),
      attempts: PATIENCE,
    });
    expect(phase(again)).to.deep.equal(['False / Creating', 'False / Stalled', 'True / CreateFailed']);
    expect(phase({ ...again, attempts: 0 }), 'with another spec').to.deep.equal([
      'False / Creating',
      'True / Creating',
      'False / NotStalled',
    ]);
  });

  it('an error that nobody knows: Reconciling, and Stalled after two minutes', () => {
    const error = why('AWSError', { words: 'I am a teapot', about: 'EKSFargateProfileReady' });
    const after = (waited: number) => phase(looked({ end: stop(error), seen: observed(), waited }));
    expect(after(2 * MINUTE - 1)).to.deep.equal(['False / AWSError', 'True / AWSError', 'False / NotStalled']);
    expect(after(2 * MINUTE)).to.deep.equal(['False / AWSError', 'False / Stalled', 'True / AWSError']);
  });

  describe('AWS or the API server out of reach', () => {
    for (const reason of [outage, unreadable]) {
      it(`${reason.reason} while Ready: believed for a quarter of an hour, all conditions as they were`, () => {
        const object = ready();
        const status = statusOf(passOf({ object, end: stop(reason), waited: 15 * MINUTE - 1 }));
        expect(status.conditions).to.deep.equal(READY.conditions);
        expect(status.ready).to.equal(true);
      });

      it(`${reason.reason} while Ready, for longer: Unknown`, () => {
        const status = statusOf(passOf({ object: ready(), end: stop(reason), waited: 15 * MINUTE }));
        expect(conditionsOf(status)['Ready']).to.equal(`Unknown / ${reason.reason}`);
        expect(conditionsOf(status)['Stalled']).to.equal('False / NotStalled');
        expect(status.ready).to.equal(false);
      });

      it(`${reason.reason} since before it was Ready: False, Reconciling`, () => {
        const [isReady, reconciling, stalled] = phase(passOf({ end: stop(reason) }));
        expect(isReady).to.equal(`False / ${reason.reason}`);
        expect(reconciling).to.equal(`True / ${reason.reason}`);
        expect(stalled).to.equal('False / NotStalled');
      });
    }

    it('is not believed of a generation that was never Ready', () => {
      const object = ready({ metadata: { generation: 2 } });
      expect(phase(passOf({ object, end: stop(outage) }))[0]).to.equal('False / AWSUnavailable');
    });

    it('stays Unknown as long as it lasts', () => {
      const lost = statusOf(passOf({ object: ready(), end: stop(outage), waited: 15 * MINUTE }));
      const object = anObject({ status: lost });
      expect(phase(passOf({ object, end: stop(outage), waited: 20 * MINUTE }))[0]).to.equal('Unknown / AWSUnavailable');
    });
  });

  it('control plane not ready while Ready: unchanged, its readiness gates creation alone', () => {
    const noCreation = why('WaitingForEKSControlPlane', { words: 'not ready' });
    const desired: Desired = { ...desiredOf(ready()), noCreation };
    expect(phase(looked({ object: ready(), desired }))[0]).to.equal('True / Ready');
  });

  it('deleting: not Ready, Deleting says the step', () => {
    const object = aDeletedObject({ status: READY });
    const desired = desiredOfDeletion(object);
    const seen = observed({ profile: aProfile({ status: 'DELETING' }) });
    const conditions = conditionsOf(
      statusOf(passOf({ object, desired, seen, end: stop(why('DeletingProfile', { name: PROFILE })) })),
    );
    expect(conditions).to.deep.include({
      Ready: 'False / Deleting',
      Reconciling: 'True / DeletingProfile',
      Stalled: 'False / NotStalled',
      Deleting: 'True / DeletingProfile',
    });
  });

  it('deletion blocked: Stalled', () => {
    const object = aDeletedObject({ status: READY });
    const end = stop(why('RoleBlocked', { name: ROLE, blockers: ['the inline policy "x"'] }));
    const conditions = conditionsOf(
      statusOf(passOf({ object, desired: desiredOfDeletion(object), seen: observed(), end })),
    );
    expect(conditions).to.deep.include({
      Ready: 'False / Deleting',
      Reconciling: 'False / Stalled',
      Stalled: 'True / RoleBlocked',
      Deleting: 'True / RoleBlocked',
    });
  });

  it('an outage during a deletion is not believed away', () => {
    const object = aDeletedObject({ status: READY });
    const conditions = conditionsOf(statusOf(passOf({ object, end: stop(outage) })));
    expect(conditions).to.deep.include({ Ready: 'False / Deleting', Deleting: 'True / AWSUnavailable' });
  });

  it('never Stalled and Reconciling at once', () => {
    const reasons = [...waits, ...humans].map(([, reason]) => reason);
    for (const reason of [...reasons, outage, unreadable, failedCreate, sibling]) {
      for (const object of [anObject(), ready(), aDeletedObject()]) {
        for (const attempts of [0, PATIENCE]) {
          const [, reconciling, stalled] = phase(passOf({ object, end: stop(reason), attempts }));
          expect(reconciling?.startsWith('True') && stalled?.startsWith('True'), reason.reason).to.equal(false);
        }
      }
    }
  });
});

describe('the conditions of the parts', () => {
  const partsOf = (pass: Pass) => {
    const { CredentialsReady, EKSFargateProfileReady, IAMFargateRolesReady } = conditionsOf(statusOf(pass));
    return { CredentialsReady, EKSFargateProfileReady, IAMFargateRolesReady };
  };

  it('are all True when all is well', () => {
    expect(partsOf(looked({}))).to.deep.equal({
      CredentialsReady: 'True / Authenticated',
      EKSFargateProfileReady: 'True / Active',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('say of the profile what it waits for, and of the role that it is there', () => {
    expect(partsOf(looked({ end: stop(sibling), seen: observed({ role: aRole() }) }))).to.deep.include({
      EKSFargateProfileReady: 'False / WaitingForSibling',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('say of the role what is wrong with it, and of the profile that it waits for that', () => {
    const end = stop(why('RoleNotFound', { name: ROLE }));
    expect(partsOf(looked({ end, seen: observed() }))).to.deep.include({
      CredentialsReady: 'True / Authenticated',
      EKSFargateProfileReady: 'False / WaitingForRole',
      IAMFargateRolesReady: 'False / RoleNotFound',
    });
  });

  it('say of the credentials what is wrong with them, and keep what was known of the others', () => {
    const end = stop(why('WrongAccount', { recorded: ACCOUNT, found: '444455556666' }));
    expect(partsOf(passOf({ object: ready(), end }))).to.deep.equal({
      CredentialsReady: 'False / WrongAccount',
      EKSFargateProfileReady: 'True / Active',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('say that nothing is known before anything was looked at', () => {
    const end = stop(why('WaitingForCluster', { cluster: 'team-a/prod' }));
    expect(partsOf(passOf({ end }))).to.deep.equal({
      CredentialsReady: 'Unknown / NotChecked',
      EKSFargateProfileReady: 'Unknown / NotChecked',
      IAMFargateRolesReady: 'Unknown / NotChecked',
    });
  });

  it('keep what was known of the role while a profile in transit is all that is looked at', () => {
    const seen: Seen = { cluster: 'there', profiles: [{ name: PROFILE, found: aProfile({ status: 'CREATING' }) }] };
    const end = stop(why('Creating', { name: PROFILE }));
    expect(partsOf(looked({ object: ready(), end, seen }))).to.deep.include({
      EKSFargateProfileReady: 'False / Creating',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('say of both that they are being deleted', () => {
    const object = aDeletedObject({ status: READY });
    const end = stop(why('DeletingProfile', { name: PROFILE }));
    const seen = observed({ profile: aProfile({ status: 'DELETING' }), role: aRole() });
    expect(partsOf(passOf({ object, desired: desiredOfDeletion(object), seen, end }))).to.deep.include({
      EKSFargateProfileReady: 'False / DeletingProfile',
      IAMFargateRolesReady: 'False / Deleting',
    });
  });
});

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
    const create: Step['mutation'] = {
      kind: 'createProfile',
      profile: {
        cluster: EKS_CLUSTER,
        name: PROFILE,
        podExecutionRoleArn: ROLE_ARN,
        subnets: [],
        selectors: [],
        tags: {},
      },
    };
    const after = (outcome: Step['outcome'], createUnseen = false) =>
      statusOf(
        looked({
          object,
          desired: desiredOf(object, { createUnseen }),
          seen: observed({ role: aRole() }),
          end: stop(sibling),
          trail: [{ mutation: create, outcome }],
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
