import { expect } from 'chai';
import type { RoleName } from '../../../../api/names.ts';
import { OWNER_TAG } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { PROFILE, ROLE, aDeletedObject } from '../../testing/builders.ts';
import { SHARED_ROLE_ARN, SHARED_ROLE_NAME } from '../../testing/fixtures.ts';
import {
  aSimulatedProfile,
  aSimulatedRole,
  awsWith,
  newServices,
  passStateFor,
  roleUsers,
} from '../../testing/pass-state.ts';
import type { SimulatedAws } from '../../testing/simulated-aws.ts';
import type { RoleUsers } from './other-role-users.ts';
import { readRoleUsage } from './role-usage.ts';

const named = aDeletedObject({ spec: { roleName: SHARED_ROLE_NAME } });
const sharedRole = aSimulatedRole({ name: SHARED_ROLE_NAME });
const using = (arn: string, name = 'theirs') => aSimulatedProfile({ name, tags: {}, podExecutionRoleArn: arn });
const theirs = using(SHARED_ROLE_ARN);

/** Returns the usage of a role that an object wants to delete, in words, and the calls to AWS that this takes. */
async function usageOf(role: RoleName, aws: SimulatedAws, users: RoleUsers, change: (aws: SimulatedAws) => void) {
  const pass = passStateFor(aws, role === ROLE ? aDeletedObject() : named);
  pass.session.onCall = (called) => {
    if (called === 'DescribeFargateProfile') change(aws);
    return undefined;
  };
  const live = { ...newServices().live, readRoleUsers: async () => users };
  const usage = await readRoleUsage(live, pass, role);
  return { usage: usage.kind === 'used' ? `used by ${usage.by}` : usage.kind, calls: pass.session.calls };
}

describe('readRoleUsage', () => {
  const nobody = roleUsers();
  const BY_THEIRS = 'used by Fargate profile "theirs"';
  const [LIST, DESCRIBE] = ['ListFargateProfiles', 'DescribeFargateProfile theirs'];
  const ofApi = { ...theirs, tags: { [OWNER_TAG]: 'team-a/api' } };
  const leaver = { ...nobody, leaving: new Map([['team-a/api', 'team-a/api']]) };
  const BY_API = 'used by AWSFargateProfile team-a/api';
  const gone = awsWith(sharedRole, theirs);
  gone.cluster = 'gone';
  const rows: readonly (readonly [string, RoleName, SimulatedAws, RoleUsers, usage: string, ...calls: string[]])[] = [
    ['no profile', SHARED_ROLE_NAME, awsWith(sharedRole), nobody, 'unused', LIST],
    [
      'an object that names it',
      SHARED_ROLE_NAME,
      gone,
      roleUsers('team-b/api'),
      'used by AWSFargateProfile team-b/api',
    ],
    ['a foreign profile with it', SHARED_ROLE_NAME, awsWith(sharedRole, theirs), nobody, BY_THEIRS, LIST, DESCRIBE],
    [
      'a foreign profile with it that EKS is deleting',
      SHARED_ROLE_NAME,
      awsWith(sharedRole, { ...theirs, status: 'DELETING' }),
      nobody,
      'unknown',
      LIST,
      DESCRIBE,
    ],
    [
      'the same, under a computed name',
      ROLE,
      awsWith(aSimulatedRole(), aSimulatedProfile({ name: 'theirs', tags: {} })),
      nobody,
      BY_THEIRS,
      LIST,
      DESCRIBE,
    ],
    [
      'a profile that this pass has read with another role, which EKS cannot change',
      SHARED_ROLE_NAME,
      awsWith(sharedRole, using('arn:other')),
      nobody,
      'unused',
      LIST,
    ],
    [
      'the profile of the object itself, because its deletion comes first',
      SHARED_ROLE_NAME,
      awsWith(sharedRole, using(SHARED_ROLE_ARN, PROFILE)),
      nobody,
      'used by Fargate profile "team-a_web"',
      LIST,
      `DescribeFargateProfile ${PROFILE}`,
    ],
    ['a profile of a leaving object', SHARED_ROLE_NAME, awsWith(sharedRole, ofApi), leaver, BY_API, LIST, DESCRIBE],
    [
      'a profile of a leaving object that EKS is deleting',
      SHARED_ROLE_NAME,
      awsWith(sharedRole, { ...ofApi, status: 'DELETING' }),
      leaver,
      BY_API,
      LIST,
      DESCRIBE,
    ],
    ['a leaving object without a profile', SHARED_ROLE_NAME, awsWith(sharedRole), leaver, 'unused', LIST],
    ['a profile in an EKS cluster that is gone', SHARED_ROLE_NAME, gone, nobody, 'unused'],
  ];
  for (const [situation, role, aws, users, usage, ...calls] of rows)
    it(`says "${usage}" for ${situation}`, async () =>
      expect(await usageOf(role, aws, users, () => {})).to.deep.equal({ usage, calls }));

  it('asks EKS about a profile that has appeared since the pass has read the others', async () => {
    for (const [arn, usage] of [
      [SHARED_ROLE_ARN, 'used'],
      ['arn:other', 'unused'],
    ] as const) {
      const aws = awsWith(sharedRole);
      const pass = passStateFor(aws, named);
      aws.profiles.set('theirs', { ...using(arn) });
      expect((await readRoleUsage(newServices().live, pass, SHARED_ROLE_NAME)).kind).to.equal(usage);
      expect(pass.session.calls).to.deep.equal([LIST, DESCRIBE]);
    }
  });

  it('ignores a profile that disappears between list and read, and a cluster that has disappeared since', async () => {
    const vanish = (aws: SimulatedAws): void => void aws.profiles.delete('theirs');
    const { usage } = await usageOf(SHARED_ROLE_NAME, awsWith(sharedRole, theirs), nobody, vanish);
    expect(usage).to.equal('unused');
    const aws = awsWith(sharedRole, theirs);
    const pass = passStateFor(aws, named);
    aws.cluster = 'gone';
    expect(await readRoleUsage(newServices().live, pass, SHARED_ROLE_NAME)).to.deep.equal({ kind: 'unused' });
  });
});
