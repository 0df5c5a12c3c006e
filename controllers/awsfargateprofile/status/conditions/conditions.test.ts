import { expect } from 'chai';
import type { Desired } from '../../model/desired-state.ts';
import type { Observed } from '../../model/observed-state.ts';
import type { CompletedPass } from '../../model/pass.ts';
import type { AffectedConditionType, Reason } from '../../reasons/reasons.ts';
import { newReason } from '../../reasons/reasons.ts';
import { conditionsAfter } from './conditions.ts';
import { ATTEMPTS_UNTIL_STALLED } from '../../reasons/spec/time-until-stalled.ts';
import { statusAfter } from '../status.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_TAGS,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../../testing/builders.ts';
import { recordTag } from '../../testing/expected-state.ts';
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
  unreadable,
} from '../../testing/completed-pass.ts';

/** Returns the conditions Ready, Reconciling and Stalled after a reconcile, each as `status / reason`. */
function phase(
  pass: CompletedPass,
): readonly [ready: string | undefined, reconciling: string | undefined, stalled: string | undefined] {
  const conditions = conditionsOf(statusAfter(pass));
  return [conditions['Ready'], conditions['Reconciling'], conditions['Stalled']];
}

describe('conditionsAfter', () => {
  const waits: readonly (readonly [string, Reason])[] = [
    ['its Cluster', newReason('WaitingForCluster', { cluster: 'team-a/prod' })],
    ['its control plane', newReason('WaitingForEKSControlPlane', { detail: 'not ready' })],
    ['a sibling', sibling],
    ['IAM', newReason('Propagating', { detail: 'IAM takes its time' })],
    ['the quota', newReason('QuotaExceeded', { detail: 'limit exceeded' })],
    ['an update of the cluster', newReason('ClusterUpdating', { cluster: EKS_CLUSTER, said: 'no', remaining: 1 })],
    ['creation', newReason('Creating', { name: PROFILE })],
  ];
  for (const [what, reason] of waits) {
    it(`sets Reconciling while the object waits for ${what}`, () => {
      expect(phase(observedPass({ end: reason, seen: observed() }))).to.deep.equal([
        `False / ${reason.name}`,
        `True / ${reason.name}`,
        'False / NotStalled',
      ]);
    });
  }

  it('sets Ready when the profile is ACTIVE as desired', () => {
    expect(phase(observedPass({}))).to.deep.equal(['True / Ready', 'False / Idle', 'False / NotStalled']);
  });

  it('keeps Ready when EKS reports health issues of the ACTIVE profile, and says them in its message', () => {
    const health = [{ code: 'AccessDenied', message: 'The role cannot be assumed.', resourceIds: ['pods'] }];
    const pass = observedPass({ seen: observed({ profile: aProfile({ health }), role: aRole() }) });
    expect(phase(pass)).to.deep.equal(['True / Ready', 'False / Idle', 'False / NotStalled']);
    expect(conditionsAfter(pass).find(({ type }) => type === 'Ready')?.message).to.equal(
      `The Fargate profile is ACTIVE and matches the spec. EKS reports health issues of Fargate profile "${PROFILE}". EKS says: AccessDenied: The role cannot be assumed. (resources: pods). Correct the problem that EKS names, because new pods may fail to start.`,
    );
  });

  const humans: readonly (readonly [string, Reason])[] = [
    [
      'EKS refuses a request',
      newReason('Refused', { detail: 'not a private subnet', about: 'EKSFargateProfileReady' }),
    ],
    [
      'another owner has a profile of the name',
      newReason('ProfileNotOwned', { name: PROFILE, whose: 'an unknown owner' }),
    ],
    [
      'the spec differs from the profile',
      newReason('SpecDiffers', { name: PROFILE, fields: ['subnets'], isProvisioned: false }),
    ],
    ['identities form a loop', newReason('IdentityLoop', { detail: 'a loop' })],
    ['no region can have the name', newReason('RegionInvalid', { region: 'us_east_1' })],
  ];
  for (const [situation, reason] of humans) {
    it(`sets Stalled when ${situation}`, () => {
      expect(phase(observedPass({ end: reason, seen: observed() }))).to.deep.equal([
        `False / ${reason.name}`,
        'False / Stalled',
        `True / ${reason.name}`,
      ]);
    });
  }

  it('sets Reconciling while a CREATE_FAILED profile is retried, and Stalled after several retries', () => {
    const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED' }), role: aRole() });
    const after = (attempts: number) => phase(observedPass({ end: failedCreate, seen, attempts }));
    expect(after(0)).to.deep.equal(['False / CreateFailed', 'True / CreateFailed', 'False / NotStalled']);
    expect(after(ATTEMPTS_UNTIL_STALLED - 1)).to.deep.equal(after(0));
    expect(after(ATTEMPTS_UNTIL_STALLED)).to.deep.equal([
      'False / CreateFailed',
      'False / Stalled',
      'True / CreateFailed',
    ]);
  });

  it('keeps Stalled while a profile that failed often is created again', () => {
    const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED' }), role: aRole() });
    const stalled = statusAfter(observedPass({ end: failedCreate, seen, attempts: ATTEMPTS_UNTIL_STALLED }));
    const object = anObject({ status: stalled });
    const again = observedPass({
      object,
      end: newReason('Creating', { name: PROFILE }),
      seen: observed(),
      attempts: ATTEMPTS_UNTIL_STALLED,
    });
    expect(phase(again)).to.deep.equal(['False / Creating', 'False / Stalled', 'True / CreateFailed']);
    expect(phase({ ...again, attempts: 0 }), 'with another spec').to.deep.equal([
      'False / Creating',
      'True / Creating',
      'False / NotStalled',
    ]);
  });

  const missing: readonly (readonly [string, Reason])[] = [
    ['credentials', newReason('CredentialsMissing', { detail: 'none' })],
    ['an identity', newReason('IdentityNotFound', { detail: 'none', missing: 'it' })],
    ['a Secret', newReason('SecretNotFound', { detail: 'none', missing: 'it' })],
    ['a permission of the namespace', newReason('IdentityNotAllowed', { detail: 'none' })],
    [
      'a permission in AWS',
      newReason('AccessDenied', {
        detail: 'no',
        denial: {},
        called: 'iam:CreateRole',
        region: 'eu-west-1',
        about: 'IAMFargateRolesReady',
      }),
    ],
  ];
  for (const [what, reason] of missing) {
    it(`sets Reconciling while ${what} is missing, and Stalled after two minutes`, () => {
      const after = (waited: number) => phase(observedPass({ end: reason, seen: observed(), waited }));
      const { name } = reason;
      expect(after(2 * MINUTE - 1)).to.deep.equal([`False / ${name}`, `True / ${name}`, 'False / NotStalled']);
      expect(after(2 * MINUTE)).to.deep.equal([`False / ${name}`, 'False / Stalled', `True / ${name}`]);
    });
  }

  it('sets Reconciling for an unknown error of AWS, and Stalled after two minutes', () => {
    const error = newReason('AWSError', { detail: 'I am a teapot', about: 'EKSFargateProfileReady' });
    const after = (waited: number) => phase(observedPass({ end: error, seen: observed(), waited }));
    expect(after(2 * MINUTE - 1)).to.deep.equal(['False / AWSError', 'True / AWSError', 'False / NotStalled']);
    expect(after(2 * MINUTE)).to.deep.equal(['False / AWSError', 'False / Stalled', 'True / AWSError']);
  });

  describe('while AWS or the API server is out of reach', () => {
    for (const reason of [outage, unreadable]) {
      it(`keeps all conditions of a Ready object for a quarter of an hour: ${reason.name}`, () => {
        const object = ready();
        const status = statusAfter(completedPass({ object, end: reason, waited: 15 * MINUTE - 1 }));
        expect(status.conditions).to.deep.equal(READY.conditions);
        expect(status.ready).to.equal(true);
      });

      it(`sets Ready to Unknown and Reconciling to False after a quarter of an hour on a Ready object: ${reason.name}`, () => {
        const pass = completedPass({ object: ready(), end: reason, waited: 15 * MINUTE });
        expect(phase(pass)).to.deep.equal([`Unknown / ${reason.name}`, 'False / Idle', 'False / NotStalled']);
        expect(statusAfter(pass).ready).to.equal(false);
      });

      it(`sets Ready to False and Reconciling to True on an object that never was Ready: ${reason.name}`, () => {
        const [isReady, reconciling, stalled] = phase(completedPass({ end: reason }));
        expect(isReady).to.equal(`False / ${reason.name}`);
        expect(reconciling).to.equal(`True / ${reason.name}`);
        expect(stalled).to.equal('False / NotStalled');
      });
    }

    it('sets Ready to False at once for a profile that the pass saw absent, or in another status than ACTIVE', () => {
      for (const seen of [observed(), observed({ profile: aProfile({ status: 'DELETING' }) })]) {
        const pass = observedPass({ object: ready(), end: outage, seen });
        expect(phase(pass)).to.deep.equal(['False / AWSUnavailable', 'True / AWSUnavailable', 'False / NotStalled']);
        expect(conditionsOf(statusAfter(pass))['EKSFargateProfileReady']).to.equal('False / AWSUnavailable');
      }
      const active = observedPass({ object: ready(), end: outage, seen: observed({ profile: aProfile() }) });
      expect(phase(active)[0]).to.equal('True / Ready');
    });

    it('sets Ready to False at a generation that never was Ready', () => {
      const object = ready({ metadata: { generation: 2 } });
      expect(phase(completedPass({ object, end: outage }))[0]).to.equal('False / AWSUnavailable');
    });

    it('keeps Unknown as long as the outage lasts, also in another process', () => {
      const lost = statusAfter(completedPass({ object: ready(), end: outage, waited: 15 * MINUTE }));
      expect(conditionsOf(lost)).to.include({
        CredentialsReady: 'True / Authenticated',
        EKSFargateProfileReady: 'Unknown / AWSUnavailable',
        IAMFargateRolesReady: 'True / Ready',
      });
      for (const waited of [20 * MINUTE, 0]) {
        const later = statusAfter(completedPass({ object: anObject({ status: lost }), end: outage, waited }));
        expect(later.conditions, `after ${waited} ms`).to.deep.equal(lost.conditions);
      }
    });

    it('sets Ready to False and Reconciling to True once the spec has changed, because no pass has observed that spec', () => {
      const status = statusAfter(completedPass({ object: ready(), end: outage, waited: 15 * MINUTE }));
      const object = anObject({ status, metadata: { generation: 2 } });
      const changed = statusAfter(completedPass({ object, end: outage }));
      expect(conditionsOf(changed)).to.include({
        Ready: 'False / AWSUnavailable',
        Reconciling: 'True / AWSUnavailable',
        EKSFargateProfileReady: 'False / AWSUnavailable',
      });
      expect(phase(completedPass({ object: { ...object, status: changed }, end: outage }))[0]).to.match(/^False/);
    });
  });

  it('keeps Ready while the control plane is not ready, because its readiness only blocks a creation', () => {
    const creationBlocker = newReason('WaitingForEKSControlPlane', { detail: 'not ready' });
    const desired: Desired = { ...desiredOf(ready()), creationBlocker };
    expect(phase(observedPass({ object: ready(), desired }))[0]).to.equal('True / Ready');
  });

  it('sets Ready to False during a deletion, and Deleting to its current step', () => {
    const object = aDeletedObject({ status: READY });
    const desired = desiredOfDeletion(object);
    const seen = observed({ profile: aProfile({ status: 'DELETING' }) });
    const conditions = conditionsOf(
      statusAfter(completedPass({ object, desired, seen, end: newReason('DeletingProfile', { name: PROFILE }) })),
    );
    expect(conditions).to.deep.include({
      Ready: 'False / Deleting',
      Reconciling: 'True / DeletingProfile',
      Stalled: 'False / NotStalled',
      Deleting: 'True / DeletingProfile',
    });
  });

  it('sets Stalled when a deletion is blocked', () => {
    const object = aDeletedObject({ status: READY });
    const end = newReason('RoleBlocked', { name: ROLE, blockers: ['the inline policy "x"'] });
    const conditions = conditionsOf(
      statusAfter(completedPass({ object, desired: desiredOfDeletion(object), seen: observed(), end })),
    );
    expect(conditions).to.deep.include({
      Ready: 'False / Deleting',
      Reconciling: 'False / Stalled',
      Stalled: 'True / RoleBlocked',
      Deleting: 'True / RoleBlocked',
    });
  });

  describe('when the API server rejects a request', () => {
    const refused = newReason('APIServerRefused', { message: 'forbidden', remedy: 'Apply the roles again' });

    it('sets Reconciling on an object that never was Ready, and Stalled after two minutes', () => {
      const after = (waited: number) => phase(completedPass({ object: anObject(), end: refused, waited }));
      expect(after(0)).to.deep.equal(['False / APIServerRefused', 'True / APIServerRefused', 'False / NotStalled']);
      expect(after(2 * MINUTE)).to.deep.equal([
        'False / APIServerRefused',
        'False / Stalled',
        'True / APIServerRefused',
      ]);
    });

    it('keeps Ready for a quarter of an hour when the pass has not observed AWS', () => {
      const after = (waited: number) => phase(completedPass({ object: ready(), end: refused, waited }));
      expect(after(0)).to.deep.equal(['True / Ready', 'True / APIServerRefused', 'False / NotStalled']);
      expect(after(2 * MINUTE)).to.deep.equal(['True / Ready', 'False / Stalled', 'True / APIServerRefused']);
      expect(after(15 * MINUTE)[0]).to.equal('Unknown / APIServerRefused');
    });

    it('sets Ready to False when the pass has observed AWS and a mutation is needed', () => {
      expect(phase(observedPass({ object: ready(), end: refused, seen: observed() }))[0]).to.equal(
        'False / APIServerRefused',
      );
    });
  });

  it('sets Ready to False for an outage during a deletion', () => {
    const object = aDeletedObject({ status: READY });
    const conditions = conditionsOf(statusAfter(completedPass({ object, end: outage })));
    expect(conditions).to.deep.include({ Ready: 'False / Deleting', Deleting: 'True / AWSUnavailable' });
  });

  it('never sets Stalled and Reconciling at once', () => {
    const reasons = [...waits, ...humans].map(([, reason]) => reason);
    for (const reason of [...reasons, outage, unreadable, failedCreate, sibling]) {
      for (const object of [anObject(), ready(), aDeletedObject()]) {
        for (const attempts of [0, ATTEMPTS_UNTIL_STALLED]) {
          const [, reconciling, stalled] = phase(completedPass({ object, end: reason, attempts }));
          expect(reconciling?.startsWith('True') && stalled?.startsWith('True'), reason.name).to.equal(false);
        }
      }
    }
  });
});

describe('conditionsAfter for CredentialsReady, EKSFargateProfileReady and IAMFargateRolesReady', () => {
  const partsOf = (pass: CompletedPass) => {
    const { CredentialsReady, EKSFargateProfileReady, IAMFargateRolesReady } = conditionsOf(statusAfter(pass));
    return { CredentialsReady, EKSFargateProfileReady, IAMFargateRolesReady };
  };

  it('sets all to True on a settled object', () => {
    expect(partsOf(observedPass({}))).to.deep.equal({
      CredentialsReady: 'True / Authenticated',
      EKSFargateProfileReady: 'True / Active',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('reports the wait of the profile, and that the role exists', () => {
    expect(partsOf(observedPass({ end: sibling, seen: observed({ role: aRole() }) }))).to.deep.include({
      EKSFargateProfileReady: 'False / WaitingForSibling',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('reports the problem of the role, and the profile as the pass has seen it, whatever tags both have', () => {
    const object = anObject({ status: { tagKeys: ['team'] } });
    const seen = observed({
      profile: aProfile({ tags: { ...PROFILE_TAGS, ...recordTag('tag team'), team: 'a' } }),
      role: aRole({ tags: { ...ROLE_TAGS, ...recordTag('tag team'), team: 'a' } }),
    });
    const after = (about: AffectedConditionType) => {
      const end = newReason('Refused', { detail: 'no', about });
      return partsOf(observedPass({ object, desired: desiredOf(object), end, seen }));
    };
    expect(after('IAMFargateRolesReady')).to.deep.include({
      EKSFargateProfileReady: 'True / Active',
      IAMFargateRolesReady: 'False / Refused',
    });
    expect(after('EKSFargateProfileReady')).to.deep.include({
      EKSFargateProfileReady: 'False / Refused',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('reports the problem of the role, and that the profile waits for the role', () => {
    const end = newReason('RoleNotFound', { name: ROLE, isProvisioned: false });
    expect(partsOf(observedPass({ end, seen: observed() }))).to.deep.include({
      CredentialsReady: 'True / Authenticated',
      EKSFargateProfileReady: 'False / WaitingForRole',
      IAMFargateRolesReady: 'False / RoleNotFound',
    });
  });

  it('reports the problem of the credentials, and keeps the known state of profile and role', () => {
    const end = newReason('WrongAccount', { whose: 'the manager itself', recorded: ACCOUNT, found: '444455556666' });
    expect(partsOf(completedPass({ object: ready(), end }))).to.deep.equal({
      CredentialsReady: 'False / WrongAccount',
      EKSFargateProfileReady: 'True / Active',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('drops an earlier wait for the control plane once that wait is over', () => {
    const waited = statusAfter(completedPass({ end: newReason('WaitingForEKSControlPlane', { detail: 'not ready' }) }));
    expect(conditionsOf(waited)).to.include({ EKSFargateProfileReady: 'False / WaitingForEKSControlPlane' });
    const end = newReason('CredentialsMissing', { detail: 'none' });
    expect(partsOf(completedPass({ object: anObject({ status: waited }), end }))).to.deep.equal({
      CredentialsReady: 'False / CredentialsMissing',
      EKSFargateProfileReady: 'Unknown / NotChecked',
      IAMFargateRolesReady: 'Unknown / NotChecked',
    });
  });

  it('sets Unknown before a pass has observed AWS', () => {
    const end = newReason('WaitingForCluster', { cluster: 'team-a/prod' });
    expect(partsOf(completedPass({ end }))).to.deep.equal({
      CredentialsReady: 'Unknown / NotChecked',
      EKSFargateProfileReady: 'Unknown / NotChecked',
      IAMFargateRolesReady: 'Unknown / NotChecked',
    });
  });

  it('keeps the known state of the role when a pass observes only a profile in transit', () => {
    const seen: Observed = {
      cluster: 'there',
      profiles: [{ name: PROFILE, found: aProfile({ status: 'CREATING' }) }],
      roles: [{ name: ROLE, found: 'unread' }],
    };
    const end = newReason('Creating', { name: PROFILE });
    expect(partsOf(observedPass({ object: ready(), end, seen }))).to.deep.include({
      EKSFargateProfileReady: 'False / Creating',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('reports the deletion of profile and role', () => {
    const object = aDeletedObject({ status: READY });
    const end = newReason('DeletingProfile', { name: PROFILE });
    const seen = observed({ profile: aProfile({ status: 'DELETING' }), role: aRole() });
    expect(partsOf(completedPass({ object, desired: desiredOfDeletion(object), seen, end }))).to.deep.include({
      EKSFargateProfileReady: 'False / DeletingProfile',
      IAMFargateRolesReady: 'False / Deleting',
    });
  });
});
