import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { VirtualClock } from 'controller-runtime/testing';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Call } from '../../../pkg/cloud/index.ts';
import { recordOf } from '../../shared/record.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { baseNameOf } from '../../shared/profile-names.ts';
import { identityOf } from '../model/owner.ts';
import { foundRoles } from '../model/observed-state.ts';
import {
  EKS_CLUSTER,
  HERE,
  FULL_RECORD,
  PROFILE,
  PROFILE_ID,
  ROLE,
  type ObjectParts,
  aDeletedObject,
  aFailure,
  aProfile,
  aRole,
  anObject,
  desiredInputs,
} from '../testing/builders.ts';
import { CAPA_TAGS, FOREIGN_TAGS } from '../testing/fixtures.ts';
import { aSimulatedProfile, aSimulatedRole, awsAsDesired, awsWith } from '../testing/reconcile-state.ts';
import { type SimulatedAws, sessionOn } from '../testing/simulated-aws.ts';
import type { Looking, ProfilesAndRoles } from '../model/observed-state.ts';
import { glance, survey } from './observe.ts';

function lookingFor(object: AWSFargateProfile): Looking {
  const identity = identityOf(object, desiredInputs(), baseNameOf(object));
  return { object, identity, record: recordOf(object), isLeaving: isDeleting(object), isLeavingWithCluster: false };
}

async function look<A extends ProfilesAndRoles | undefined>(
  by: (reader: ReturnType<typeof sessionOn>, looking: Looking) => Promise<E.Either<unknown, A>>,
  aws: SimulatedAws,
  object: AWSFargateProfile,
): Promise<{ seen: A; calls: readonly string[] }> {
  const session = sessionOn(aws);
  const seen = await by(session, lookingFor(object));
  if (E.isRight(seen)) return { seen: seen.right, calls: session.calls };
  throw new Error(`AWS cannot be read: ${JSON.stringify(seen.left)}`);
}
const glanced = async (aws: SimulatedAws, object = anObject({ record: FULL_RECORD })) => look(glance, aws, object);
const surveyed = async (aws: SimulatedAws, object = anObject()) => look(survey, aws, object);

const rolesOf = ({ roles }: ProfilesAndRoles): readonly string[] =>
  roles.map(({ name, found }) => `${name} ${found === 'unread' ? found : found === undefined ? 'absent' : 'there'}`);

const LISTING = 'ListFargateProfiles';
const DESCRIBE = `DescribeFargateProfile ${PROFILE}`;
const GET = `GetRole ${ROLE}`;
const LIST = `ListAttachedRolePolicies ${ROLE}`;
const FORMER_ROLE = `${EKS_CLUSTER}-${PROFILE}_fargate`;
const SHARED_ARN = RoleArn.of('arn:aws:iam::111122223333:role/shared');
const OTHER = ProfileName.of('other');
const BOTH = { ...FULL_RECORD, profiles: [...FULL_RECORD.profiles, { name: OTHER, id: PROFILE_ID }] };

describe('A glance', () => {
  it('needs three calls for an object in order', async () => {
    const { seen, calls } = await glanced(awsAsDesired());
    expect(calls).to.have.members([DESCRIBE, GET, LIST]);
    expect(seen).to.deep.equal({
      depth: 'glance',
      cluster: 'there',
      profiles: [aProfile()],
      roles: [{ name: ROLE, found: aRole() }],
    });
  });

  for (const [situation, aws, record] of [
    ['creates the profile', awsWith(aSimulatedProfile({ status: 'CREATING' })), FULL_RECORD],
    ['deletes the profile', awsWith(aSimulatedProfile({ status: 'DELETING' })), FULL_RECORD],
    [
      'creates another profile than the one that differs',
      awsWith(aSimulatedProfile({ selectors: [] }), aSimulatedProfile({ name: OTHER, status: 'CREATING' })),
      BOTH,
    ],
  ] as const)
    it(`suffices while EKS ${situation}, without a look at the role`, async () => {
      const { seen, calls } = await glanced(aws, anObject({ record }));
      expect(calls).to.deep.equal(record.profiles.map(({ name }) => `DescribeFargateProfile ${name}`));
      expect(seen).to.deep.include({ depth: 'glance', roles: [{ name: ROLE, found: 'unread' }] });
    });

  it('suffices while EKS deletes a predecessor of the profile that serves, with a look at the role', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedProfile({ name: OTHER, status: 'DELETING' }), aSimulatedRole());
    const { seen, calls } = await glanced(aws, anObject({ record: BOTH }));
    expect(calls).to.have.members([DESCRIBE, `DescribeFargateProfile ${OTHER}`, GET, LIST]);
    expect(seen).to.deep.include({ depth: 'glance', roles: [{ name: ROLE, found: aRole() }] });
  });

  it('suffices for the role of another owner that the record has', async () => {
    const record = {
      ...FULL_RECORD,
      roles: [{ name: RoleName.of('shared'), id: 'AROAEXAMPLE', managed: false as const }],
    };
    const aws = awsWith(
      aSimulatedProfile({ podExecutionRoleArn: SHARED_ARN }),
      aSimulatedRole({ name: 'shared', tags: {}, path: '/' }),
    );
    const { seen } = await glanced(aws, anObject({ spec: { roleARN: SHARED_ARN }, record }));
    expect(seen).to.have.property('depth', 'glance');
  });

  const role = aSimulatedRole();
  const onRole = (over: Parameters<typeof aSimulatedRole>[0]): SimulatedAws =>
    awsWith(aSimulatedProfile(), aSimulatedRole(over));
  const onProfile = (over: Parameters<typeof aSimulatedProfile>[0]): SimulatedAws =>
    awsWith(aSimulatedProfile(over), role);
  const gone = awsAsDesired();
  gone.cluster = 'gone';
  for (const [situation, aws, parts] of [
    ['the recorded profile is gone', awsWith(role), {}],
    ['the EKS cluster is gone', gone, {}],
    ['nothing is recorded', awsAsDesired(), { record: { in: HERE } }],
    [
      'the profile has another id',
      awsAsDesired(),
      { record: { ...FULL_RECORD, profiles: [{ name: PROFILE, id: 'other' }] } },
    ],
    [
      'the create of the profile was not answered',
      awsAsDesired(),
      { record: { ...FULL_RECORD, profiles: [{ name: PROFILE, requestedAt: 0 }] } },
    ],
    [
      'the profile that EKS creates has another id',
      onProfile({ status: 'CREATING' }),
      { record: { ...FULL_RECORD, profiles: [{ name: PROFILE, id: 'other' }] } },
    ],
    ['the profile belongs to another object', onProfile({ tags: FOREIGN_TAGS }), {}],
    ['the profile has lost its tags', onProfile({ tags: {} }), {}],
    ['EKS failed to create the profile', onProfile({ status: 'CREATE_FAILED' }), {}],
    ['EKS failed to delete the profile', onProfile({ status: 'DELETE_FAILED' }), {}],
    ['the profile differs from the spec', onProfile({ selectors: [] }), {}],
    ['the spec names other subnets', awsAsDesired(), { spec: { subnetIDs: ['subnet-0f'] } }],
    ['the spec names another profile', awsAsDesired(), { spec: { profileName: OTHER } }],
    ['the spec names another role', awsAsDesired(), { spec: { roleARN: SHARED_ARN } }],
    [
      'two profiles are recorded',
      awsWith(aSimulatedProfile(), aSimulatedProfile({ name: OTHER }), role),
      { record: BOTH },
    ],
    [
      'another role is recorded',
      awsAsDesired(),
      { record: { ...FULL_RECORD, roles: [...FULL_RECORD.roles, { name: RoleName.of('other') }] } },
    ],
    ['the role is gone', awsWith(aSimulatedProfile()), {}],
    ['the role was created again', onRole({ id: 'AROAOTHER' }), {}],
    ['the role is not recorded', awsAsDesired(), { record: { ...FULL_RECORD, roles: [] } }],
    ['the role has another path', onRole({ path: '/x/' }), {}],
  ] satisfies readonly (readonly [string, SimulatedAws, ObjectParts])[])
    it(`does not suffice if ${situation}`, async () => {
      const { seen } = await glanced(aws, anObject({ record: FULL_RECORD, ...parts }));
      expect(seen).to.equal(undefined);
    });

  it('does not suffice for the deletion of a profile', async () => {
    expect((await glanced(awsAsDesired(), aDeletedObject({ record: FULL_RECORD }))).seen).to.equal(undefined);
  });

  for (const operation of ['DescribeFargateProfile', 'GetRole', 'ListAttachedRolePolicies'])
    it(`fails when ${operation} fails`, async () => {
      const session = sessionOn(awsAsDesired());
      const failure = aFailure({ operation });
      session.onCall = (called) => (called === operation ? failure : undefined);
      expect(await glance(session, lookingFor(anObject({ record: FULL_RECORD })))).to.deep.equal(E.left(failure));
    });
});

describe('A survey', () => {
  it('reads all profiles of the EKS cluster, and the role', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedProfile({ name: OTHER, tags: FOREIGN_TAGS }), aSimulatedRole());
    const { seen, calls } = await surveyed(aws);
    expect(calls).to.deep.equal([LISTING, DESCRIBE, 'DescribeFargateProfile other', GET, LIST]);
    expect(seen).to.deep.equal({
      depth: 'survey',
      cluster: 'there',
      profiles: [aProfile(), aProfile({ name: OTHER, tags: FOREIGN_TAGS })],
      roles: [{ name: ROLE, found: aRole() }],
    });
  });

  it('reads each role once that the spec or the record names or that a profile of the object uses', async () => {
    const using = (role: string) => ({ podExecutionRoleArn: `arn:aws:iam::111122223333:role/${role}` });
    const aws = awsWith(
      aSimulatedProfile({ name: 'first', ...using('in-use') }),
      aSimulatedProfile({ name: 'second', ...using('SHARED') }),
      aSimulatedProfile({ name: 'third', ...using('theirs'), tags: FOREIGN_TAGS }),
    );
    const record = { in: HERE, roles: [{ name: RoleName.of('recorded') }, { name: RoleName.of('In-Use') }] };
    const named = { spec: { roleName: RoleName.of('shared') }, record };
    expect(rolesOf((await surveyed(aws, anObject(named))).seen)).to.deep.equal([
      'shared absent',
      'in-use absent',
      'recorded absent',
    ]);
    const brought = { spec: { roleARN: SHARED_ARN }, record };
    expect(rolesOf((await surveyed(aws, anObject(brought))).seen)).to.include('shared absent');
  });

  it('leaves out what was deleted since EKS has listed it', async () => {
    const aws = awsAsDesired();
    const session = sessionOn(aws);
    const names = [PROFILE, ProfileName.of('deleted')];
    const reader = {
      ...session,
      profiles: { ...session.profiles, list: async () => E.right({ kind: 'listed', names }) },
    };
    const seen = await survey(reader as typeof session, lookingFor(anObject()));
    expect(E.isRight(seen) && seen.right.profiles).to.deep.equal([aProfile()]);
  });

  it('shows an EKS cluster that is gone, and the roles that outlive it', async () => {
    const aws = awsAsDesired();
    aws.cluster = 'gone';
    const { seen, calls } = await surveyed(aws);
    expect(calls).to.deep.equal([LISTING, GET, LIST]);
    expect(seen).to.deep.include({ cluster: 'gone', profiles: [] });
    expect(rolesOf(seen)).to.deep.equal([`${ROLE} there`]);
  });

  it('shows no profile of an EKS cluster that is deleted meanwhile', async () => {
    const aws = awsAsDesired();
    const session = sessionOn(aws);
    session.onCall = (operation) => {
      if (operation === 'DescribeFargateProfile') aws.cluster = 'gone';
      return undefined;
    };
    const seen = await survey(session, lookingFor(anObject()));
    expect(E.isRight(seen) && seen.right).to.deep.include({ cluster: 'gone', profiles: [] });
  });

  describe('reads no role', () => {
    const creating = aSimulatedProfile({ status: 'CREATING' });
    for (const [situation, aws, role] of [
      ['while EKS creates the only profile of the object', awsWith(creating), 'unread'],
      [
        'while EKS deletes the only profile of the object',
        awsWith(aSimulatedProfile({ status: 'DELETING' })),
        'unread',
      ],
      ['except beside an ACTIVE profile', awsWith(creating, aSimulatedProfile({ name: OTHER })), 'absent'],
      ['except beside a foreign profile that EKS creates', awsWith({ ...creating, tags: FOREIGN_TAGS }), 'absent'],
    ] as const)
      it(situation, async () => expect(rolesOf((await surveyed(aws)).seen)).to.deep.equal([`${ROLE} ${role}`]));
  });

  describe('for a deletion', () => {
    for (const status of ['ACTIVE', 'CREATE_FAILED', 'DELETE_FAILED', 'PAUSED'])
      it(`reads no role while a profile is ${status}, because it has to be deleted before`, async () => {
        const aws = awsWith(aSimulatedProfile({ name: OTHER, status }), aSimulatedRole());
        const { seen, calls } = await surveyed(aws, aDeletedObject());
        expect(calls).to.deep.equal([LISTING, 'DescribeFargateProfile other']);
        expect(rolesOf(seen)).to.deep.equal([`${ROLE} unread`, `${FORMER_ROLE} unread`]);
      });

    const web = ProfileName.of('web');
    const recordedRole = { in: HERE, roles: [{ name: RoleName.of('recorded'), id: 'AROANOTED' }] };
    for (const [situation, parts, roles] of [
      ['all names that CAPA computes, without a recorded role', {}, [ROLE, FORMER_ROLE]],
      [
        'those of both profile names, without a recorded role',
        { spec: { profileName: web } },
        ['prod-web_fargate', `${EKS_CLUSTER}-web_fargate`],
      ],
      ['the recorded role and the computed one', { record: recordedRole }, [ROLE, 'recorded']],
      [
        'not a recorded role of another owner',
        { record: { in: HERE, roles: [{ name: RoleName.of('theirs'), id: 'AROATHEIRS', managed: false }] } },
        [ROLE, FORMER_ROLE],
      ],
      ['the role of spec.roleName alone', { spec: { roleName: RoleName.of('Pods') } }, ['Pods']],
      ['not the role of spec.roleARN', { spec: { roleARN: SHARED_ARN } }, []],
      ['no name that IAM would reject', { spec: { roleName: RoleName.of('no name') } }, []],
    ] satisfies readonly (readonly [string, ObjectParts, readonly string[]])[])
      it(`looks for ${situation}`, async () => {
        const { seen } = await surveyed(awsWith(), aDeletedObject(parts));
        expect(seen.roles.map(({ name }) => name)).to.deep.equal(roles);
      });

    it('reads the roles beside a profile that is not of the object', async () => {
      const { seen } = await surveyed(awsWith(aSimulatedProfile({ tags: {} }), aSimulatedRole()), aDeletedObject());
      expect(rolesOf(seen)).to.deep.equal([`${ROLE} there`, `${FORMER_ROLE} absent`]);
    });

    it('takes a profile of Cluster API Provider AWS for one of the object, unless adoptionPolicy is Never', async () => {
      const aws = awsWith(aSimulatedProfile({ tags: CAPA_TAGS }), aSimulatedRole());
      for (const [adoptionPolicy, state] of [
        ['Owned', 'unread'],
        ['Never', 'there'],
      ] as const) {
        const { seen } = await surveyed(aws, aDeletedObject({ spec: { adoptionPolicy } }));
        expect(rolesOf(seen)).to.include(`${ROLE} ${state}`);
      }
    });
  });

  describe('of a role', () => {
    const blocked = aSimulatedRole({ inline: ['theirs'] });
    const blockersIn = async (aws: SimulatedAws, object: AWSFargateProfile) =>
      foundRoles((await surveyed(aws, object)).seen.roles).flatMap(({ blockers }) => blockers);

    it('reads what blocks the deletion of the role only when the role has to be deleted', async () => {
      const BLOCKERS = ['the inline policy "theirs"'];
      const elsewhere = { spec: { rolePath: '/team-a/' } };
      const unwanted = { spec: { roleName: RoleName.of('other') }, record: FULL_RECORD };
      expect(await blockersIn(awsWith(aSimulatedProfile(), blocked), anObject())).to.deep.equal([]);
      expect(await blockersIn(awsWith(blocked), aDeletedObject())).to.deep.equal(BLOCKERS);
      expect(await blockersIn(awsWith(blocked), anObject(elsewhere))).to.deep.equal(BLOCKERS);
      expect(await blockersIn(awsWith(blocked), anObject({ ...elsewhere, record: FULL_RECORD }))).to.deep.equal(
        BLOCKERS,
      );
      expect(await blockersIn(awsWith(blocked), anObject(unwanted))).to.deep.equal(BLOCKERS);
      const used = aSimulatedProfile({ tags: FOREIGN_TAGS });
      expect(await blockersIn(awsWith(used, blocked), anObject(unwanted)), 'used by another').to.deep.equal([]);
      expect(await blockersIn(awsWith({ ...used, status: 'DELETING' }, blocked), aDeletedObject())).to.deep.equal(
        BLOCKERS,
      );
    });

    it('needs no call for the policies of a role that is only used', async () => {
      const { calls } = await surveyed(
        awsWith(aSimulatedRole({ name: 'shared' })),
        anObject({ spec: { roleARN: SHARED_ARN } }),
      );
      expect(calls).to.deep.equal([LISTING, 'GetRole shared']);
    });

    it('reads the policies at the same time as a role whose id is recorded', async () => {
      for (const [record, early] of [
        [FULL_RECORD, [LIST]],
        [{ in: HERE, roles: [{ name: ROLE, requestedAt: 0 }] }, []],
      ] as const) {
        const session = sessionOn(awsAsDesired());
        const answer = Promise.withResolvers<void>();
        const held = <A>(call: Call<A>): Call<A> => answer.promise.then(() => call);
        const reader = {
          ...session,
          roles: { ...session.roles, get: (name: RoleName) => held(session.roles.get(name)) },
        };
        const observation = survey(reader, lookingFor(anObject({ record })));
        await new VirtualClock().settle();
        expect(session.calls).to.have.members([LISTING, DESCRIBE, GET, ...early]);
        answer.resolve();
        expect(E.isRight(await observation)).to.equal(true);
      }
    });

    it('shows a recorded role as gone although listing its policies fails', async () => {
      const session = sessionOn(awsWith(aSimulatedProfile()));
      session.onCall = (operation) =>
        operation === 'ListAttachedRolePolicies' ? aFailure({ operation, code: 'NoSuchEntity' }) : undefined;
      const seen = await survey(session, lookingFor(anObject({ record: FULL_RECORD })));
      expect(E.isRight(seen) && rolesOf(seen.right)).to.deep.equal([`${ROLE} absent`]);
    });
  });

  // If the manager is not allowed to describe a listed profile, the survey fails, because the owner of the profile is
  // unknown.
  for (const operation of [LISTING, 'DescribeFargateProfile', 'GetRole', 'ListAttachedRolePolicies'])
    it(`fails when ${operation} fails, whatever is recorded`, async () => {
      const session = sessionOn(awsAsDesired());
      const failure = aFailure({ operation });
      session.onCall = (called) => (called === operation ? failure : undefined);
      for (const record of [{}, FULL_RECORD])
        expect(await survey(session, lookingFor(anObject({ record })))).to.deep.equal(E.left(failure));
    });
});
