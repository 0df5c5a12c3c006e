import { expect } from 'chai';
import { isRight } from 'fp-ts/lib/Either.js';
import { ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import type { Call } from '../../pkg/cloud/types.ts';
import { VirtualClock } from '../../pkg/env/testing/virtual-clock.ts';
import { foundRoles } from './comparison.ts';
import type { Desired, Observed } from './model.ts';
import type { Eyes, Sight } from './observe.ts';
import { observe } from './observe.ts';
import {
  EKS_CLUSTER,
  PROFILE,
  ROLE,
  aDeletedObject,
  aFailure,
  aProfile,
  aRole,
  desiredOfDeletion,
} from './testing/builders.ts';
import { aSimulatedProfile, aSimulatedRole, awsWith } from './testing/flight.ts';
import type { SimulatedAws } from './testing/simulated-aws.ts';
import { sessionOn } from './testing/simulated-session.ts';
import { living } from './testing/situations.ts';

/** What was seen, and with which calls. */
async function look(
  aws: SimulatedAws,
  desired: Desired,
  { inTransit = false } = {},
): Promise<{ sight: Sight; calls: readonly string[] }> {
  const session = sessionOn(aws);
  const sight = await observe(session, desired, { inTransit })();
  if (isRight(sight)) return { sight: sight.right, calls: session.calls };
  throw new Error(`the look failed: ${JSON.stringify(sight.left)}`);
}

const roleIn = ({ observed }: { readonly observed: Observed }) => foundRoles(observed.roles)[0];

async function whole(aws: SimulatedAws, desired: Desired): Promise<Extract<Sight, { kind: 'whole' }>> {
  const { sight } = await look(aws, desired);
  return sight.kind === 'whole' ? sight : expect.fail('only a profile in transit was seen');
}

describe('observe', () => {
  it('needs three calls for an object at rest', async () => {
    const { sight, calls } = await look(awsWith(aSimulatedProfile(), aSimulatedRole()), living());
    expect(calls).to.deep.equal([
      `DescribeFargateProfile ${PROFILE}`,
      `GetRole ${ROLE}`,
      `ListAttachedRolePolicies ${ROLE}`,
    ]);
    expect(sight).to.deep.include({
      kind: 'whole',
      observed: {
        cluster: 'there',
        profiles: [{ name: PROFILE, found: aProfile() }],
        roles: [{ name: ROLE, found: aRole() }],
      },
    });
  });

  it('needs two calls where nothing is there', async () => {
    const { sight, calls } = await look(awsWith(), living());
    expect(calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`, `GetRole ${ROLE}`]);
    expect(sight.kind === 'whole' && sight.observed.roles).to.deep.equal([{ name: ROLE, found: undefined }]);
  });

  it('looks at each profile and role that is wanted or recorded', async () => {
    const status = {
      profileName: ProfileName.of('former'),
      role: { name: RoleName.of('former-role'), managed: true },
    };
    const { calls } = await look(awsWith(), living({}, status));
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
    it(`needs one call for a profile of ours that is still ${status}: it has to be waited for anyway`, async () => {
      const aws = awsWith(aSimulatedProfile({ status }), aSimulatedRole());
      const { sight, calls } = await look(aws, living(), { inTransit: true });
      expect(calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`]);
      expect(sight.kind === 'transit' && sight.why.reason).to.equal(reason);
    });

    it(`waits for a profile of ours that turns out to be ${status}, whatever became of reading its role`, async () => {
      const session = sessionOn(awsWith(aSimulatedProfile({ status }), aSimulatedRole()));
      session.onCall = (operation) => (operation === 'GetRole' ? aFailure({ operation }) : undefined);
      const sight = await observe(session, living(), { inTransit: false })();
      expect(isRight(sight) && sight.right.kind === 'transit' && sight.right.why.reason).to.equal(reason);
    });
  }

  describe('for a deletion', () => {
    const leaving = desiredOfDeletion(aDeletedObject());
    const rolesOf = async (aws: SimulatedAws) => (await whole(aws, leaving)).observed.roles;

    for (const status of ['ACTIVE', 'CREATE_FAILED', 'DELETE_FAILED', 'PAUSED']) {
      it(`needs one call as long as the profile is there, ${status}: it goes before its role`, async () => {
        const { sight, calls } = await look(awsWith(aSimulatedProfile({ status }), aSimulatedRole()), leaving);
        expect(calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`]);
        const roles = sight.kind === 'whole' ? sight.observed.roles : [];
        expect(roles.length).to.be.above(0);
        for (const { name, found } of roles) expect(found, name).to.equal('unread');
      });
    }

    it('looks at the role once the profile is gone', async () => {
      const [role] = await rolesOf(awsWith(aSimulatedRole()));
      expect(role).to.have.property('found').that.includes({ name: ROLE });
    });

    it('looks at the role where the profile is not ours: it stays', async () => {
      const [role] = await rolesOf(awsWith(aSimulatedProfile({ tags: {}, name: PROFILE }), aSimulatedRole()));
      expect(role).to.have.property('found').that.includes({ name: ROLE });
    });
  });

  it('reads the role, too, once the profile that was in transit has arrived', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    const { sight } = await look(aws, living(), { inTransit: true });
    expect(sight.kind === 'whole' && foundRoles(sight.observed.roles)).to.deep.equal([aRole()]);
  });

  describe('side by side', () => {
    const seen = living({}, { role: { name: ROLE, id: 'AROAEXAMPLE', managed: true } });

    /** The calls that are made before AWS has answered the first one. */
    async function begun(desired: Desired, aws = awsWith(aSimulatedProfile(), aSimulatedRole())) {
      const session = sessionOn(aws);
      const answer = Promise.withResolvers<void>();
      const held = <A>(call: Call<A>): Call<A> => {
        const begin = call();
        return async () => answer.promise.then(() => begin);
      };
      const { profiles, roles, clusters } = session;
      const eyes: Eyes = {
        clusters,
        profiles: { describe: (...which) => held(profiles.describe(...which)) },
        roles: { ...roles, get: (name) => held(roles.get(name)) },
      };
      const sight = observe(eyes, desired, { inTransit: false })();
      await new VirtualClock().settle();
      const calls = [...session.calls];
      answer.resolve();
      expect(isRight(await sight)).to.equal(true);
      return calls;
    }

    it('asks for profile and role', async () => {
      expect(await begun(living())).to.have.members([`DescribeFargateProfile ${PROFILE}`, `GetRole ${ROLE}`]);
    });

    it('asks for what a role has that was seen before', async () => {
      expect(await begun(seen)).to.have.members([
        `DescribeFargateProfile ${PROFILE}`,
        `GetRole ${ROLE}`,
        `ListAttachedRolePolicies ${ROLE}`,
      ]);
    });

    it('reads nothing of a role whose profile may have to go first', async () => {
      const leaving = desiredOfDeletion(aDeletedObject({ status: { role: { name: ROLE, id: 'AROAEXAMPLE' } } }));
      expect(await begun(leaving)).to.deep.equal([`DescribeFargateProfile ${PROFILE}`]);
    });

    it('asks for what blocks the deletion of a role that turns out to be elsewhere than wanted', async () => {
      const moved = living({ rolePath: '/team-a/' }, { role: { name: ROLE, id: 'AROAEXAMPLE' } });
      const { observed } = await whole(awsWith(aSimulatedProfile(), aSimulatedRole({ inline: ['theirs'] })), moved);
      expect(roleIn({ observed })?.blockers).to.deep.equal(['the inline policy "theirs"']);
    });

    it('takes a role for gone that was seen before, whatever IAM says to the question what it has', async () => {
      const session = sessionOn(awsWith(aSimulatedProfile()));
      session.onCall = (operation) =>
        operation === 'ListAttachedRolePolicies' ? aFailure({ operation, code: 'NoSuchEntity' }) : undefined;
      const sight = await observe(session, seen, { inTransit: false })();
      expect(isRight(sight) && sight.right.kind === 'whole' && sight.right.observed.roles).to.deep.equal([
        { name: ROLE, found: undefined },
      ]);
    });
  });

  it('looks on behind a profile of somebody else that is being created', async () => {
    const { sight } = await look(awsWith(aSimulatedProfile({ status: 'CREATING', tags: {} })), living());
    expect(sight.kind).to.equal('whole');
  });

  it('tells what it sees of the profiles before it looks on, and also where that fails', async () => {
    const session = sessionOn(awsWith(aSimulatedProfile(), aSimulatedRole()));
    session.onCall = (operation) => (operation === 'GetRole' ? aFailure({ operation }) : undefined);
    const heard: unknown[] = [];
    await observe(session, living(), { inTransit: true, heard: (seen) => heard.push([seen, ...session.calls]) })();
    expect(heard).to.deep.equal([
      [{ cluster: 'there', profiles: [{ name: PROFILE, found: aProfile() }] }, `DescribeFargateProfile ${PROFILE}`],
    ]);
  });

  it('tells a cluster that is gone', async () => {
    const aws = awsWith(aSimulatedRole());
    aws.cluster = 'gone';
    const { observed } = await whole(aws, living());
    expect(observed).to.deep.include({ cluster: 'gone', profiles: [{ name: PROFILE, found: undefined }] });
    expect(observed.roles[0]?.found, 'roles outlive it').not.to.equal(undefined);
  });

  describe('of the role', () => {
    const blocked = aSimulatedRole({ inline: ['theirs'] });
    const BLOCKERS = ['the inline policy "theirs"'];

    it('asks what blocks its deletion only where it is to go', async () => {
      expect(roleIn(await whole(awsWith(aSimulatedProfile(), blocked), living()))?.blockers).to.deep.equal([]);
      const leaving = desiredOfDeletion(aDeletedObject());
      expect(roleIn(await whole(awsWith(blocked), leaving))?.blockers).to.deep.equal(BLOCKERS);
    });

    it('asks it also where the role is under another path than wanted', async () => {
      const seen = await whole(awsWith(blocked), living({ rolePath: '/team-a/' }));
      expect(roleIn(seen)?.blockers).to.deep.equal(BLOCKERS);
    });

    it('asks less of a role that is only used', async () => {
      const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/shared');
      const { calls } = await look(awsWith(aSimulatedRole({ name: 'shared' })), living({ roleARN }));
      expect(calls).to.deep.equal([`DescribeFargateProfile ${PROFILE}`, 'GetRole shared']);
    });

    it('follows the name under which the profile uses it', async () => {
      const former = `${EKS_CLUSTER}-${PROFILE}_fargate`;
      const aws = awsWith(
        aSimulatedProfile({ podExecutionRoleArn: `arn:aws:iam::111122223333:role/${former}` }),
        aSimulatedRole({ name: former }),
      );
      const { observed, desired } = await whole(aws, living());
      expect(observed.roles.map(({ name }) => name)).to.deep.equal([former]);
      expect(desired.wanted?.role.name).to.equal(former);
    });
  });

  describe('how the cluster knows its roles', () => {
    const recorded = (id: string) => living({}, { role: { name: ROLE, id, managed: true } });
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());

    it('is asked where the role was made anew', async () => {
      const { sight, calls } = await look(aws, recorded('AROAFORMER'));
      expect(calls.at(-1)).to.equal(`DescribeCluster ${EKS_CLUSTER}`);
      expect(sight.kind === 'whole' && sight.observed.authenticationMode).to.equal('API_AND_CONFIG_MAP');
    });

    it('is not asked otherwise', async () => {
      const { calls } = await look(aws, recorded('AROAEXAMPLE'));
      expect(calls).not.to.include(`DescribeCluster ${EKS_CLUSTER}`);
    });
  });

  for (const operation of ['DescribeFargateProfile', 'GetRole', 'ListAttachedRolePolicies']) {
    it(`knows nothing where ${operation} fails`, async () => {
      const session = sessionOn(awsWith(aSimulatedProfile(), aSimulatedRole()));
      const failure = aFailure({ operation });
      session.onCall = (called) => (called === operation ? failure : undefined);
      expect(await observe(session, living(), { inTransit: false })()).to.deep.equal({ _tag: 'Left', left: failure });
    });
  }
});
