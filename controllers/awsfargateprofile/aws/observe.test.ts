import { expect } from 'chai';
import type { Either } from 'fp-ts/lib/Either.js';
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AwsFailure } from '../../../pkg/cloud/errors/failure.ts';
import type { Call } from '../../../pkg/cloud/call/aws-call.ts';
import { VirtualClock } from '../../../pkg/env/testing/virtual-clock.ts';
import { foundRoles } from '../decide/compare.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import type { AwsReader, Observation } from './observe.ts';
import { completeObservation, observeProfiles, observeRolesEarly } from './observe.ts';
import {
  EKS_CLUSTER,
  PROFILE,
  ROLE,
  aDeletedObject,
  aFailure,
  aProfile,
  aRole,
  desiredOfDeletion,
} from '../testing/builders.ts';
import { aSimulatedProfile, aSimulatedRole, awsWith } from '../testing/pass-state.ts';
import type { SimulatedAws } from '../testing/simulated-aws.ts';
import { sessionOn } from '../testing/simulated-session.ts';
import { desiredFrom } from '../testing/fixtures.ts';

/**
 * Reads AWS with `observeProfiles`, `observeRolesEarly` and `completeObservation`, in the order in which a reconcile
 * calls them.
 */
async function observe(
  reader: AwsReader,
  desired: Desired,
  { inTransit }: { readonly inTransit: boolean },
): Promise<Either<AwsFailure, Observation>> {
  const [profiles, roles] = await Promise.all([
    observeProfiles(reader, desired),
    observeRolesEarly(reader, desired, { wasInTransit: inTransit }),
  ]);
  return isLeft(profiles) ? profiles : completeObservation(reader, desired, profiles.right, roles);
}

async function observeWithCalls(
  aws: SimulatedAws,
  desired: Desired,
  { inTransit = false } = {},
): Promise<{ observation: Observation; calls: readonly string[] }> {
  const session = sessionOn(aws);
  const observation = await observe(session, desired, { inTransit });
  if (isRight(observation)) return { observation: observation.right, calls: session.calls };
  throw new Error(`the observation failed: ${JSON.stringify(observation.left)}`);
}

const roleIn = ({ observed }: { readonly observed: Observed }) => foundRoles(observed.roles)[0];

async function observeWhole(aws: SimulatedAws, desired: Desired): Promise<Extract<Observation, { kind: 'whole' }>> {
  const { observation } = await observeWithCalls(aws, desired);
  return observation.kind === 'whole' ? observation : expect.fail('only a profile in transit was observed');
}

describe('an observation of AWS', () => {
  it('needs three calls for a settled object', async () => {
    const { observation, calls } = await observeWithCalls(
      awsWith(aSimulatedProfile(), aSimulatedRole()),
      desiredFrom(),
    );
    expect(calls).to.deep.equal([
      `DescribeFargateProfile ${PROFILE}`,
      `GetRole ${ROLE}`,
      `ListAttachedRolePolicies ${ROLE}`,
    ]);
    expect(observation).to.deep.include({
      kind: 'whole',
      observed: {
        cluster: 'there',
        profiles: [{ name: PROFILE, found: aProfile() }],
        roles: [{ name: ROLE, found: aRole({ createdAt: aSimulatedRole().createdAt }) }],
      },
    });
  });

  it('needs two calls when AWS has nothing of the object', async () => {
    const { observation, calls } = await observeWithCalls(awsWith(), desiredFrom());
    expect(calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`, `GetRole ${ROLE}`]);
    expect(observation.kind === 'whole' && observation.observed.roles).to.deep.equal([
      { name: ROLE, found: undefined },
    ]);
  });

  it('reads each profile and role that is desired or recorded', async () => {
    const status = {
      profileName: ProfileName.of('former'),
      role: { name: RoleName.of('former-role'), managed: true },
    };
    const { calls } = await observeWithCalls(awsWith(), desiredFrom({ profileName: PROFILE }, status));
    expect(calls).to.deep.equal([
      `DescribeFargateProfile ${PROFILE}`,
      'DescribeFargateProfile former',
      `GetRole ${ROLE}`,
      'GetRole former-role',
    ]);
  });

  for (const [status, reason] of [
    ['CREATING', 'Creating'],
    ['DELETING', 'DeletingProfile'],
  ] as const) {
    it(`needs one call for our profile that is still ${status}, because the pass waits for EKS anyway`, async () => {
      const aws = awsWith(aSimulatedProfile({ status }), aSimulatedRole());
      const { observation, calls } = await observeWithCalls(aws, desiredFrom(), { inTransit: true });
      expect(calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`]);
      expect(observation.kind === 'profilesOnly' && observation.reason.name).to.equal(reason);
    });

    it(`reports that our profile is ${status} even when reading its role fails`, async () => {
      const session = sessionOn(awsWith(aSimulatedProfile({ status }), aSimulatedRole()));
      session.onCall = (operation) => (operation === 'GetRole' ? aFailure({ operation }) : undefined);
      const observation = await observe(session, desiredFrom(), { inTransit: false });
      expect(
        isRight(observation) && observation.right.kind === 'profilesOnly' && observation.right.reason.name,
      ).to.equal(reason);
    });
  }

  describe('for a deletion', () => {
    const deletion = desiredOfDeletion(aDeletedObject());
    const rolesOf = async (aws: SimulatedAws) => (await observeWhole(aws, deletion)).observed.roles;

    for (const status of ['ACTIVE', 'CREATE_FAILED', 'DELETE_FAILED', 'PAUSED']) {
      it(`needs one call while the profile is ${status}, because EKS deletes the profile before IAM deletes the role`, async () => {
        const { observation, calls } = await observeWithCalls(
          awsWith(aSimulatedProfile({ status }), aSimulatedRole()),
          deletion,
        );
        expect(calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`]);
        const roles = observation.kind === 'whole' ? observation.observed.roles : [];
        expect(roles.length).to.be.above(0);
        for (const { name, found } of roles) expect(found, name).to.equal('unread');
      });
    }

    it('reads the role once the profile is gone', async () => {
      const [role] = await rolesOf(awsWith(aSimulatedRole()));
      expect(role).to.have.property('found').that.includes({ name: ROLE });
    });

    it('reads the role when the profile is not ours and stays', async () => {
      const [role] = await rolesOf(awsWith(aSimulatedProfile({ tags: {}, name: PROFILE }), aSimulatedRole()));
      expect(role).to.have.property('found').that.includes({ name: ROLE });
    });
  });

  it('reads the role once EKS has finished the profile that was in transit', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    const { observation } = await observeWithCalls(aws, desiredFrom(), { inTransit: true });
    expect(observation.kind === 'whole' && foundRoles(observation.observed.roles)).to.deep.equal([
      aRole({ createdAt: aSimulatedRole().createdAt }),
    ]);
  });

  describe('with simultaneous calls', () => {
    const withRecordedRole = desiredFrom({}, { role: { name: ROLE, id: 'AROAEXAMPLE', managed: true } });

    /** Returns the names of the AWS calls that are sent before AWS has answered the first of them. */
    async function firstCalls(desired: Desired, aws = awsWith(aSimulatedProfile(), aSimulatedRole())) {
      const session = sessionOn(aws);
      const answer = Promise.withResolvers<void>();
      const held = <A>(call: Call<A>): Call<A> => {
        const begin = call();
        return async () => answer.promise.then(() => begin);
      };
      const { profiles, roles } = session;
      const reader: AwsReader = {
        profiles: { describe: (...which) => held(profiles.describe(...which)) },
        roles: { ...roles, get: (name) => held(roles.get(name)) },
      };
      const observation = observe(reader, desired, { inTransit: false });
      await new VirtualClock().settle();
      const calls = [...session.calls];
      answer.resolve();
      expect(isRight(await observation)).to.equal(true);
      return calls;
    }

    it('reads profile and role', async () => {
      expect(await firstCalls(desiredFrom())).to.have.members([`DescribeFargateProfile ${PROFILE}`, `GetRole ${ROLE}`]);
    });

    it('reads the policies of a role that status records', async () => {
      expect(await firstCalls(withRecordedRole)).to.have.members([
        `DescribeFargateProfile ${PROFILE}`,
        `GetRole ${ROLE}`,
        `ListAttachedRolePolicies ${ROLE}`,
      ]);
    });

    it('reads no role whose profile may have to be deleted first', async () => {
      const deletion = desiredOfDeletion(aDeletedObject({ status: { role: { name: ROLE, id: 'AROAEXAMPLE' } } }));
      expect(await firstCalls(deletion)).to.deep.equal([`DescribeFargateProfile ${PROFILE}`]);
    });

    it('reads what blocks the deletion of a recorded role at another path than desired', async () => {
      const moved = desiredFrom({ rolePath: '/team-a/' }, { role: { name: ROLE, id: 'AROAEXAMPLE' } });
      const { observed } = await observeWhole(
        awsWith(aSimulatedProfile(), aSimulatedRole({ inline: ['theirs'] })),
        moved,
      );
      expect(roleIn({ observed })?.blockers).to.deep.equal(['the inline policy "theirs"']);
    });

    it('reports a recorded role as gone although listing its policies fails', async () => {
      const session = sessionOn(awsWith(aSimulatedProfile()));
      session.onCall = (operation) =>
        operation === 'ListAttachedRolePolicies' ? aFailure({ operation, code: 'NoSuchEntity' }) : undefined;
      const observation = await observe(session, withRecordedRole, { inTransit: false });
      expect(
        isRight(observation) && observation.right.kind === 'whole' && observation.right.observed.roles,
      ).to.deep.equal([{ name: ROLE, found: undefined }]);
    });
  });

  it('reads the roles beside a foreign profile that is being created', async () => {
    const { observation } = await observeWithCalls(
      awsWith(aSimulatedProfile({ status: 'CREATING', tags: {} })),
      desiredFrom(),
    );
    expect(observation.kind).to.equal('whole');
  });

  it('has the profiles even when reading the roles fails', async () => {
    const session = sessionOn(awsWith(aSimulatedProfile(), aSimulatedRole()));
    session.onCall = (operation) => (operation === 'GetRole' ? aFailure({ operation }) : undefined);
    const profiles = await observeProfiles(session, desiredFrom());
    expect(isRight(profiles) && profiles.right).to.deep.equal({
      cluster: 'there',
      profiles: [{ name: PROFILE, found: aProfile() }],
    });
    expect(session.calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`]);
  });

  it('reports an EKS cluster that is gone', async () => {
    const aws = awsWith(aSimulatedRole());
    aws.cluster = 'gone';
    const { observed } = await observeWhole(aws, desiredFrom());
    expect(observed).to.deep.include({ cluster: 'gone', profiles: [{ name: PROFILE, found: undefined }] });
    expect(observed.roles[0]?.found, 'roles outlive the EKS cluster').not.to.equal(undefined);
  });

  describe('of a role', () => {
    const blocked = aSimulatedRole({ inline: ['theirs'] });
    const BLOCKERS = ['the inline policy "theirs"'];

    it('reads what blocks the deletion of the role only when the role has to be deleted', async () => {
      expect(roleIn(await observeWhole(awsWith(aSimulatedProfile(), blocked), desiredFrom()))?.blockers).to.deep.equal(
        [],
      );
      const deletion = desiredOfDeletion(aDeletedObject());
      expect(roleIn(await observeWhole(awsWith(blocked), deletion))?.blockers).to.deep.equal(BLOCKERS);
    });

    it('reads what blocks the deletion of a role at another path than desired', async () => {
      const observation = await observeWhole(awsWith(blocked), desiredFrom({ rolePath: '/team-a/' }));
      expect(roleIn(observation)?.blockers).to.deep.equal(BLOCKERS);
    });

    it('needs no call for the policies of a role that is only used', async () => {
      const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/shared');
      const { calls } = await observeWithCalls(awsWith(aSimulatedRole({ name: 'shared' })), desiredFrom({ roleARN }));
      expect(calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`, 'GetRole shared']);
    });

    it('reads the role under the name that the profile uses', async () => {
      const former = `${EKS_CLUSTER}-${PROFILE}_fargate`;
      const aws = awsWith(
        aSimulatedProfile({ podExecutionRoleArn: `arn:aws:iam::111122223333:role/${former}` }),
        aSimulatedRole({ name: former }),
      );
      const { observed, desired } = await observeWhole(aws, desiredFrom());
      expect(observed.roles.map(({ name }) => name)).to.deep.equal([former]);
      expect(desired.wanted?.role.name).to.equal(former);
    });
  });

  for (const operation of ['DescribeFargateProfile', 'GetRole', 'ListAttachedRolePolicies']) {
    it(`fails when ${operation} fails`, async () => {
      const session = sessionOn(awsWith(aSimulatedProfile(), aSimulatedRole()));
      const failure = aFailure({ operation });
      session.onCall = (called) => (called === operation ? failure : undefined);
      expect(await observe(session, desiredFrom(), { inTransit: false })).to.deep.equal({
        _tag: 'Left',
        left: failure,
      });
    });
  }
});
