import { expect } from 'chai';
import { ProfileName } from '../../../../api/names.ts';
import { ADDED_TAG, OWNER_TAG } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { PROFILE, ROLE, ROLE_ARN, aDeletedObject, aFailure, anObject, sharedBy } from '../../testing/builders.ts';
import { SHARED_ROLE_ARN, SHARED_ROLE_NAME } from '../../testing/fixtures.ts';
import {
  CONSTRUCTIVE,
  DELETE_ACCESS_ENTRY,
  DELETE_PROFILE,
  DELETE_ROLE,
  DESTRUCTIVE,
  STRIP_ROLE,
  describeObstacle,
} from '../../testing/mutations.ts';
import {
  NO_ROLE_USERS,
  aSimulatedProfile,
  aSimulatedRole,
  awsAsDesired,
  awsWith,
  reconcileStateFor,
  roleUsers,
} from '../../testing/reconcile-state.ts';
import type { SimulatedAws } from '../../testing/simulated-aws.ts';
import type { ReconcileState } from '../guards.ts';
import type { RoleSharers, RoleUsers } from './live-objects.ts';
import { roleShareable, roleUnused } from './role-users.ts';

describe('roleUnused', () => {
  const named = aDeletedObject({ spec: { roleName: SHARED_ROLE_NAME } });
  const sharedRole = aSimulatedRole({ name: SHARED_ROLE_NAME });
  const using = (arn: string, name = 'theirs') => aSimulatedProfile({ name, tags: {}, podExecutionRoleArn: arn });
  const theirs = using(SHARED_ROLE_ARN);
  const checkWith = (users: RoleUsers) => roleUnused({ roleUsers: { ...NO_ROLE_USERS, usersOf: async () => users } });
  const REMOVAL = { kind: 'deleteRole', name: SHARED_ROLE_NAME } as const;

  const nobody = roleUsers();
  const BY_THEIRS = 'keep for Fargate profile "theirs"';
  const [LIST, DESCRIBE] = ['ListFargateProfiles', 'DescribeFargateProfile theirs'];
  const ofApi = { ...theirs, tags: { [OWNER_TAG]: 'team-a/api' } };
  const leaver = { ...nobody, leaving: new Map([['team-a/api', 'team-a/api']]) };
  const BY_API = 'keep for AWSFargateProfile team-a/api';
  const gone = awsWith(sharedRole, theirs);
  gone.cluster = 'gone';
  const rows: readonly (readonly [string, SimulatedAws, RoleUsers, expected: string, ...calls: string[]])[] = [
    ['no profile', awsWith(sharedRole), nobody, 'go', LIST],
    ['a foreign profile with it', awsWith(sharedRole, theirs), nobody, BY_THEIRS, LIST, DESCRIBE],
    [
      'a foreign profile with it that EKS is deleting',
      awsWith(sharedRole, { ...theirs, status: 'DELETING' }),
      nobody,
      'stop: DeletingProfile',
      LIST,
      DESCRIBE,
    ],
    [
      'a profile that this reconcile has read with another role, which EKS cannot change',
      awsWith(sharedRole, using('arn:other')),
      nobody,
      'go',
      LIST,
    ],
    [
      'the profile of the object itself, because its deletion comes first',
      awsWith(sharedRole, using(SHARED_ROLE_ARN, PROFILE)),
      nobody,
      'keep for Fargate profile "team-a_web"',
      LIST,
      `DescribeFargateProfile ${PROFILE}`,
    ],
    ['a profile of a leaving object', awsWith(sharedRole, ofApi), leaver, BY_API, LIST, DESCRIBE],
    [
      'a profile of a leaving object that EKS is deleting',
      awsWith(sharedRole, { ...ofApi, status: 'DELETING' }),
      leaver,
      BY_API,
      LIST,
      DESCRIBE,
    ],
    ['a leaving object without a profile', awsWith(sharedRole), leaver, 'go', LIST],
    ['a profile in an EKS cluster that is gone', gone, nobody, 'go'],
  ];
  for (const [situation, aws, users, expected, ...calls] of rows)
    it(`answers "${expected}" for ${situation}`, async () => {
      const reconcile = reconcileStateFor(aws, named);
      expect(describeObstacle(await checkWith(users)(REMOVAL, reconcile))).to.equal(expected);
      expect(reconcile.session.calls).to.deep.equal(calls);
    });

  it('asks EKS about a profile that has appeared since the reconcile has read the others', async () => {
    for (const [arn, expected] of [
      [SHARED_ROLE_ARN, BY_THEIRS],
      ['arn:other', 'go'],
    ] as const) {
      const aws = awsWith(sharedRole);
      const reconcile = reconcileStateFor(aws, named);
      aws.profiles.set('theirs', { ...using(arn) });
      expect(describeObstacle(await checkWith(nobody)(REMOVAL, reconcile))).to.equal(expected);
      expect(reconcile.session.calls).to.deep.equal([LIST, DESCRIBE]);
    }
  });

  it('begins again for a profile of the object itself that has appeared since, and that has to be deleted first', async () => {
    const aws = awsWith(sharedRole);
    const reconcile = reconcileStateFor(aws, named);
    const own = aSimulatedProfile({ podExecutionRoleArn: SHARED_ROLE_ARN });
    aws.profiles.set(own.name, own);
    expect(describeObstacle(await checkWith(nobody)(REMOVAL, reconcile))).to.equal('stop: ReadAgain');
  });

  it('ignores a profile that disappears between list and read, and a cluster that has disappeared since', async () => {
    for (const vanish of [
      (aws: SimulatedAws) => void aws.profiles.delete('theirs'),
      (aws: SimulatedAws) => void (aws.cluster = 'gone'),
    ]) {
      const aws = awsWith(sharedRole, theirs);
      const reconcile = reconcileStateFor(aws, named);
      reconcile.session.onCall = (called) => {
        if (called === 'DescribeFargateProfile') vanish(aws);
        return undefined;
      };
      expect(await checkWith(nobody)(REMOVAL, reconcile)).to.equal(undefined);
    }
    const aws = awsWith(sharedRole);
    const reconcile = reconcileStateFor(aws, named);
    aws.cluster = 'gone';
    expect(await checkWith(nobody)(REMOVAL, reconcile)).to.equal(undefined);
  });

  const leaving = (): ReconcileState => reconcileStateFor(awsAsDesired(), aDeletedObject());
  const asked: string[] = [];
  const askingCheck = (user?: string) =>
    roleUnused({
      roleUsers: {
        ...NO_ROLE_USERS,
        usersOf: async ({ name }) => {
          asked.push(name);
          return roleUsers(user);
        },
      },
    });
  beforeEach(() => asked.splice(0));

  it('protects a role that another object uses, and asks the API server once per reconcile and role', async () => {
    for (const [user, expected] of [
      ['team-a/other', 'keep for AWSFargateProfile team-a/other'],
      [undefined, 'go'],
    ] as const) {
      asked.splice(0);
      const [check, reconcile] = [askingCheck(user), leaving()];
      for (const mutation of [STRIP_ROLE, DELETE_ROLE])
        expect(describeObstacle(await check(mutation, reconcile))).to.equal(expected);
      await check(DELETE_ROLE, leaving());
      expect(asked).to.have.length(2);
    }
  });

  for (const [failure, expected] of [
    [{ code: 'AccessDeniedException', statusCode: 403 }, 'stop: AccessDenied'],
    [{ code: 'NotDispatched', message: 'the lease runs out' }, 'stop: NotNow'],
  ] as const)
    it(`keeps a role while its users are unknown: "${expected}" after ${failure.code}`, async () => {
      for (const operation of ['ListFargateProfiles', 'DescribeFargateProfile']) {
        const aws = awsWith(aSimulatedRole(), aSimulatedProfile({ name: 'theirs', tags: {} }));
        const reconcile = reconcileStateFor(aws, aDeletedObject());
        reconcile.session.onCall = (called) => (called === operation ? aFailure({ operation, ...failure }) : undefined);
        expect(describeObstacle(await askingCheck()(DELETE_ROLE, reconcile)), operation).to.equal(expected);
      }
    });

  it('asks nothing before a mutation that removes no role', async () => {
    for (const mutation of [...CONSTRUCTIVE, DELETE_PROFILE])
      expect(await askingCheck('team-a/other')(mutation, leaving()), mutation.kind).to.equal(undefined);
    expect(asked).to.deep.equal([]);
  });

  it('keeps the entry while another live profile uses the ARN of the role, also if the role has to be recreated', async () => {
    for (const roles of [[aSimulatedRole()], []]) {
      const reconcile = reconcileStateFor(awsWith(aSimulatedProfile({ name: 'theirs', tags: {} }), ...roles));
      const mutation = { ...DELETE_ACCESS_ENTRY, because: 'profileCreation' } as const;
      expect(await askingCheck()(mutation, reconcile)).to.deep.equal({ kind: 'keep', by: 'Fargate profile "theirs"' });
    }
  });

  it('does not keep the entry of a role that was recreated', async () => {
    const reconcile = reconcileStateFor(awsWith(aSimulatedProfile({ name: 'theirs', tags: {} }), aSimulatedRole()));
    expect(await askingCheck()({ ...DELETE_ACCESS_ENTRY, because: 'roleRecreated' }, reconcile)).to.equal(undefined);
  });
});

describe('roleShareable', () => {
  const CREATE_ROLE = { kind: 'attachPolicy', name: ROLE, policyArn: 'arn:aws:iam::aws:policy/A' } as const;
  const NOBODY: RoleSharers = { possibleDeleter: undefined, sharers: [] };
  const check = (
    found: RoleSharers,
    aws = awsWith(),
    mutation: Parameters<ReturnType<typeof roleShareable>>[0] = CREATE_ROLE,
    object = anObject(),
    over: Parameters<typeof reconcileStateFor>[2] = {},
  ) =>
    roleShareable({ roleUsers: { ...NO_ROLE_USERS, sharersOf: async () => found } })(
      mutation,
      reconcileStateFor(aws, object, over),
    );

  it('lets an object go on that shares its role with nobody', async () => {
    expect(await check(NOBODY)).to.equal(undefined);
  });

  it('lets an object wait for another one that may delete the role', async () => {
    for (const aws of [awsWith(), awsWith(aSimulatedRole())])
      expect(await check({ ...NOBODY, possibleDeleter: 'team-a/api' }, aws)).to.deep.equal({
        kind: 'stop',
        reason: { name: 'WaitingForRoleDeletion', facts: { name: ROLE, other: 'AWSFargateProfile team-a/api' } },
      });
    const brought = anObject({ spec: { roleARN: ROLE_ARN } });
    const foreign = awsWith(aSimulatedRole({ tags: {} }));
    expect(await check({ ...NOBODY, possibleDeleter: 'x' }, foreign, CREATE_ROLE, brought)).to.have.property(
      'kind',
      'stop',
    );
  });

  it('lets an object mend its role whose profile exists, because the profile keeps the role', async () => {
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    expect(await check({ ...NOBODY, possibleDeleter: 'team-a/api' }, aws)).to.equal(undefined);
  });

  it('stops an object whose settings differ from those of an older object', async () => {
    const older = anObject({
      metadata: { name: 'api', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { roleName: ROLE, rolePath: '/pods/' },
    });
    const obstacle = await check({ ...NOBODY, sharers: [older] });
    expect(obstacle?.kind === 'stop' && obstacle.reason.name).to.equal('RoleSettingsConflict');
  });

  it('stops an older object whose settings differ from those of an object that serves', async () => {
    const younger = anObject({
      metadata: { name: 'api', creationTimestamp: '2099-01-01T00:00:00Z' },
      spec: { roleName: ROLE, rolePath: '/pods/' },
    });
    const found = { ...NOBODY, sharers: [younger] };
    const serving = aSimulatedProfile({ name: 'theirs', tags: { [OWNER_TAG]: 'team-a/api' } });
    expect(await check(found)).to.equal(undefined);
    const obstacle = await check(found, awsWith(serving));
    expect(obstacle?.kind === 'stop' && obstacle.reason.name).to.equal('RoleSettingsConflict');
  });

  it('lets an object go on whose role of spec.roleARN another object manages', async () => {
    const manager = anObject({ metadata: { name: 'api' }, spec: { roleName: ROLE, rolePath: '/pods/' } });
    const aws = awsWith(aSimulatedProfile({ name: 'theirs', tags: { [OWNER_TAG]: 'team-a/api' } }), aSimulatedRole());
    const createEntry = { kind: 'createAccessEntry', name: ROLE, principal: ROLE_ARN } as const;
    const user = anObject({ spec: { roleARN: ROLE_ARN } });
    expect(await check({ ...NOBODY, sharers: [manager] }, aws, createEntry, user)).to.equal(undefined);
  });

  const DETACH = { kind: 'detachPolicy', name: ROLE, policyArn: 'arn:aws:iam::aws:policy/A', retiring: false } as const;
  const withUnknownUser = () =>
    awsWith(aSimulatedRole(), aSimulatedProfile({ name: 'theirs', tags: { [OWNER_TAG]: 'team-a/api' } }));
  const asking = { spec: { roleName: ROLE } };

  for (const [mutation, setting] of [
    [DETACH, 'roleAdditionalPolicies'],
    [{ kind: 'setBoundary', name: ROLE, policyArn: 'arn:aws:iam::aws:policy/A' }, 'rolePermissionsBoundary'],
    [{ kind: 'removeBoundary', name: ROLE }, 'rolePermissionsBoundary'],
  ] as const)
    it(`lets no ${mutation.kind} take permissions from a profile whose object no manager here has`, async () => {
      const facts = { name: ROLE, unknownUser: 'theirs', settings: [setting], isSpecFixed: false };
      const unknownUsers = [ProfileName.of('theirs')];
      expect(
        await check(NOBODY, withUnknownUser(), mutation, anObject(asking), sharedBy({ unknownUsers })),
      ).to.deep.equal({
        kind: 'stop',
        reason: { name: 'RoleSettingsConflict', facts },
      });
      expect(await check(NOBODY, withUnknownUser(), mutation, anObject(asking)), 'in the cache').to.equal(undefined);
      const api = anObject({ ...asking, metadata: { name: 'api' } });
      const ofOtherManager = { ...NOBODY, sharers: [api] };
      expect(
        await check(ofOtherManager, withUnknownUser(), mutation, anObject(asking), sharedBy({ unknownUsers })),
      ).to.equal(undefined);
    });

  it('lets other changes of the role pass', async () => {
    for (const mutation of [CREATE_ROLE, { kind: 'setTrust', name: ROLE, trust: '{}' } as const])
      expect(
        await check(
          NOBODY,
          withUnknownUser(),
          mutation,
          anObject(asking),
          sharedBy({
            unknownUsers: [ProfileName.of('theirs')],
          }),
        ),
      ).to.equal(undefined);
  });

  it('keeps a tag that another object wants on the role, whatever its case', async () => {
    const sharer = anObject({ metadata: { name: 'api' }, spec: { roleName: ROLE, additionalTags: { Team: 'a' } } });
    const untag = (...keys: readonly string[]) => ({ kind: 'untagRole', name: ROLE, keys }) as const;
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    const found = { ...NOBODY, sharers: [sharer] };
    for (const [keys, rest] of [
      [['team'], []],
      [['mine', 'team'], ['mine']],
      // Without the bookkeeping tag, nothing would say that the controller has set the tag that is kept.
      [['mine', ADDED_TAG, 'team'], ['mine']],
    ] as const)
      expect(await check(found, aws, untag(...keys))).to.deep.equal({ kind: 'untagOnly', keys: rest });
    expect(await check(found, aws, untag('theirs'))).to.equal(undefined);
  });

  it('does not ask for a mutation that needs no role, or for a foreign role', async () => {
    const found = { ...NOBODY, possibleDeleter: 'team-a/api' };
    const ofProfile = CONSTRUCTIVE.filter(({ kind }) => kind === 'tagProfile' || kind === 'untagProfile');
    for (const mutation of [...ofProfile, ...DESTRUCTIVE])
      expect(await check(found, awsWith(), mutation), mutation.kind).to.equal(undefined);
    expect(await check(found, awsWith(aSimulatedRole({ tags: {} })))).to.equal(undefined);
  });
});
