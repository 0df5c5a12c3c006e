import { expect } from 'chai';
import { ProfileName, RoleName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { Mutation, MutationOutcome, Step } from './change.ts';
import { POD_EXECUTION_POLICY, ROLE, aFailure, aProfile, aRole, asDesired } from '../testing/builders.ts';
import { ATTACH_POLICY, CREATE_PROFILE, CREATE_ROLE, DELETE_PROFILE, DELETE_ROLE } from '../testing/mutations.ts';
import { type FoundRole, foundRoles, observedAfter } from './observed-state.ts';

const DONE = { kind: 'done' } as const;
const step = (mutation: Mutation, outcome: MutationOutcome = DONE): Step => ({ mutation, outcome });
const otherCase = RoleName.of(ROLE.toUpperCase());
const EXTRA = 'arn:aws:iam::111122223333:policy/extra';

const profileAfter = (found: FargateProfile | undefined, steps: readonly Step[]) =>
  observedAfter({ ...asDesired(), profiles: found === undefined ? [] : [found] }, steps).profiles[0];
const roleAfter = (found: FoundRole | undefined, steps: readonly Step[]) =>
  foundRoles(observedAfter({ ...asDesired(), roles: [{ name: ROLE, found }] }, steps).roles)[0];

describe('a profile of observedAfter', () => {
  for (const [situation, found, steps, expected] of [
    ['is as found without a change', aProfile(), [], 'ACTIVE'],
    ['is CREATING once EKS has accepted its creation', undefined, [step(CREATE_PROFILE)], 'CREATING'],
    [
      'has what EKS has answered',
      undefined,
      [step(CREATE_PROFILE, { ...DONE, profile: aProfile({ status: 'x' }) })],
      'x',
    ],
    ['is DELETING once EKS has accepted its deletion', aProfile(), [step(DELETE_PROFILE)], 'DELETING'],
    ['is gone if its deletion finds nothing', aProfile(), [step(DELETE_PROFILE, { kind: 'gone' })], undefined],
    [
      'is as found after a refusal',
      aProfile(),
      [step(DELETE_PROFILE, { kind: 'clusterUpdating', failure: aFailure() })],
      'ACTIVE',
    ],
    [
      'is as found after a change of another profile',
      aProfile(),
      [step({ ...DELETE_PROFILE, name: ProfileName.of('other') })],
      'ACTIVE',
    ],
  ] as const)
    it(situation, () => expect(profileAfter(found, steps)?.status).to.equal(expected));
});

describe('a role of observedAfter', () => {
  const after = (...mutations: readonly Mutation[]) =>
    roleAfter(
      aRole(),
      mutations.map((each) => step(each)),
    );

  it('has the role that IAM has answered, and the policies that follow', () => {
    const role = aRole({ id: 'AROANEW' });
    const made = roleAfter(undefined, [step(CREATE_ROLE, { ...DONE, role }), step(ATTACH_POLICY)]);
    expect([made?.id, made?.attached]).to.deep.equal(['AROANEW', [POD_EXECUTION_POLICY]]);
  });

  it('has the changes of its policies and its boundary, in whatever case they name the role', () => {
    expect(after({ ...ATTACH_POLICY, name: otherCase, policyArn: EXTRA })?.attached).to.deep.equal([
      POD_EXECUTION_POLICY,
      EXTRA,
    ]);
    const detach = { kind: 'detachPolicy', name: ROLE, policyArn: POD_EXECUTION_POLICY, retiring: true } as const;
    expect(after(detach)?.attached).to.deep.equal([]);
    const set = { kind: 'setBoundary', name: ROLE, policyArn: EXTRA } as const;
    expect(after(set)?.permissionsBoundary).to.equal(EXTRA);
    expect(after(set, { kind: 'removeBoundary', name: ROLE })).to.not.have.property('permissionsBoundary');
  });

  it('is gone once it is deleted, and as found after a refusal or a change of another role', () => {
    expect(after({ ...DELETE_ROLE, name: otherCase })).to.equal(undefined);
    expect(roleAfter(aRole(), [step(DELETE_ROLE, { kind: 'clusterUpdating', failure: aFailure() })])).to.deep.equal(
      aRole(),
    );
    expect(after({ ...DELETE_ROLE, name: RoleName.of('other') })).to.deep.equal(aRole());
  });
});
