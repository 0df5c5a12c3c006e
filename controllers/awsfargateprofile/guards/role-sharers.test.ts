import { expect } from 'chai';
import { AccountId, ClusterName, RoleArn, RoleName } from '../../../api/names.ts';
import { WATCH_FILTER_LABEL } from '../../../api/v1beta2/index.ts';
import { keyOf } from '../../../pkg/kube/object-key.ts';
import { PROFILE_KIND, newApi } from '../testing/api.ts';
import {
  type ObjectParts,
  ACCOUNT,
  EKS_CLUSTER,
  HERE,
  MOVED,
  RECORDED,
  ROLE,
  ROLE_ARN,
  anObject,
} from '../testing/builders.ts';
import { SHARED_ROLE_NAME } from '../testing/fixtures.ts';
import { CONSTRUCTIVE, DESTRUCTIVE } from '../testing/mutations.ts';
import { aSimulatedProfile, aSimulatedRole, awsWith, newServices, passStateFor } from '../testing/pass-state.ts';
import type { RoleSharers } from './guards.ts';
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
    const odd = { metadata: { name: 'cannot-be-decoded', labels: label('green') }, spec: { clusterName: 7 } };
    api.server.storage.create(PROFILE_KIND, 'team-a', odd);
    const readSharers = newReadRoleSharers(api.client, filter === '' ? undefined : filter);
    const { possibleDeleter, sharers } = await readSharers(object, { name: NAME, location: LOCATION }, signal);
    return [possibleDeleter, ...sharers.map(({ metadata }) => metadata.name)];
  }

  const inOtherCluster = { spec: { ...shared, clusterName: ClusterName.of('another') } };
  const another = { spec: { roleName: RoleName.of('another') } };
  const leavingRole = { in: HERE, roles: [{ name: NAME, id: 'AROAEXAMPLE' }] };
  const lost = { metadata: { annotations: {} }, status: { ...RECORDED, role: { name: NAME, managed: true } } };
  const brought = {
    spec: { roleARN: RoleArn.of(`arn:aws:iam::${ACCOUNT}:role/${NAME}`) },
    note: { in: HERE, roles: [{ name: NAME, id: 'AROAEXAMPLE', managed: false }] },
  } as const;
  const [sharer, deleter, nobody] = [[undefined, 'api'], ['team-a/api'], [undefined]];
  type Row = readonly [
    what: string,
    parts: ObjectParts,
    options: { readonly isDeleted?: boolean; readonly filter?: string },
    found: readonly unknown[],
  ];
  const deleted = { isDeleted: true };
  const rows: readonly Row[] = [
    ['an object that wants the role', { spec: shared }, {}, sharer],
    ['the same, in another case', { spec: { roleName: RoleName.of('Shared') } }, {}, sharer],
    ['an object that names the EKS cluster in another way', { ...inOtherCluster, note: { in: HERE } }, {}, sharer],
    ['the same, deleted and moved', { ...inOtherCluster, ...MOVED }, deleted, deleter],
    ['an object without a filter label', { spec: shared, metadata: { labels: {} } }, {}, sharer],
    ['an object of its own manager', { spec: shared }, { filter: 'green' }, nobody],
    ['any object, without a watch filter', { spec: shared }, { filter: '' }, nobody],
    ['an object with another role', another, {}, nobody],
    ['an object of another cluster', inOtherCluster, {}, nobody],
    ['an object of another namespace', { spec: shared, metadata: { namespace: 'team-b' } }, {}, nobody],
    ['a deleted object', { spec: shared }, deleted, deleter],
    ['a deleted object with a location', { spec: shared, note: { in: HERE } }, deleted, deleter],
    ['an object that gets another role', { ...another, note: leavingRole }, {}, deleter],
    ['the same, which has lost its note', { ...another, ...lost }, {}, deleter],
    [
      'a deleted object in another account',
      { spec: shared, note: { in: { ...HERE, account: AccountId.of('999999999999') } } },
      deleted,
      nobody,
    ],
    [
      'a deleted object in another region',
      { spec: shared, note: { in: { ...HERE, region: 'us-east-1' } } },
      deleted,
      nobody,
    ],
    ['a deleted object with another role', { ...another, note: { in: HERE } }, deleted, nobody],
    ['a deleted object that brought the role', brought, deleted, nobody],
    [
      'a deleted object that is not ours',
      { spec: shared, metadata: { finalizers: ['example.com/x'] } },
      deleted,
      nobody,
    ],
  ];
  for (const [what, parts, options, found] of rows)
    it(`${found === nobody ? 'leaves out' : found === deleter ? 'waits for' : 'finds'} ${what}`, async () =>
      expect(await read(parts, options)).to.deep.equal(found));
});

describe('roleShareable', () => {
  const CREATE_ROLE = { kind: 'attachPolicy', name: ROLE, policyArn: 'arn:aws:iam::aws:policy/A' } as const;
  const NOBODY: RoleSharers = { possibleDeleter: undefined, sharers: [] };
  const check = (
    found: RoleSharers,
    aws = awsWith(),
    mutation: Parameters<ReturnType<typeof roleShareable>>[0] = CREATE_ROLE,
    object = anObject(),
  ) => roleShareable({ ...newServices(), readRoleSharers: async () => found })(mutation, passStateFor(aws, object));

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

  it('keeps a tag that another object wants on the role, whatever its case', async () => {
    const sharer = anObject({ metadata: { name: 'api' }, spec: { roleName: ROLE, additionalTags: { Team: 'a' } } });
    const untag = (key: string) => ({ kind: 'untagRole', name: ROLE, keys: [key] }) as const;
    const aws = awsWith(aSimulatedProfile(), aSimulatedRole());
    const found = { ...NOBODY, sharers: [sharer] };
    expect(await check(found, aws, untag('team'))).to.deep.equal({ kind: 'keep', by: 'another AWSFargateProfile' });
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
