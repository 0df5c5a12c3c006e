import { expect } from 'chai';
import type { Desired } from './model.ts';
import type { Pass, Seen } from './pass.ts';
import type { Why } from './reasons.ts';
import { PATIENCE, why } from './reasons.ts';
import { statusOf } from './report.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  PROFILE,
  ROLE,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from './testing/builders.ts';
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
  unreadable,
} from './testing/passes.ts';

/** Ready, Reconciling and Stalled after the pass, each as `status / reason`. */
function phase(
  pass: Pass,
): readonly [ready: string | undefined, reconciling: string | undefined, stalled: string | undefined] {
  const conditions = conditionsOf(statusOf(pass));
  return [conditions['Ready'], conditions['Reconciling'], conditions['Stalled']];
}

describe('the phases', () => {
  const waits: readonly (readonly [string, Why])[] = [
    ['its Cluster', why('WaitingForCluster', { cluster: 'team-a/prod' })],
    ['its control plane', why('WaitingForEKSControlPlane', { words: 'not ready' })],
    ['a sibling', sibling],
    ['IAM', why('Propagating', { words: 'IAM takes its time' })],
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

      it(`${reason.reason} while Ready, for longer: Unknown, and nothing is said to be under way`, () => {
        const pass = passOf({ object: ready(), end: stop(reason), waited: 15 * MINUTE });
        expect(phase(pass)).to.deep.equal([`Unknown / ${reason.reason}`, 'False / Idle', 'False / NotStalled']);
        expect(statusOf(pass).ready).to.equal(false);
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

    it('stays Unknown as long as it lasts, with all that was unknown with it, also for a process that comes later', () => {
      const lost = statusOf(passOf({ object: ready(), end: stop(outage), waited: 15 * MINUTE }));
      expect(conditionsOf(lost)).to.include({
        CredentialsReady: 'True / Authenticated',
        EKSFargateProfileReady: 'Unknown / AWSUnavailable',
        IAMFargateRolesReady: 'True / Ready',
      });
      for (const waited of [20 * MINUTE, 0]) {
        const later = statusOf(passOf({ object: anObject({ status: lost }), end: stop(outage), waited }));
        expect(later.conditions, `after ${waited} ms`).to.deep.equal(lost.conditions);
      }
    });

    it('is False and under way once the spec has changed: nobody knows of a profile like that', () => {
      const status = statusOf(passOf({ object: ready(), end: stop(outage), waited: 15 * MINUTE }));
      const object = anObject({ status, metadata: { generation: 2 } });
      const changed = statusOf(passOf({ object, end: stop(outage) }));
      expect(conditionsOf(changed)).to.include({
        Ready: 'False / AWSUnavailable',
        Reconciling: 'True / AWSUnavailable',
        EKSFargateProfileReady: 'False / AWSUnavailable',
      });
      expect(phase(passOf({ object: { ...object, status: changed }, end: stop(outage) }))[0]).to.match(/^False/);
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

  describe('what the API server refuses', () => {
    const refused = why('APIServerRefused', { words: 'forbidden', cure: 'Apply the roles again' });

    it('delays what never was Ready, and needs somebody after two minutes', () => {
      const after = (waited: number) => phase(passOf({ object: anObject(), end: stop(refused), waited }));
      expect(after(0)).to.deep.equal(['False / APIServerRefused', 'True / APIServerRefused', 'False / NotStalled']);
      expect(after(2 * MINUTE)).to.deep.equal([
        'False / APIServerRefused',
        'False / Stalled',
        'True / APIServerRefused',
      ]);
    });

    it('says nothing of a profile that was Ready and is not looked at: it is believed to be so for a while', () => {
      const after = (waited: number) => phase(passOf({ object: ready(), end: stop(refused), waited }));
      expect(after(0)).to.deep.equal(['True / Ready', 'True / APIServerRefused', 'False / NotStalled']);
      expect(after(2 * MINUTE)).to.deep.equal(['True / Ready', 'False / Stalled', 'True / APIServerRefused']);
      expect(after(15 * MINUTE)[0]).to.equal('Unknown / APIServerRefused');
    });

    it('is said of one that was looked at, and has to be changed', () => {
      expect(phase(looked({ object: ready(), end: stop(refused), seen: observed() }))[0]).to.equal(
        'False / APIServerRefused',
      );
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
    const end = stop(why('WrongAccount', { whose: 'the manager itself', recorded: ACCOUNT, found: '444455556666' }));
    expect(partsOf(passOf({ object: ready(), end }))).to.deep.equal({
      CredentialsReady: 'False / WrongAccount',
      EKSFargateProfileReady: 'True / Active',
      IAMFargateRolesReady: 'True / Ready',
    });
  });

  it('do not keep what the object waited for on the way to AWS, once that is over', () => {
    const waited = statusOf(passOf({ end: stop(why('WaitingForEKSControlPlane', { words: 'not ready' })) }));
    expect(conditionsOf(waited)).to.include({ EKSFargateProfileReady: 'False / WaitingForEKSControlPlane' });
    const end = stop(why('CredentialsMissing', { words: 'none' }));
    expect(partsOf(passOf({ object: anObject({ status: waited }), end }))).to.deep.equal({
      CredentialsReady: 'False / CredentialsMissing',
      EKSFargateProfileReady: 'Unknown / NotChecked',
      IAMFargateRolesReady: 'Unknown / NotChecked',
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
