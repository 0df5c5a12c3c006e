import { expect } from 'chai';
import { AccountId, ClusterName, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import { MemoryLogger } from '../../../../pkg/env/testing/memory-logger.ts';
import { Store } from '../../../../pkg/kube/cache/store.ts';
import { TypedStore } from '../../../../pkg/kube/cache/typed-store.ts';
import { PROFILES } from '../../../shared/live-profiles.ts';
import { keyOf } from '../../../../pkg/kube/object-key.ts';
import type { Api } from '../../testing/api.ts';
import { PROFILE_KIND, newApi } from '../../testing/api.ts';
import type { ObjectParts } from '../../testing/builders.ts';
import { ACCOUNT, EKS_CLUSTER, MOVED, RECORDED, ROLE } from '../../testing/builders.ts';
import type { ReadRoleUsers, RoleUsers } from './other-role-users.ts';
import { newReadRoleUsers } from './other-role-users.ts';

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
    api.put({ ...parts, metadata: { name: 'other', ...parts.metadata }, spec: { roleName: shared, ...parts.spec } });
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

      it('finds no user when no other object names the role', async () => {
        const object = api.put({ spec: { roleName: shared } });
        api.put({ metadata: { name: 'other' } });
        expect(await userOf(object)).to.equal(undefined);
      });

      it('finds another object that names the role', async () => {
        const object = api.put({ spec: { roleName: shared } });
        other();
        expect(await userOf(object)).to.equal('team-a/other');
      });

      it('finds an object that names the role in another case, because IAM ignores case', async () => {
        const object = api.put({ spec: { roleName: shared } });
        other({ spec: { roleName: RoleName.of('SHARED') } });
        expect(await userOf(object)).to.equal('team-a/other');
      });

      it('finds an object that used the role before its spec named another role', async () => {
        const object = api.put({ spec: { roleName: shared } });
        other({ spec: { roleName: RoleName.of('another') }, status: { role: { name: shared } } });
        expect(await userOf(object)).to.equal('team-a/other');
      });

      it('finds an object whose profile uses the role, whatever its spec says', async () => {
        const object = api.put({ spec: { roleName: shared } });
        const podExecutionRoleARN = RoleArn.of('arn:aws:iam::111122223333:role/path/Shared');
        other({ spec: { roleName: RoleName.of('another') }, status: { podExecutionRoleARN, account: ACCOUNT } });
        expect(await userOf(object)).to.equal('team-a/other');
      });

      describe('names the profiles that use another role', () => {
        const status: AWSFargateProfileStatus = {
          ...RECORDED,
          profileName: ProfileName.of('team-a_other'),
          profileARN: 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/team-a_other/1',
          podExecutionRoleARN: RoleArn.of('arn:aws:iam::111122223333:role/another'),
        };
        const profilesBeside = async (parts: ObjectParts): Promise<readonly string[]> => {
          const object = api.put({ spec: { roleName: shared } });
          other({ ...parts, spec: { roleName: RoleName.of('another') } });
          return [...(await usersOf(object)).profilesWithOtherRole];
        };
        const { profileARN: _arn, ...withoutProfile } = status;
        const { podExecutionRoleARN: _role, ...withoutRole } = status;
        const rows: readonly (readonly [string, ObjectParts, readonly string[]])[] = [
          ['of the EKS cluster', { status }, ['team-a_other']],
          ['but none of another region', { status: { ...status, region: 'eu-north-1' } }, []],
          ['but none of another account', { status: { ...status, account: AccountId.of('444455556666') } }, []],
          ['but none that another namespace names', { metadata: { namespace: 'team-b' }, status }, []],
          ['but none of which EKS has told no ARN yet', { status: withoutProfile }, []],
          ['but none of which EKS has told no role yet', { status: withoutRole }, []],
        ];
        for (const [which, parts, expected] of rows) {
          it(which, async () => expect(await profilesBeside(parts)).to.deep.equal(expected));
        }
      });

      it('finds an object by its computed role name', async () => {
        const object = api.put({ metadata: { name: 'api' }, spec: { roleName: ROLE } });
        api.put();
        expect(await userOf(object, ROLE)).to.equal('team-a/web');
      });

      it('finds an object that is being deleted, as long as it has our finalizer', async () => {
        const object = api.put({ spec: { roleName: shared } });
        const deleted = other();
        api.server.storage.delete(PROFILE_KIND, keyOf(deleted));
        expect(await userOf(object)).to.equal('team-a/other');
      });

      it('ignores an object without our finalizer, because the object has nothing in AWS', async () => {
        const object = api.put({ spec: { roleName: shared } });
        other({ metadata: { finalizers: ['other.example.com/finalizer'] } });
        expect(await userOf(object)).to.equal(undefined);
      });

      const elsewhere = { status: { account: AccountId.of('444455556666') } };
      const inAnotherCluster = { metadata: { namespace: 'team-b' } };
      const recordedHere = { status: RECORDED };

      it('ignores an object in another account, where another role has the name', async () => {
        const object = api.put({ spec: { roleName: shared } });
        other(elsewhere);
        expect(await userOf(object)).to.equal(undefined);
      });

      it('finds an object of another cluster of the namespace in the same account', async () => {
        const object = api.put({ spec: { roleName: shared } });
        other({ spec: { clusterName: ClusterName.of('test') }, status: { account: ACCOUNT } });
        expect(await userOf(object)).to.equal('team-a/other');
      });

      it('finds an object of another cluster that has lost its status in a move', async () => {
        const object = api.put({ spec: { roleName: shared } });
        other({ spec: { clusterName: ClusterName.of('test') }, ...MOVED });
        expect(await userOf(object)).to.equal('team-a/other');
      });

      it('finds an object of another namespace whose status records the EKS cluster of the role', async () => {
        const object = api.put({ spec: { roleName: shared } });
        other({ ...inAnotherCluster, ...recordedHere });
        expect(await userOf(object)).to.equal('team-b/other');
      });

      for (const [what, parts] of [
        ['records only the account', { status: { account: ACCOUNT } }],
        ['records another region', { status: { ...RECORDED, region: 'us-east-1' } }],
        ['records another EKS cluster', { status: { ...RECORDED, eksClusterName: EksClusterName.of('other') } }],
        ['has only an annotation with the EKS cluster', MOVED],
        [
          'names the role in spec.roleARN alone',
          { spec: { roleARN: RoleArn.of(`arn:aws:iam::${ACCOUNT}:role/shared`) } },
        ],
      ] as const satisfies readonly (readonly [string, ObjectParts])[])
        it(`ignores an object of another namespace that ${what}, because it cannot use the role`, async () => {
          const object = api.put({ spec: { roleName: shared } });
          const { metadata = {}, ...rest }: ObjectParts = parts;
          const metadataThere = { name: 'other', ...inAnotherCluster.metadata, ...metadata };
          api.put({ spec: { roleName: shared }, ...rest, metadata: metadataThere });
          expect(await userOf(object)).to.equal(undefined);
        });

      it('finds an object of the same Cluster whose account is not known yet', async () => {
        const object = api.put({ spec: { roleName: shared } });
        other();
        expect(await userOf(object)).to.equal('team-a/other');
      });

      for (const [difference, parts] of [
        ['namespace', inAnotherCluster],
        ['Cluster', { spec: { clusterName: ClusterName.of('test') } }],
      ] as const) {
        it(`ignores an object of another ${difference} whose account is not known, because the object has nothing in AWS yet`, async () => {
          const object = api.put({ spec: { roleName: shared } });
          other(parts);
          expect(await userOf(object)).to.equal(undefined);
        });
      }

      it('finds an object whose roleARN names the account, and ignores an object whose roleARN names another account', async () => {
        const object = api.put({ spec: { roleName: shared } });
        const naming = (account: string) =>
          api.put({
            metadata: { name: `in-${account}` },
            spec: { roleARN: RoleArn.of(`arn:aws:iam::${account}:role/path/shared`) },
          });
        naming('444455556666');
        expect(await userOf(object)).to.equal(undefined);
        naming(ACCOUNT);
        expect(await userOf(object)).to.equal(`team-a/in-${ACCOUNT}`);
      });

      it('finds an object that cannot be decoded and in which the role name occurs', async () => {
        const object = api.put({ spec: { roleName: shared } });
        api.server.storage.create(PROFILE_KIND, 'team-a', {
          metadata: { name: 'odd', finalizers: object.metadata.finalizers },
          spec: { clusterName: 7, roleName: shared },
        });
        expect(await userOf(object)).to.equal('team-a/odd');
      });

      it('ignores an object of another namespace that cannot be decoded, unless its status records the EKS cluster', async () => {
        const object = api.put({ spec: { roleName: shared } });
        const odd = api.server.storage.create(PROFILE_KIND, 'team-b', {
          metadata: { name: 'odd', finalizers: object.metadata.finalizers },
          spec: { clusterName: 7, roleName: shared },
        });
        expect(await userOf(object)).to.equal(undefined);
        api.server.storage.mergePatch(PROFILE_KIND, keyOf(odd), recordedHere, 'status');
        expect(await userOf(object)).to.equal('team-b/odd');
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
