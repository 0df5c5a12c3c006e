import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Call, AwsFailure } from '../../../pkg/cloud/index.ts';
import { VirtualClock } from '../../../pkg/env/testing/virtual-clock.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { foundRoles } from '../decide/compare.ts';
import { candidateProfiles, desiredFor } from '../goal/desired/desired.ts';
import type { Observed } from '../model/observed-state.ts';
import {
  EKS_CLUSTER,
  PROFILE,
  ROLE,
  aDeletedObject,
  aFailure,
  aProfile,
  aRole,
  anObject,
  desiredInputs,
  desiredOf,
} from '../testing/builders.ts';
import { aSimulatedProfile, aSimulatedRole, awsAsWanted, awsWith } from '../testing/pass-state.ts';
import type { SimulatedAws } from '../testing/simulated-aws.ts';
import { sessionOn } from '../testing/simulated-session.ts';
import { type AwsReader, observeProfiles, observeRoles } from './observe.ts';

/** Reads profiles and roles in the order in which a pass reads them. */
async function observe(reader: AwsReader, object: AWSFargateProfile): Promise<E.Either<AwsFailure, Observed>> {
  const inputs = desiredInputs(isDeleting(object) ? { controlPlaneFacts: undefined } : {});
  const names = candidateProfiles(object, desiredOf(object, inputs));
  const profiles = await observeProfiles(reader, EKS_CLUSTER, names);
  if (E.isLeft(profiles)) return profiles;
  const desired = desiredFor(object, inputs, profiles.right.profiles);
  if (E.isLeft(desired)) throw new Error(desired.left.name);
  const roles = await observeRoles(reader, desired.right, profiles.right.profiles);
  return E.map((read: Observed['roles']) => ({ ...profiles.right, roles: read }))(roles);
}

async function seen(aws: SimulatedAws, object = anObject()): Promise<{ observed: Observed; calls: readonly string[] }> {
  const session = sessionOn(aws);
  const observed = await observe(session, object);
  if (E.isRight(observed)) return { observed: observed.right, calls: session.calls };
  throw new Error(`the observation failed: ${JSON.stringify(observed.left)}`);
}

const rolesOf = (observed: Observed): readonly string[] =>
  observed.roles.map(
    ({ name, found }) => `${name} ${found === 'unread' ? found : found === undefined ? 'absent' : 'there'}`,
  );

const DESCRIBE = `DescribeFargateProfile ${PROFILE}`;
const GET = `GetRole ${ROLE}`;
const LIST = `ListAttachedRolePolicies ${ROLE}`;
const recorded = { name: ROLE, id: 'AROAEXAMPLE', managed: true };
const FORMER_ROLE = `${EKS_CLUSTER}-${PROFILE}_fargate`;

describe('an observation of AWS', () => {
  it('needs three calls for an object in order', async () => {
    const { observed, calls } = await seen(awsAsWanted());
    expect(calls).to.deep.equal([DESCRIBE, GET, LIST]);
    expect(observed).to.deep.equal({
      cluster: 'there',
      profiles: [{ name: PROFILE, found: aProfile() }],
      roles: [{ name: ROLE, found: aRole() }],
    });
  });

  it('reads each profile and role that is wanted, recorded or computed', async () => {
    const role = { name: RoleName.of('former-role'), managed: true };
    const status = { profileName: ProfileName.of('former'), role };
    const { observed, calls } = await seen(awsWith(), anObject({ spec: { profileName: PROFILE }, status }));
    expect(calls).to.deep.equal([DESCRIBE, 'DescribeFargateProfile former', GET, 'GetRole former-role']);
    expect(rolesOf(observed)).to.deep.equal([`${ROLE} absent`, 'former-role absent']);
    const kept = await seen(awsWith(), anObject({ status: { profileName: ProfileName.of('kept') } }));
    expect(kept.calls).to.deep.equal(['DescribeFargateProfile kept', DESCRIBE, GET]);
  });

  for (const status of ['CREATING', 'DELETING'])
    it(`needs one call for our profile that is ${status}, because the pass waits for EKS anyway`, async () => {
      const { observed, calls } = await seen(awsWith(aSimulatedProfile({ status }), aSimulatedRole()));
      expect(calls).to.deep.equal([DESCRIBE]);
      expect(rolesOf(observed)).to.deep.equal([`${ROLE} unread`]);
    });

  it('reads the roles beside a foreign profile that is being created', async () => {
    const { observed } = await seen(awsWith(aSimulatedProfile({ status: 'CREATING', tags: {} }), aSimulatedRole()));
    expect(rolesOf(observed)).to.deep.equal([`${ROLE} there`]);
  });

  describe('for a deletion', () => {
    const deleted = aDeletedObject();

    for (const status of ['ACTIVE', 'CREATE_FAILED', 'DELETE_FAILED', 'PAUSED'])
      it(`needs one call while the profile is ${status}, because EKS deletes the profile before IAM deletes the role`, async () => {
        const { observed, calls } = await seen(awsWith(aSimulatedProfile({ status }), aSimulatedRole()), deleted);
        expect(calls).to.deep.equal([DESCRIBE]);
        expect(rolesOf(observed)).to.deep.equal([`${ROLE} unread`, `${FORMER_ROLE} unread`]);
      });

    for (const [situation, aws] of [
      ['is gone', awsWith(aSimulatedRole())],
      ['is not ours and stays', awsWith(aSimulatedProfile({ tags: {} }), aSimulatedRole())],
    ] as const)
      it(`reads all candidates for the role once the profile ${situation}`, async () => {
        const { observed } = await seen(aws, deleted);
        expect(rolesOf(observed)).to.deep.equal([`${ROLE} there`, `${FORMER_ROLE} absent`]);
      });
  });

  it('reports an EKS cluster that is gone, and the roles that outlive it', async () => {
    const aws = awsWith(aSimulatedRole());
    aws.cluster = 'gone';
    const { observed } = await seen(aws);
    expect(observed).to.deep.include({ cluster: 'gone', profiles: [{ name: PROFILE, found: undefined }] });
    expect(rolesOf(observed)).to.deep.equal([`${ROLE} there`]);
  });

  describe('of a role', () => {
    const blocked = aSimulatedRole({ inline: ['theirs'] });
    const blockersIn = async (aws: SimulatedAws, object: AWSFargateProfile) =>
      foundRoles((await seen(aws, object)).observed.roles).flatMap(({ blockers }) => blockers);

    it('reads what blocks the deletion of the role only when the role has to be deleted', async () => {
      const BLOCKERS = ['the inline policy "theirs"'];
      const elsewhere = { spec: { rolePath: '/team-a/' } };
      expect(await blockersIn(awsWith(aSimulatedProfile(), blocked), anObject())).to.deep.equal([]);
      expect(await blockersIn(awsWith(blocked), aDeletedObject())).to.deep.equal(BLOCKERS);
      expect(await blockersIn(awsWith(blocked), anObject(elsewhere))).to.deep.equal(BLOCKERS);
      const moved = anObject({ ...elsewhere, status: { role: recorded } });
      expect(await blockersIn(awsWith(aSimulatedProfile(), blocked), moved)).to.deep.equal(BLOCKERS);
    });

    it('needs no call for the policies of a role that is only used', async () => {
      const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/shared');
      const { calls } = await seen(awsWith(aSimulatedRole({ name: 'shared' })), anObject({ spec: { roleARN } }));
      expect(calls).to.deep.equal([DESCRIBE, 'GetRole shared']);
    });

    it('reads the role under the name that the profile uses', async () => {
      const podExecutionRoleArn = `arn:aws:iam::111122223333:role/${FORMER_ROLE}`;
      const aws = awsWith(aSimulatedProfile({ podExecutionRoleArn }), aSimulatedRole({ name: FORMER_ROLE }));
      expect(rolesOf((await seen(aws)).observed)).to.deep.equal([`${FORMER_ROLE} there`]);
    });

    it('reads the policies at the same time as a role that status records', async () => {
      const session = sessionOn(awsAsWanted());
      const answer = Promise.withResolvers<void>();
      const held = <A>(call: Call<A>): Call<A> => {
        const begin = call();
        return async () => answer.promise.then(() => begin);
      };
      const reader = {
        ...session,
        roles: { ...session.roles, get: (name: RoleName) => held(session.roles.get(name)) },
      };
      const observation = observe(reader, anObject({ status: { role: recorded } }));
      await new VirtualClock().settle();
      expect(session.calls).to.have.members([DESCRIBE, GET, LIST]);
      answer.resolve();
      expect(E.isRight(await observation)).to.equal(true);
    });

    it('reports a recorded role as gone although listing its policies fails', async () => {
      const session = sessionOn(awsWith(aSimulatedProfile()));
      session.onCall = (operation) =>
        operation === 'ListAttachedRolePolicies' ? aFailure({ operation, code: 'NoSuchEntity' }) : undefined;
      const observed = await observe(session, anObject({ status: { role: recorded } }));
      expect(E.isRight(observed) && rolesOf(observed.right)).to.deep.equal([`${ROLE} absent`]);
    });
  });

  for (const operation of ['DescribeFargateProfile', 'GetRole', 'ListAttachedRolePolicies'])
    it(`fails when ${operation} fails, whatever was recorded`, async () => {
      const session = sessionOn(awsAsWanted());
      const failure = aFailure({ operation });
      session.onCall = (called) => (called === operation ? failure : undefined);
      for (const role of [{}, recorded])
        expect(await observe(session, anObject({ status: { role } }))).to.deep.equal(E.left(failure));
    });
});
