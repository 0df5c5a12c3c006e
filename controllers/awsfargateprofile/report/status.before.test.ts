import { expect } from 'chai';
import { RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Mutation } from '../model/change.ts';
import type { Observed } from '../model/observed-state.ts';
import {
  FULL_RECORD,
  NOW,
  aDeletedObject,
  aRole,
  anObject,
  asDesired,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import {
  CREATE_ACCESS_ENTRY,
  CREATE_PROFILE,
  CREATE_ROLE,
  DELETE_ACCESS_ENTRY,
  DELETE_PROFILE,
  DELETE_ROLE,
  SET_TRUST,
} from '../testing/mutations.ts';
import { plan } from '../plan/plan.ts';
import { interruptionBy } from '../plan/verdicts.ts';
import { statusBefore as statusBeforeReason } from './status.ts';

/** Returns the status before a change, with the reason that the plan gives for it. */
function statusBefore(
  object: AWSFargateProfile,
  { desired, observed: seen, mutation }: { desired: Desired; observed: Observed; mutation: Mutation },
  now: number,
) {
  const reason = interruptionBy(mutation, desired, seen);
  const facts = { desired, observed: seen, after: seen, plan: plan(desired, seen) };
  return reason && statusBeforeReason(object, reason, facts, now);
}

const condition = (status: 'True' | 'False') => ({
  type: 'Ready',
  status,
  reason: 'Ready',
  lastTransitionTime: '2026-11-20T10:00:00Z',
});
const theirs = { ...condition('True'), type: 'Theirs' };
const ready: AWSFargateProfileStatus = { ready: true, conditions: [condition('True'), theirs] };
const vanished = observed({ role: aRole() });
const OUTDATED_ACCESS_ENTRY = { ...DELETE_ACCESS_ENTRY, because: 'roleRecreated' } as const;

const conditionsBefore = (object: AWSFargateProfile, desired: Desired, seen: Observed, mutation: Mutation) => {
  const written = statusBefore(object, { desired, observed: seen, mutation }, NOW);
  expect(written).to.include({ ready: false, observedGeneration: object.metadata.generation });
  expect(written?.conditions).to.deep.include(theirs);
  return written?.conditions?.map(({ type, status, reason, lastTransitionTime }) =>
    [type, status, reason, ...(type === 'Ready' ? [lastTransitionTime] : [])].join(' '),
  );
};

describe('statusBefore', () => {
  for (const [situation, mutation, seen, reason] of [
    ['a lost profile is created again', CREATE_PROFILE, vanished, 'Creating'],
    ['the role of a live profile is created', CREATE_ROLE, asDesired(), 'RestoringRole'],
    ['the entry of a live profile is deleted', OUTDATED_ACCESS_ENTRY, asDesired(), 'RestoringRole'],
    ['the entry of a live profile is created', CREATE_ACCESS_ENTRY, asDesired(), 'RestoringRole'],
  ] as const)
    it(`sets Ready to False before ${situation}`, () => {
      const object = anObject({ metadata: { generation: 3 }, record: FULL_RECORD, status: ready });
      const conditions = conditionsBefore(object, desiredOf(object, {}, seen), seen, mutation);
      expect(conditions).to.include(`Ready False ${reason} 2026-11-21T03:25:00Z`);
      if (reason === 'RestoringRole') expect(conditions).to.include('IAMFargateRolesReady False RestoringRole');
    });

  it('sets Ready to False before the profile is deleted', () => {
    const object = aDeletedObject({ metadata: { generation: 4 }, record: FULL_RECORD, status: ready });
    const desired = desiredOfDeletion(object, {}, asDesired());
    expect(conditionsBefore(object, desired, asDesired(), DELETE_PROFILE)).to.include.members([
      'Ready False Deleting 2026-11-21T03:25:00Z',
      'Reconciling True DeletingProfile',
      'Deleting True DeletingProfile',
    ]);
  });

  it('keeps what the status says of AWS, because this reconcile has changed nothing yet', () => {
    const object = anObject({
      record: FULL_RECORD,
      status: { ...ready, profileStatus: 'ACTIVE', subnets: ['subnet-0a'] },
    });
    const change = { desired: desiredOf(object, {}, vanished), observed: vanished, mutation: CREATE_PROFILE };
    expect(statusBefore(object, change, NOW)).to.deep.include({ profileStatus: 'ACTIVE', subnets: ['subnet-0a'] });
  });

  const ofFormerRole = { ...DELETE_ACCESS_ENTRY, name: RoleName.of('former') };
  const unchanged: readonly (readonly [string, AWSFargateProfileStatus, Observed, Mutation?])[] = [
    ['has an ACTIVE profile', ready, asDesired()],
    ['has an ACTIVE profile that has replaced another', ready, asDesired(), { ...DELETE_PROFILE, because: 'replaced' }],
    ['has an ACTIVE profile and a former role', ready, asDesired(), ofFormerRole],
    ['never was Ready', { conditions: [condition('False')] }, vanished],
    ['has no conditions yet', {}, vanished],
  ];
  for (const [situation, status, seen, mutation = SET_TRUST] of unchanged)
    it(`changes nothing for an object that ${situation}`, () => {
      const object = anObject({ record: FULL_RECORD, status });
      const change = { desired: desiredOf(object, {}, seen), observed: seen, mutation };
      expect(statusBefore(object, change, NOW)).to.equal(undefined);
    });

  it('changes nothing when only the role of a deleted object is left', () => {
    const object = aDeletedObject({ record: FULL_RECORD, status: ready });
    const change = { desired: desiredOfDeletion(object, {}, vanished), observed: vanished, mutation: DELETE_ROLE };
    expect(statusBefore(object, change, NOW)).to.equal(undefined);
  });
});
