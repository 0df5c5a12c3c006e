import { expect } from 'chai';
import { AccountId, ClusterName, RoleArn, RoleName } from '../../../api/names.ts';
import { WATCH_FILTER_LABEL } from '../../../api/v1beta2/index.ts';
import { keyOf } from '../../../pkg/kube/object-key.ts';
import { PROFILE_KIND, newApi } from '../testing/api.ts';
import type { ObjectParts } from '../testing/builders.ts';
import { ACCOUNT, EKS_CLUSTER, MOVED, RECORDED, ROLE, anObject } from '../testing/builders.ts';
import { SHARED_ROLE_NAME } from '../testing/fixtures.ts';
import { aSimulatedProfile, aSimulatedRole, awsWith, newServices, passStateFor } from '../testing/pass-state.ts';
import type { RoleSharers } from './pass-state.ts';
import { newReadRoleSharers, roleShareable } from './role-sharers.ts';

const { signal } = new AbortController();
const NAME = RoleName.of(SHARED_ROLE_NAME);
const LOCATION = { account: ACCOUNT, region: 'eu-west-1', eksCluster: EKS_CLUSTER };
const shared = { roleName: SHARED_ROLE_NAME };
const label = (filter: string) => ({ [WATCH_FILTER_LABEL]: filter });

describe('newReadRoleSharers', () => {
  /**
   * Reads the AWSFargateProfiles that share the role of an object, for a manager with the watch filter `filter`.
   * `other` is another object, which is being deleted if `isDeleted` is true. Returns `possibleDeleter`, then the name
   * of each object in `sharers`.
   */
  async function read(other: ObjectParts, { isDeleted = false, filter = 'blue' } = {}): Promise<readonly unknown[]> {
    const api = newApi();
    const object = api.put({ metadata: { labels: label('blue') }, spec: shared });
    const beside = api.put({ ...other, metadata: { name: 'api', labels: label('green'), ...other.metadata } });
    if (isDeleted) api.server.storage.delete(PROFILE_KIND, keyOf(beside));
    const readSharers = newReadRoleSharers(api.client, filter === '' ? undefined : filter);
    const { possibleDeleter, sharers } = await readSharers(object, { name: NAME, location: LOCATION }, signal);
    return [possibleDeleter, ...sharers.map(({ metadata }) => metadata.name)];
  }

  it('finds an object that wants the role', async () => {
    expect(await read({ spec: shared })).to.deep.equal([undefined, 'api']);
    expect(await read({ spec: { roleName: RoleName.of('Shared') }, metadata: { name: 'upper' } })).to.include('upper');
  });

  it('finds an object that names the EKS cluster in another way', async () => {
    const spec = { ...shared, clusterName: ClusterName.of('another') };
    expect(await read({ spec, status: RECORDED })).to.deep.equal([undefined, 'api']);
    expect(await read({ spec, ...MOVED }, { isDeleted: true })).to.deep.equal(['team-a/api']);
  });

  it('finds an object without a filter label', async () => {
    expect(await read({ spec: shared, metadata: { labels: {} } })).to.deep.equal([undefined, 'api']);
  });

  it('leaves out the objects of its own manager, and reads nothing without a watch filter', async () => {
    expect(await read({ spec: shared }, { filter: 'green' })).to.not.include('api');
    expect(await read({ spec: shared, metadata: { name: 'other' } }, { filter: '' })).to.deep.equal([undefined]);
  });

  it('leaves out other roles, clusters and namespaces', async () => {
    expect(await read({ spec: { roleName: RoleName.of('another') } })).to.deep.equal([undefined]);
    expect(
      await read({ spec: { ...shared, clusterName: ClusterName.of('stage') }, metadata: { name: 'b' } }),
    ).to.deep.equal([undefined]);
    expect(await read({ spec: shared, metadata: { name: 'c', namespace: 'team-b' } })).to.deep.equal([undefined]);
  });

  const removers: readonly (readonly [string, boolean, ObjectParts])[] = [
    ['a deleted object', true, { spec: shared }],
    ['a deleted object with a location', true, { spec: shared, status: RECORDED }],
    [
      'an object that gets another role',
      false,
      { spec: { roleName: RoleName.of('new') }, status: { ...RECORDED, role: { name: NAME, managed: true } } },
    ],
  ];
  for (const [what, isDeleted, parts] of removers)
    it(`takes ${what} for one whose manager may delete the role`, async () => {
      expect(await read(parts, { isDeleted })).to.deep.equal(['team-a/api']);
    });

  const harmless: readonly (readonly [string, boolean, ObjectParts])[] = [
    [
      'a deleted object in another account',
      true,
      { spec: shared, status: { ...RECORDED, account: AccountId.of('999999999999') } },
    ],
    ['a deleted object in another region', true, { spec: shared, status: { ...RECORDED, region: 'us-east-1' } }],
    ['a deleted object with another role', true, { spec: { roleName: RoleName.of('another') }, status: RECORDED }],
    [
      'a deleted object that brought the role',
      true,
      {
        spec: { roleARN: RoleArn.of(`arn:aws:iam::${ACCOUNT}:role/${NAME}`) },
        status: { ...RECORDED, role: { name: NAME, managed: false } },
      },
    ],
  ];
  for (const [what, isDeleted, parts] of harmless)
    it(`does not wait for ${what}`, async () => {
      expect(await read(parts, { isDeleted })).to.deep.equal([undefined]);
    });
});

describe('roleShareable', () => {
  const CREATE_ROLE = { kind: 'attachPolicy', name: ROLE, policyArn: 'arn:aws:iam::aws:policy/A' } as const;
  const NOBODY: RoleSharers = { possibleDeleter: undefined, sharers: [] };
  const check = (
    found: RoleSharers,
    aws = awsWith(),
    mutation: Parameters<ReturnType<typeof roleShareable>>[0] = CREATE_ROLE,
  ) => roleShareable({ ...newServices(), readRoleSharers: async () => found })(mutation, passStateFor(aws));

  it('lets an object go on that shares its role with nobody', async () => {
    expect(await check(NOBODY)).to.equal(undefined);
  });

  it('lets an object wait for another one that may delete the role', async () => {
    expect(await check({ ...NOBODY, possibleDeleter: 'team-a/api' })).to.deep.equal({
      kind: 'stop',
      reason: { name: 'WaitingForRoleDeletion', facts: { name: ROLE, other: 'AWSFargateProfile team-a/api' } },
    });
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

  it('does not ask for a mutation that needs no role, or for a foreign role', async () => {
    const found = { ...NOBODY, possibleDeleter: 'team-a/api' };
    expect(await check(found, awsWith(), { kind: 'deleteRole', name: ROLE })).to.equal(undefined);
    expect(await check(found, awsWith(aSimulatedRole({ tags: {} })))).to.equal(undefined);
  });
});
