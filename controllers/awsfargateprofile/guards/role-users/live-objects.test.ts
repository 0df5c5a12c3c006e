import { expect } from 'chai';
import { keyOf, type KubeObject } from 'controller-runtime/client';
import { AccountId, ClusterName, EksClusterName, RoleArn, RoleName } from '../../../../api/names.ts';
import { WATCH_FILTER_LABEL } from '../../../../api/v1beta2/index.ts';
import { PROFILE_KIND, newApi } from '../../testing/api.ts';
import {
  type ObjectParts,
  ACCOUNT,
  EKS_CLUSTER,
  HERE,
  MOVED,
  FULL_RECORD,
  NOW,
  PROFILE,
  RECORDED,
  ROLE,
} from '../../testing/builders.ts';
import { type LiveRoleUsers, newLiveRoleUsers } from './live-objects.ts';

const { signal } = new AbortController();
const shared = RoleName.of('shared');
const location = { account: ACCOUNT, region: 'eu-west-1', eksCluster: EKS_CLUSTER };
const label = (filter: string) => ({ [WATCH_FILTER_LABEL]: filter });

/** Returns the reader of a manager that reconciles the objects with the watch filter `filter`, by default `blue`. */
function liveRoleUsers(filter?: string): { readonly api: ReturnType<typeof newApi>; readonly roles: LiveRoleUsers } {
  const api = newApi();
  const { client, clock } = api;
  const watchFilter = filter === '' ? undefined : (filter ?? 'blue');
  const roles = newLiveRoleUsers({ client, clock, schema: { isSettled: () => true }, watchFilter });
  return { api, roles };
}

const another = { roleName: RoleName.of('another') };
const inTeamB = { metadata: { namespace: 'team-b' } };
const ofTest = { roleName: shared, clusterName: ClusterName.of('test') };
const recordIn = (over: object) => ({ in: { ...HERE, ...over } });
const account = AccountId.of('444455556666');
const roleArnIn = (of: string) => ({ roleARN: RoleArn.of(`arn:aws:iam::${of}:role/path/shared`) });
const profileUsing = { podExecutionRoleARN: RoleArn.of('arn:aws:iam::111122223333:role/path/Shared') };
const roleRecorded = { in: HERE, roles: [{ name: RoleName.of('Shared'), id: 'AROAEXAMPLE' }] };
const roleBrought = { in: HERE, roles: [{ name: shared, id: 'AROAEXAMPLE', managed: false }] } as const;
const withStatus = (over: object) => ({ status: { ...RECORDED, ...over } });
const asking = { in: HERE, profiles: [{ name: PROFILE, requestedAt: NOW }] };

/**
 * How another object, `team-a/other`, affects an object with the role "shared".
 * - `keeps`: whether the role is kept when the object is deleted. `yes`: always. `profile`: only while EKS has the
 *   other object's profile.
 * - `shares`: the answer to an object that wants to use the role, if another manager reconciles `team-a/other`.
 *   `wants`: both objects must have the same settings. `deletes`: the object waits, because the other manager may be
 *   deleting the role.
 */
type Row = readonly [
  what: string,
  parts: ObjectParts,
  answer: { readonly keeps?: 'yes' | 'profile'; readonly shares?: 'wants' | 'deletes' },
  options?: { readonly isDeleted?: true; readonly filter?: string },
];
const deleted = { isDeleted: true } as const;
const rows: readonly Row[] = [
  ['names the role, and has no record yet', {}, { keeps: 'yes', shares: 'wants' }],
  ['names it in another case', { spec: { roleName: RoleName.of('SHARED') } }, { keeps: 'yes', shares: 'wants' }],
  ['has never begun', { record: {} }, { shares: 'wants' }],
  ['has no finalizer of ours', { metadata: { finalizers: ['example.com/x'] } }, { shares: 'wants' }],
  ['names another role', { spec: another, record: { in: HERE } }, {}],
  [
    'has recorded it, and names another role',
    { spec: another, record: roleRecorded },
    { keeps: 'yes', shares: 'deletes' },
  ],
  [
    'has it in its status without a record, and names another role',
    { spec: another, ...withStatus({ role: { name: shared, managed: true } }) },
    { keeps: 'yes', shares: 'deletes' },
  ],
  [
    'has a profile with it, and names another role',
    { spec: another, record: { in: HERE }, status: profileUsing },
    { keeps: 'yes' },
  ],
  ['has brought it along', { spec: roleArnIn(ACCOUNT), record: roleBrought }, { keeps: 'yes' }],
  ['brings it along from another account', { spec: roleArnIn('444455556666') }, {}],
  ['names another Cluster', { spec: ofTest }, {}],
  [
    'names another Cluster, and is in the EKS cluster',
    { spec: ofTest, record: { in: HERE } },
    { keeps: 'yes', shares: 'wants' },
  ],
  ['the same without a record', { spec: ofTest, ...withStatus({}) }, { keeps: 'yes', shares: 'wants' }],
  ['is in another account', { record: recordIn({ account }) }, {}],
  ['is in another region', { record: recordIn({ region: 'us-east-1' }) }, { keeps: 'yes' }],
  ['is in another EKS cluster', { record: recordIn({ eksCluster: EksClusterName.of('b') }) }, { keeps: 'yes' }],
  ['has the watch filter of this manager', { metadata: { labels: label('blue') } }, { keeps: 'yes' }],
  ['has no watch filter', { metadata: { labels: {} } }, { keeps: 'yes', shares: 'wants' }],
  ['is any object, for a manager without a watch filter', {}, { keeps: 'yes' }, { filter: '' }],

  ['is deleted, and has no record', {}, { keeps: 'yes', shares: 'deletes' }, deleted],
  ['is deleted, and has never begun', { record: {} }, { shares: 'deletes' }, deleted],
  ['is deleted', { record: FULL_RECORD }, { keeps: 'profile', shares: 'deletes' }, deleted],
  ['is deleted, and has lost its record', withStatus({}), { keeps: 'profile', shares: 'deletes' }, deleted],
  ['is deleted, and was moved', { spec: ofTest, ...MOVED }, { keeps: 'profile', shares: 'deletes' }, deleted],
  [
    'is deleted, and EKS may not show its profile yet',
    { record: asking },
    { keeps: 'yes', shares: 'deletes' },
    deleted,
  ],
  ['is deleted in another account', { record: recordIn({ account }) }, {}, deleted],
  ['is deleted in another region', { record: recordIn({ region: 'us-east-1' }) }, { keeps: 'yes' }, deleted],
  [
    'is deleted in another EKS cluster',
    { record: recordIn({ eksCluster: EksClusterName.of('b') }) },
    { keeps: 'yes' },
    deleted,
  ],
  ['is deleted with another role', { spec: another, record: { in: HERE } }, {}, deleted],
  [
    'is deleted, and has brought it along',
    { spec: roleArnIn(ACCOUNT), record: roleBrought },
    { keeps: 'profile' },
    deleted,
  ],
  ['is deleted without our finalizer', { metadata: { finalizers: ['example.com/x'] } }, {}, deleted],

  ['is in another namespace, without a record', inTeamB, {}],
  ['is in another namespace, and records the EKS cluster', { ...inTeamB, ...withStatus({}) }, { keeps: 'yes' }],
  ['the same, deleted', { ...inTeamB, ...withStatus({}) }, { keeps: 'yes' }, deleted],
  ['is in another namespace, and records only the account', { ...inTeamB, status: { account: ACCOUNT } }, {}],
  ['is in another namespace and region', { ...inTeamB, ...withStatus({ region: 'us-east-1' }) }, {}],
  [
    'is in another namespace and EKS cluster',
    { ...inTeamB, ...withStatus({ eksClusterName: EksClusterName.of('b') }) },
    {},
  ],
  ['is in another namespace, with a record of the EKS cluster', { ...inTeamB, record: roleRecorded }, {}],
  [
    'is in another namespace, with a record of the role',
    { ...inTeamB, spec: another, record: roleRecorded, ...withStatus({}) },
    {},
  ],
  ['is in another namespace, and brings the role along', { ...inTeamB, spec: roleArnIn(ACCOUNT) }, {}],
];

describe('newLiveRoleUsers', () => {
  for (const [what, parts, { keeps, shares }, { isDeleted, filter } = {}] of rows)
    it(`answers "${keeps ?? 'free'}" and "${shares ?? 'alone'}" about an object that ${what}`, async () => {
      const { api, roles } = liveRoleUsers(filter);
      const object = api.put({ metadata: { labels: label('blue') }, spec: { roleName: shared } });
      const other = api.put({
        spec: { roleName: shared },
        ...parts,
        metadata: { name: 'other', labels: label('green'), annotations: {}, ...parts.metadata },
      });
      if (isDeleted) api.server.storage.delete(PROFILE_KIND, keyOf(other));
      const key = `${other.metadata.namespace}/other`;
      const users = await roles.usersOf({ name: shared, location }, object, signal);
      const leaving = keeps === 'profile' ? new Map([[key, key]]) : new Map();
      expect(users).to.deep.equal({ other: keeps === 'yes' ? key : undefined, leaving });
      const { possibleDeleter, sharers } = await roles.sharersOf({ name: shared, location }, object, signal);
      expect(possibleDeleter).to.equal(shares === 'deletes' ? key : undefined);
      expect(sharers.map(({ metadata }) => metadata.name)).to.deep.equal(shares === 'wants' ? ['other'] : []);
    });

  it('finds an object by its computed role name', async () => {
    const { api, roles } = liveRoleUsers();
    const object = api.put({ metadata: { name: 'api' }, spec: { roleName: ROLE } });
    api.put({ metadata: { annotations: {} } });
    const { other } = await roles.usersOf({ name: ROLE, location }, object, signal);
    expect(other).to.equal('team-a/web');
  });

  it('finds an object that cannot be decoded and in which the role name occurs, in another namespace by its record', async () => {
    const { api, roles } = liveRoleUsers();
    const object = api.put({ spec: { roleName: shared } });
    const userOf = async (name = shared) => (await roles.usersOf({ name, location }, object, signal)).other;
    const odd = (namespace: string): KubeObject =>
      api.server.storage.create(PROFILE_KIND, namespace, {
        metadata: { name: 'odd', finalizers: object.metadata.finalizers },
        spec: { clusterName: 7, subnetIDs: null, roleARN: `arn:aws:iam::${ACCOUNT}:role/pods/${shared}` },
      });
    const inOtherNamespace = odd('team-b');
    expect(await userOf()).to.equal(undefined);
    api.server.storage.mergePatch(PROFILE_KIND, keyOf(inOtherNamespace), { status: RECORDED }, 'status');
    expect(await userOf()).to.equal('team-b/odd');
    odd('team-a');
    expect(await userOf()).to.equal('team-a/odd');
    expect(await userOf(RoleName.of('another'))).to.equal(undefined);
    const { sharers } = await roles.sharersOf({ name: shared, location }, object, signal);
    expect(sharers).to.deep.equal([]);
  });
});
