import { expect } from 'chai';
import { AccountId, ClusterName, EksClusterName, RoleArn, RoleName } from '../../../../api/names.ts';
import { type AWSFargateProfile, decodeAWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import { MemoryLogger } from '../../../../pkg/env/testing/memory-logger.ts';
import { Store } from '../../../../pkg/kube/cache/store.ts';
import { TypedStore } from '../../../../pkg/kube/cache/typed-store.ts';
import { PROFILES } from '../../../shared/live-profiles.ts';
import { keyOf } from '../../../../pkg/kube/object-key.ts';
import type { KubeObject } from '../../../../pkg/kube/types.ts';
import { type Api, PROFILE_KIND, newApi } from '../../testing/api.ts';
import {
  type ObjectParts,
  ACCOUNT,
  EKS_CLUSTER,
  HERE,
  NOTED,
  NOW,
  PROFILE,
  RECORDED,
  ROLE,
} from '../../testing/builders.ts';
import { type ReadRoleUsers, type RoleUsers, newReadRoleUsers } from './other-role-users.ts';

const { signal } = new AbortController();
const shared = RoleName.of('shared');
const location = { account: ACCOUNT, region: 'eu-west-1', eksCluster: EKS_CLUSTER };

describe('newReadRoleUsers', () => {
  let api: Api;
  let store: Store;
  let isSettled: boolean;
  let readRoleUsers: ReadRoleUsers;

  beforeEach(() => {
    api = newApi();
    store = new Store({ name: 'profiles', logger: new MemoryLogger() });
    isSettled = true;
    useSources();
  });

  function useSources(profiles?: TypedStore<AWSFargateProfile>): void {
    const { client, clock } = api;
    readRoleUsers = newReadRoleUsers({ client, clock, profiles, schema: { isSettled: () => isSettled } });
  }

  const askFor = (object: AWSFargateProfile, role: string): Promise<RoleUsers> =>
    readRoleUsers(object, { name: RoleName.of(role), location }, signal);
  const userFor = async (object: AWSFargateProfile): Promise<string | undefined> =>
    (await askFor(object, shared)).other;
  const other = (parts: ObjectParts = {}): AWSFargateProfile =>
    api.put({
      ...parts,
      metadata: { name: 'other', annotations: {}, ...parts.metadata },
      spec: { roleName: shared, ...parts.spec },
    });
  /** The number of list requests that asked for all AWSFargateProfiles and not only for one. */
  const lists = (): number =>
    api.server.requests.filter(({ method, path }) => method === 'GET' && path.includes('?limit=50')).length;
  /**
   * Makes `readRoleUsers` use a cache. `readRoleUsers` ignores a cache whose objects fit on one page of a list, so this
   * function also creates more objects than that.
   */
  const useCache = (): void => {
    useSources(new TypedStore(store, decodeAWSFargateProfile));
    for (let index = 0; index < 50; index++)
      api.put({ metadata: { name: `unbegun-${index}`, namespace: 'team-c', finalizers: [] } });
  };
  /** Fills the cache with all objects of the API server, as the list request of the cache would. */
  const fillCache = async (): Promise<void> => {
    const { items, resourceVersion } = await api.client.list(PROFILES, { signal });
    store.replaceAll(items, resourceVersion);
  };

  for (const source of ['the API server', 'the cache'])
    describe(`from ${source}`, () => {
      if (source === 'the cache') {
        beforeEach(useCache);
        afterEach(() => expect(lists()).to.equal(0));
      }
      const usersOf = async (object: AWSFargateProfile, role: string = shared): Promise<RoleUsers> => {
        if (source === 'the cache') await fillCache();
        return askFor(object, role);
      };
      const userOf = async (object: AWSFargateProfile, role?: string): Promise<string | undefined> =>
        (await usersOf(object, role)).other;

      /** Who uses the role beside an object that names it, if another object has these parts. */
      const userBeside = (parts: ObjectParts): Promise<string | undefined> => {
        const object = api.put({ spec: { roleName: shared } });
        api.put({
          spec: { roleName: shared },
          ...parts,
          metadata: { name: 'other', annotations: {}, ...parts.metadata },
        });
        return userOf(object);
      };
      const another = { roleName: RoleName.of('another') };
      const inTeamB = { metadata: { namespace: 'team-b' } };
      const ofTest = { spec: { roleName: shared, clusterName: ClusterName.of('test') } };
      const profileUsing = { podExecutionRoleARN: RoleArn.of('arn:aws:iam::111122223333:role/path/Shared') };
      const roleArnIn = (account: string) => ({ roleARN: RoleArn.of(`arn:aws:iam::${account}:role/path/shared`) });
      const elsewhere = { ...HERE, account: AccountId.of('444455556666') };
      const lost = { metadata: { annotations: {} } };
      const users: readonly (readonly [string, ObjectParts, user?: string])[] = [
        ['that names the role, whose account is not known yet', {}],
        [
          'that names the role in another case, because IAM ignores case',
          { spec: { roleName: RoleName.of('SHARED') } },
        ],
        [
          'that used the role before its spec named another role, by its note',
          { spec: another, note: { in: HERE, roles: [{ name: RoleName.of('Shared') }] } },
        ],
        [
          'that used the role before its spec named another role, by its status if it has lost its note',
          { spec: another, ...lost, status: { ...RECORDED, role: { name: shared } } },
        ],
        ['whose profile uses the role', { spec: another, note: { in: HERE }, status: profileUsing }],
        ['of another cluster in the same account', { ...ofTest, note: { in: HERE } }],
        ['of another cluster that has lost its note', { ...ofTest, ...lost, status: RECORDED }],
        ['of another namespace whose status records the EKS cluster', { ...inTeamB, status: RECORDED }, 'team-b/other'],
        ['whose roleARN names the account', { spec: roleArnIn(ACCOUNT) }],
      ];
      for (const [which, parts, user = 'team-a/other'] of users)
        it(`finds an object ${which}`, async () => expect(await userBeside(parts)).to.equal(user));

      const asked = { in: HERE, profiles: [{ name: PROFILE, requestedAt: NOW }] };
      const leavers: readonly (readonly [string, ObjectParts, other?: string])[] = [
        ['of the EKS cluster only while EKS has its profile', { note: NOTED }],
        ['the same, which has lost its note', { ...lost, status: RECORDED }],
        ['whose profile EKS may not show yet', { note: asked }, 'team-a/other'],
        ['of another cluster', { note: { in: { ...HERE, eksCluster: EksClusterName.of('b') } } }, 'team-a/other'],
        ['of another region', { note: { in: { ...HERE, region: 'us-east-1' } } }, 'team-a/other'],
        ['of another namespace', { ...inTeamB, status: RECORDED }, 'team-b/other'],
      ];
      for (const [which, parts, user] of leavers)
        it(`finds a deleted object ${which}`, async () => {
          const object = api.put({ spec: { roleName: shared } });
          api.server.storage.delete(PROFILE_KIND, keyOf(other(parts)));
          const { other: found, leaving } = await usersOf(object);
          expect(found).to.equal(user);
          expect([...leaving]).to.deep.equal(user === undefined ? [['team-a/other', 'team-a/other']] : []);
        });

      const strangers: readonly (readonly [string, ObjectParts])[] = [
        ['that names another role', { spec: {} }],
        ['that has never begun, and makes the role when it begins', { note: {} }],
        ['without our finalizer, because it has nothing in AWS', { metadata: { finalizers: ['example.com/other'] } }],
        ['in another account', { note: { in: elsewhere } }],
        ['of another Cluster that has nothing in AWS yet', ofTest],
        ['of another namespace that has nothing in AWS yet', inTeamB],
        ['of another namespace that records only the account', { ...inTeamB, status: { account: ACCOUNT } }],
        ['of another namespace in another region', { ...inTeamB, status: { ...RECORDED, region: 'us-east-1' } }],
        [
          'of another namespace in another EKS cluster',
          { ...inTeamB, status: { ...RECORDED, eksClusterName: EksClusterName.of('other') } },
        ],
        [
          'of another namespace whose note alone has the EKS cluster, because whoever writes the object writes its note',
          { ...inTeamB, note: { in: HERE, roles: [{ name: shared }] } },
        ],
        [
          'of another namespace whose note alone has the role',
          { ...inTeamB, spec: another, note: { in: HERE, roles: [{ name: shared }] }, status: RECORDED },
        ],
        ['of another namespace that names the role in spec.roleARN', { ...inTeamB, spec: roleArnIn(ACCOUNT) }],
        ['whose roleARN names another account', { spec: roleArnIn('444455556666') }],
      ];
      for (const [which, parts] of strangers)
        it(`ignores an object ${which}`, async () => expect(await userBeside(parts)).to.equal(undefined));

      it('finds an object by its computed role name', async () => {
        const object = api.put({ metadata: { name: 'api' }, spec: { roleName: ROLE } });
        api.put({ metadata: { annotations: {} } });
        expect(await userOf(object, ROLE)).to.equal('team-a/web');
      });

      it('finds an object that cannot be decoded and in which the role name occurs, in another namespace by its record', async () => {
        const object = api.put({ spec: { roleName: shared } });
        const odd = (namespace: string): KubeObject =>
          api.server.storage.create(PROFILE_KIND, namespace, {
            metadata: { name: 'odd', finalizers: object.metadata.finalizers },
            spec: { clusterName: 7, subnetIDs: null, roleARN: `arn:aws:iam::${ACCOUNT}:role/pods/${shared}` },
          });
        const inOtherNamespace = odd('team-b');
        expect(await userOf(object)).to.equal(undefined);
        api.server.storage.mergePatch(PROFILE_KIND, keyOf(inOtherNamespace), { status: RECORDED }, 'status');
        expect(await userOf(object)).to.equal('team-b/odd');
        odd('team-a');
        expect(await userOf(object)).to.equal('team-a/odd');
        expect(await userOf(object, 'another')).to.equal(undefined);
      });

      it('answers from the present version of an object, not from the version of an earlier question', async () => {
        const object = api.put({ spec: { roleName: shared } });
        const changing = other({ spec: { roleName: RoleName.of('another') } });
        expect(await userOf(object)).to.equal(undefined);
        api.change(changing, { spec: { roleName: shared } });
        expect(await userOf(object)).to.equal('team-a/other');
        api.server.storage.mergePatch(PROFILE_KIND, keyOf(changing), { metadata: { finalizers: [] } });
        expect(await userOf(object)).to.equal(undefined);
      });
    });

  describe('lists the objects', () => {
    let object: AWSFargateProfile;
    beforeEach(async () => {
      useCache();
      object = api.put({ spec: { roleName: shared } });
      await fillCache();
      other();
    });

    it('if they fit on one page', async () => {
      for (let index = 0; index < 50; index++)
        api.server.storage.delete(PROFILE_KIND, { namespace: 'team-c', name: `unbegun-${index}` });
      await fillCache();
      expect(await userFor(object)).to.equal('team-a/other');
      expect(lists()).to.equal(1);
    });

    it('if the watch does not show the newest change within 200 ms', async () => {
      const answer = userFor(object);
      await api.clock.advance(199);
      expect(lists()).to.equal(0);
      await api.clock.advance(1);
      expect(await answer).to.equal('team-a/other');
      expect(lists()).to.equal(2);
    });

    it('if the cache knows the newest change only from the answer to a write', async () => {
      store.replaceWith(object);
      const answer = userFor(object);
      await api.clock.advance(200);
      expect(await answer).to.equal('team-a/other');
    });

    it('if the API server has older versions than the cache, because etcd was restored from a backup', async () => {
      store.advance('1000000');
      expect(await userFor(object)).to.equal('team-a/other');
      expect(lists()).to.equal(2);
    });

    it('if the cache is not synced', async () => {
      await fillCache();
      store.markUnknown('the kind is gone');
      expect(await userFor(object)).to.equal('team-a/other');
      expect(lists()).to.equal(2);
    });

    it('if another CRD was installed, because the cache may lack fields', async () => {
      await fillCache();
      isSettled = false;
      expect(await userFor(object)).to.equal('team-a/other');
      expect(lists()).to.equal(2);
    });

    it('but not if the watch shows the newest change in time', async () => {
      const answer = userFor(object);
      await api.clock.advance(50);
      await fillCache();
      expect(await answer).to.equal('team-a/other');
      expect(lists()).to.equal(0);
    });
  });

  it('ends with the error of a caller that stops waiting for the watch', async () => {
    useCache();
    const object = api.put({ spec: { roleName: shared } });
    await fillCache();
    other();
    const stop = new AbortController();
    const answer = readRoleUsers(object, { name: shared, location }, stop.signal).catch((error: unknown) => error);
    await api.clock.advance(50);
    stop.abort(new Error('stop'));
    expect(await answer).to.have.property('message', 'stop');
  });

  it('shares one list between simultaneous questions, but never answers from an older list', async () => {
    const object = api.put({ spec: { roleName: shared } });
    const before = userFor(object);
    other();
    const later = [userFor(object), userFor(object), userFor(object)];
    await before;
    expect(await Promise.all(later)).to.deep.equal(['team-a/other', 'team-a/other', 'team-a/other']);
    expect(lists()).to.equal(2);
  });

  it('finds an object on a later page of the list', async () => {
    const object = api.put({ spec: { roleName: shared } });
    for (let index = 0; index < 600; index++) api.put({ metadata: { name: `aa-${`${index}`.padStart(4, '0')}` } });
    other({ metadata: { name: 'zz' } });
    expect(await userFor(object)).to.equal('team-a/zz');
  });
});
