import { expect } from 'chai';
import { isAbout } from '../model/change.ts';
import type { CompletedReconcile } from '../model/result.ts';
import { type AffectedConditionType, type Reason, messageOf, newReason } from '../reasons/reasons.ts';
import { ATTEMPTS_UNTIL_STALLED } from '../reasons/definition.ts';
import { conditionOf } from './condition-list.ts';
import { announcedBy } from './events.ts';
import { statusAfter } from './status.ts';
import {
  ACCOUNT,
  FULL_RECORD,
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
} from '../testing/builders.ts';
import { recordTag } from '../testing/fixtures.ts';
import { REASON_EXAMPLES } from '../testing/reason-examples.ts';
import { withoutRoles } from '../testing/reconcile-state.ts';
import {
  MINUTE,
  READY,
  conditionsOf,
  failedCreate,
  observedReconcile,
  outage,
  completedReconcile,
  ready,
  sibling,
  unreadable,
} from '../testing/completed-reconcile.ts';

/** Returns the conditions Ready, Reconciling, and Stalled after a reconcile, each as `status / reason`. */
function phase(
  reconcile: CompletedReconcile,
): readonly [ready: string | undefined, reconciling: string | undefined, stalled: string | undefined] {
  const conditions = conditionsOf(statusAfter(reconcile));
  return [conditions['Ready'], conditions['Reconciling'], conditions['Stalled']];
}

describe('conditionsAfter', () => {
  const reconcilingFor = ({ name }: Reason) => [`False / ${name}`, `True / ${name}`, 'False / NotStalled'];
  const stalledFor = ({ name }: Reason) => [`False / ${name}`, 'False / Stalled', `True / ${name}`];
  const phaseAfter = (end: Reason, waited = 0) => phase(observedReconcile({ end, seen: observed(), waited }));

  // test/simulation/golden shows each reason in the conditions.
  it('sets Reconciling while the object waits', () => {
    const reason = newReason('Creating', { name: PROFILE });
    expect(phaseAfter(reason)).to.deep.equal(reconcilingFor(reason));
  });

  it('sets Stalled when a user must act', () => {
    const reason = newReason('ProfileNotOwned', { name: PROFILE, whose: 'an unknown owner' });
    expect(phaseAfter(reason)).to.deep.equal(stalledFor(reason));
  });

  it('sets Reconciling for something that may come by itself, and Stalled after two minutes', () => {
    const reason = newReason('CredentialsMissing', { detail: 'none' });
    expect(phaseAfter(reason, 2 * MINUTE - 1)).to.deep.equal(reconcilingFor(reason));
    expect(phaseAfter(reason, 2 * MINUTE)).to.deep.equal(stalledFor(reason));
  });

  it('sets Ready when the profile is ACTIVE as desired', () => {
    expect(phase(observedReconcile({}))).to.deep.equal(['True / Ready', 'False / Idle', 'False / NotStalled']);
  });

  it('shows every problem of a usable profile in Stalled', () => {
    const denied = newReason('AccessDenied', REASON_EXAMPLES.AccessDenied);
    const excess = newReason('NotAllowedByOperator', REASON_EXAMPLES.NotAllowedByOperator);
    const { conditions } = statusAfter(observedReconcile({ object: ready(), notices: [denied, excess] }));
    const stalled = conditions?.find(({ type }) => type === 'Stalled');
    expect(stalled).to.include({ status: 'True', reason: 'AccessDenied' });
    expect(stalled?.message)
      .to.contain(messageOf(denied).replace(/\.$/, ''))
      .and.to.contain(messageOf(excess).replace(/\.$/, ''));
  });

  it('says in the message of Ready as long as Stalled shows a problem that leaves Ready True', () => {
    const messageAfter = (object: ReturnType<typeof ready>, end: Reason | 'inSync'): string | undefined =>
      statusAfter(observedReconcile({ object, end })).conditions?.find(({ type }) => type === 'Ready')?.message;
    const object = anObject({ status: statusAfter(observedReconcile({ object: ready() })) });
    const stalled = anObject({
      status: statusAfter(observedReconcile({ object, end: newReason('CAPAServesProfiles', { webhook: 'x' }) })),
    });
    const [usual, noticed] = [
      messageAfter(object, 'inSync'),
      messageAfter(stalled, newReason('CAPAServesProfiles', { webhook: 'x' })),
    ];
    expect(usual).to.equal('The Fargate profile is ACTIVE and matches the spec');
    expect(noticed).to.equal('The Fargate profile is ACTIVE, but condition Stalled shows a problem');
    expect(messageAfter(stalled, outage), 'an outage, in which Stalled is False').to.equal(
      'The Fargate profile is ACTIVE',
    );
    const afterOutage = anObject({ status: statusAfter(observedReconcile({ object: stalled, end: outage })) });
    const problem = newReason('CAPAServesProfiles', { webhook: 'x' });
    expect(messageAfter(afterOutage, problem), 'after the outage').to.equal(noticed);
  });

  it('keeps the message of Ready about a replacement when Stalled no longer shows a problem', () => {
    const kept = newReason('PredecessorKept', REASON_EXAMPLES.PredecessorKept);
    const denied = newReason('AccessDenied', REASON_EXAMPLES.AccessDenied);
    const before = statusAfter(observedReconcile({ object: ready(), notices: [kept, denied] }));
    expect(conditionsOf(before)).to.include({ Ready: 'True / PredecessorKept', Stalled: 'True / AccessDenied' });
    const after = statusAfter(completedReconcile({ object: anObject({ status: before }), end: outage }));
    expect(conditionsOf(after)).to.include({ Stalled: 'False / NotStalled' });
    expect(conditionOf(after.conditions, 'Ready')).to.deep.equal(conditionOf(before.conditions, 'Ready'));
  });

  it('keeps the advice in the message of Ready when a problem begins', () => {
    const health = [{ code: 'AccessDenied', message: 'no', resourceIds: ['x'] }];
    const profile = aProfile({ health });
    const healthy = observedReconcile({ object: ready(), seen: observed({ profile, role: aRole() }) });
    const object = anObject({ status: statusAfter(healthy), record: FULL_RECORD });
    const advised = conditionOf(object.status?.conditions, 'Ready')?.message ?? '';
    expect(advised).to.contain('EKS reports health issues');
    const end = newReason('OwnershipTagMissing', REASON_EXAMPLES.OwnershipTagMissing);
    const seen = observed({ profile: { ...profile, tags: {} }, role: aRole() });
    const stalled = { ...observedReconcile({ object, end, seen }), announced: announcedBy(healthy) };
    expect(conditionOf(statusAfter(stalled).conditions, 'Ready')?.message).to.equal(
      advised.replace('ACTIVE and matches the spec', 'ACTIVE, but condition Stalled shows a problem'),
    );
  });

  it('sets Reconciling while a CREATE_FAILED profile is retried, and Stalled after several retries', () => {
    const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED' }), role: aRole() });
    const after = (attempts: number) => phase(observedReconcile({ end: failedCreate, seen, attempts }));
    expect(after(0)).to.deep.equal(reconcilingFor(failedCreate));
    expect(after(ATTEMPTS_UNTIL_STALLED - 1)).to.deep.equal(after(0));
    expect(after(ATTEMPTS_UNTIL_STALLED)).to.deep.equal(stalledFor(failedCreate));
  });

  it('keeps Stalled while a profile that failed often is created again', () => {
    const seen = observed({ profile: aProfile({ status: 'CREATE_FAILED' }), role: aRole() });
    const stalled = statusAfter(observedReconcile({ end: failedCreate, seen, attempts: ATTEMPTS_UNTIL_STALLED }));
    const object = anObject({ status: stalled });
    const again = observedReconcile({
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

  describe('while AWS or the API server is out of reach', () => {
    for (const reason of [outage, unreadable]) {
      it(`keeps all conditions of a Ready object for a quarter of an hour: ${reason.name}`, () => {
        const object = ready();
        const status = statusAfter(completedReconcile({ object, end: reason, waited: 15 * MINUTE - 1 }));
        expect(status.conditions).to.deep.equal(READY.conditions);
        expect(status.ready).to.equal(true);
      });

      it(`sets Ready to Unknown and Reconciling to False after a quarter of an hour on a Ready object: ${reason.name}`, () => {
        const reconcile = completedReconcile({ object: ready(), end: reason, waited: 15 * MINUTE });
        expect(phase(reconcile)).to.deep.equal([`Unknown / ${reason.name}`, 'False / Idle', 'False / NotStalled']);
        expect(statusAfter(reconcile).ready).to.equal(false);
      });

      it(`sets Ready to False and Reconciling to True on an object that never was Ready: ${reason.name}`, () => {
        expect(phase(completedReconcile({ end: reason }))).to.deep.equal(reconcilingFor(reason));
      });
    }

    it('sets Ready to False at once for a profile that the reconcile saw absent, or in another status than ACTIVE', () => {
      for (const seen of [observed(), observed({ profile: aProfile({ status: 'DELETING' }) })]) {
        const reconcile = observedReconcile({ object: ready(), end: outage, seen });
        expect(phase(reconcile)).to.deep.equal(reconcilingFor(outage));
        expect(conditionsOf(statusAfter(reconcile))['EKSFargateProfileReady']).to.equal('False / AWSUnavailable');
      }
      const active = observedReconcile({ object: ready(), end: outage, seen: observed({ profile: aProfile() }) });
      expect(phase(active)[0]).to.equal('True / Ready');
    });

    it('keeps Unknown as long as the outage lasts, also in another process', () => {
      const lost = statusAfter(completedReconcile({ object: ready(), end: outage, waited: 15 * MINUTE }));
      expect(conditionsOf(lost)).to.include({
        CredentialsReady: 'True / Authenticated',
        EKSFargateProfileReady: 'Unknown / AWSUnavailable',
        IAMFargateRolesReady: 'True / Ready',
      });
      for (const waited of [20 * MINUTE, 0]) {
        const later = statusAfter(completedReconcile({ object: anObject({ status: lost }), end: outage, waited }));
        expect(later.conditions, `after ${waited} ms`).to.deep.equal(lost.conditions);
      }
    });

    it('sets Ready to False and Reconciling to True once the spec has changed, because no reconcile has observed that spec', () => {
      const status = statusAfter(completedReconcile({ object: ready(), end: outage, waited: 15 * MINUTE }));
      const object = anObject({ status, metadata: { generation: 2 } });
      const changed = statusAfter(completedReconcile({ object, end: outage }));
      expect(conditionsOf(changed)).to.include({
        Ready: 'False / AWSUnavailable',
        Reconciling: 'True / AWSUnavailable',
        EKSFargateProfileReady: 'False / AWSUnavailable',
      });
      expect(phase(completedReconcile({ object: { ...object, status: changed }, end: outage }))[0]).to.match(/^False/);
    });
  });

  describe('when the API server rejects a request', () => {
    const refused = newReason('APIServerRefused', { message: 'forbidden', remedy: 'Apply the roles again' });

    it('sets Reconciling on an object that never was Ready, and Stalled after two minutes', () => {
      const after = (waited: number) => phase(completedReconcile({ object: anObject(), end: refused, waited }));
      expect(after(0)).to.deep.equal(reconcilingFor(refused));
      expect(after(2 * MINUTE)).to.deep.equal(stalledFor(refused));
    });

    it('keeps Ready for a quarter of an hour when the reconcile has not observed AWS', () => {
      const after = (waited: number) => phase(completedReconcile({ object: ready(), end: refused, waited }));
      expect(after(0)).to.deep.equal(['True / Ready', 'True / APIServerRefused', 'False / NotStalled']);
      expect(after(2 * MINUTE)).to.deep.equal(['True / Ready', 'False / Stalled', 'True / APIServerRefused']);
      expect(after(15 * MINUTE)[0]).to.equal('Unknown / APIServerRefused');
    });

    it('sets Ready to False when the reconcile has observed AWS and a mutation is needed', () => {
      expect(phase(observedReconcile({ object: ready(), end: refused, seen: observed() }))[0]).to.equal(
        'False / APIServerRefused',
      );
    });
  });
});

describe('conditionsAfter sets CredentialsReady, EKSFargateProfileReady and IAMFargateRolesReady', () => {
  const [AUTHENTICATED, ACTIVE, READY_ROLE] = ['True / Authenticated', 'True / Active', 'True / Ready'];
  const NOT_CHECKED = 'Unknown / NotChecked';
  const recorded = { ...recordTag('tag team'), team: 'a' };
  const tagged = {
    seen: observed({
      profile: aProfile({ tags: { ...PROFILE_TAGS, ...recorded } }),
      role: aRole({ tags: { ...ROLE_TAGS, ...recorded } }),
    }),
  };
  const refused = (about: AffectedConditionType) => newReason('Refused', { detail: 'no', about });
  const noControlPlane = newReason('WaitingForEKSControlPlane', { detail: 'not ready', remedy: 'Wait' });
  const waited = statusAfter(completedReconcile({ end: noControlPlane }));
  const noCredentials = newReason('CredentialsMissing', { detail: 'none' });
  const wrongAccount = newReason('WrongAccount', { whose: 'the manager', recorded: ACCOUNT, found: '444455556666' });
  const inTransit = withoutRoles(observed({ profile: aProfile({ status: 'CREATING' }), role: aRole() }));
  const leaving = aDeletedObject({ status: READY });
  const seenLeaving = observed({ profile: aProfile({ status: 'DELETING' }), role: aRole() });
  const deleting = newReason('DeletingProfile', { name: PROFILE });

  const waitingForAll = observedReconcile({ end: sibling, seen: observed() });
  const limited = desiredOf(anObject(), { limits: { permissionsBoundary: 'arn:aws:iam::*:policy/bound' } });
  const unlimited = observedReconcile({ desired: limited });
  /** Returns the reconcile after its first `count` changes of the role were made. */
  const withMade = (reconcile: CompletedReconcile, count: number): CompletedReconcile => {
    const changes = reconcile.facts?.plan.changes.filter(({ mutation }) => isAbout(mutation) === 'role') ?? [];
    const steps = changes.slice(0, count).map(({ mutation }) => ({ mutation, outcome: { kind: 'done' } }) as const);
    return { ...reconcile, execution: { end: reconcile.end, notices: [], kept: [], steps } };
  };

  const rows: readonly (readonly [string, CompletedReconcile, credentials: string, profile: string, role: string])[] = [
    ['of a settled object', observedReconcile({}), AUTHENTICATED, ACTIVE, READY_ROLE],
    [
      'while the profile waits, and the role exists',
      observedReconcile({ end: sibling, seen: observed({ role: aRole() }) }),
      AUTHENTICATED,
      'False / WaitingForSibling',
      READY_ROLE,
    ],
    [
      'while the profile waits, and this reconcile has made the role',
      withMade(waitingForAll, 2),
      AUTHENTICATED,
      'False / WaitingForSibling',
      READY_ROLE,
    ],
    [
      'while the profile waits, and this reconcile has made a part of the role',
      withMade(waitingForAll, 1),
      AUTHENTICATED,
      'False / WaitingForSibling',
      NOT_CHECKED,
    ],
    ['without the boundary that only the operator asks for', unlimited, AUTHENTICATED, ACTIVE, NOT_CHECKED],
    ['once this reconcile has set that boundary', withMade(unlimited, 1), AUTHENTICATED, ACTIVE, READY_ROLE],
    [
      'after a problem of the role, whatever tags it has',
      observedReconcile({ ...tagged, end: refused('IAMFargateRolesReady') }),
      AUTHENTICATED,
      ACTIVE,
      'False / Refused',
    ],
    [
      'after a problem of the profile, whatever tags it has',
      observedReconcile({ ...tagged, end: refused('EKSFargateProfileReady') }),
      AUTHENTICATED,
      'False / Refused',
      READY_ROLE,
    ],
    [
      'without a role for the profile',
      observedReconcile({ end: newReason('RoleNotFound', { name: ROLE, isSpecFixed: false }), seen: observed() }),
      AUTHENTICATED,
      'False / WaitingForRole',
      'False / RoleNotFound',
    ],
    [
      'after a problem of the credentials of a Ready object',
      completedReconcile({ object: ready(), end: wrongAccount }),
      'False / WrongAccount',
      ACTIVE,
      READY_ROLE,
    ],
    [
      'after the same, once an earlier wait for the control plane is over',
      completedReconcile({ object: anObject({ status: waited }), end: noCredentials }),
      'False / CredentialsMissing',
      NOT_CHECKED,
      NOT_CHECKED,
    ],
    [
      'before a reconcile has observed AWS',
      completedReconcile({ end: newReason('WaitingForCluster', { cluster: 'team-a/prod' }) }),
      NOT_CHECKED,
      NOT_CHECKED,
      NOT_CHECKED,
    ],
    [
      'after a reconcile that has observed only a profile in transit',
      observedReconcile({ object: ready(), end: newReason('Creating', { name: PROFILE }), seen: inTransit }),
      AUTHENTICATED,
      'False / Creating',
      READY_ROLE,
    ],
    [
      'in a deletion',
      completedReconcile({ object: leaving, desired: desiredOfDeletion(leaving), seen: seenLeaving, end: deleting }),
      AUTHENTICATED,
      'False / DeletingProfile',
      'False / Deleting',
    ],
  ];
  for (const [situation, reconcile, ...expected] of rows)
    it(situation, () => {
      const { CredentialsReady, EKSFargateProfileReady, IAMFargateRolesReady } = conditionsOf(statusAfter(reconcile));
      expect([CredentialsReady, EKSFargateProfileReady, IAMFargateRolesReady]).to.deep.equal(expected);
    });
});
