import { expect } from 'chai';
import { AccountId, ClusterName, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../../api/v1beta2/index.ts';
import { DELETE_FOR_MOVE_ANNOTATION, PAUSED_ANNOTATION, RETAIN_ANNOTATION } from '../../../../api/v1beta2/index.ts';
import { keyOf } from '../../../../pkg/kube/object-key.ts';
import type { Resource } from '../../../../pkg/kube/types.ts';
import type { LiveChecks, RoleUsers } from './live-checks.ts';
import { newLiveChecks } from './live-checks.ts';
import type { Api } from '../../testing/api.ts';
import { CLUSTER, PROFILE_KIND, newApi } from '../../testing/api.ts';
import type { ObjectParts } from '../../testing/builders.ts';
import { ACCOUNT, EKS_CLUSTER, MOVED, RECORDED, ROLE } from '../../testing/builders.ts';

const CLUSTERS: Resource = { group: 'cluster.x-k8s.io', version: 'v1beta2', plural: 'clusters' };
const { signal } = new AbortController();

describe('newLiveChecks', () => {
  let api: Api;
  let live: LiveChecks;

  beforeEach(() => {
    api = newApi();
    live = newLiveChecks(api.client, () => CLUSTERS);
  });

  describe('findBlocker', () => {
    const blockerOf = (object: AWSFargateProfile): Promise<string | undefined> => live.findBlocker(object, signal);

    it('finds nothing for an object that has not changed', async () => {
      api.putCluster();
      expect(await blockerOf(api.put())).to.equal(undefined);
    });

    it('finds nothing when the Cluster is gone', async () => {
      expect(await blockerOf(api.put())).to.equal(undefined);
    });

    it('ignores a change of status alone', async () => {
      const object = api.put();
      api.server.storage.mergePatch(PROFILE_KIND, keyOf(object), { status: { ready: true } }, 'status');
      expect(await blockerOf(object)).to.equal(undefined);
    });

    const annotate = (key: string) => ({ metadata: { annotations: { [key]: '' } } });
    const changes: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
      ['the object is being moved away', annotate(DELETE_FOR_MOVE_ANNOTATION)],
      ['the object is paused', annotate(PAUSED_ANNOTATION)],
      ['the object has changed', { spec: { deletionPolicy: 'Retain' } }],
      ['the object has changed', annotate(RETAIN_ANNOTATION)],
    ];
    for (const [detail, change] of changes) {
      it(`reports that ${detail}: ${JSON.stringify(change)}`, async () => {
        api.putCluster();
        const object = api.put();
        api.change(object, change);
        expect(await blockerOf(object)).to.equal(detail);
      });
    }

    it('ignores a retain annotation that an explicit deletionPolicy overrides', async () => {
      const object = api.put({ spec: { deletionPolicy: 'Delete' } });
      api.change(object, annotate(RETAIN_ANNOTATION));
      expect(await blockerOf(object)).to.equal(undefined);
    });

    it('reports that the object is gone', async () => {
      api.putCluster();
      const object = api.put({ metadata: { finalizers: [] } });
      api.server.storage.delete(PROFILE_KIND, keyOf(object));
      expect(await blockerOf(object)).to.equal('the object is gone');
      api.put();
      expect(await blockerOf(object), 'after another object took its name').to.equal('the object is gone');
    });

    it('reports that the Cluster is paused', async () => {
      api.putCluster({ paused: true });
      expect(await blockerOf(api.put())).to.equal('the Cluster is paused');
    });

    it('reports that the Cluster is being moved away', async () => {
      api.putCluster({}, { annotations: { [DELETE_FOR_MOVE_ANNOTATION]: '' } });
      expect(await blockerOf(api.put())).to.equal('the Cluster is being moved away');
    });

    it('reports that the Cluster cannot be decoded', async () => {
      api.putCluster({ paused: 'perhaps' });
      expect(await blockerOf(api.put())).to.equal('the Cluster cannot be read');
    });

    it('reports that Cluster objects cannot be read', async () => {
      live = newLiveChecks(api.client, () => undefined);
      expect(await blockerOf(api.put())).to.equal('Cluster objects cannot be read');
    });

    it('permits nothing when the API server gives no answer', async () => {
      const object = api.put();
      api.server.unserve(CLUSTER.plural);
      const answer = await blockerOf(object).catch(() => 'failed');
      expect(answer).not.to.equal(undefined);
    });
  });

  describe('readRoleUsers', () => {
    const shared = RoleName.of('shared');
    const other = (parts: ObjectParts = {}): AWSFargateProfile =>
      api.put({ ...parts, metadata: { name: 'other', ...parts.metadata }, spec: { roleName: shared, ...parts.spec } });
    const location = { account: ACCOUNT, region: 'eu-west-1', eksCluster: EKS_CLUSTER };
    const usersOf = (object: AWSFargateProfile, role: string = shared): Promise<RoleUsers> =>
      live.readRoleUsers(object, { name: RoleName.of(role), location }, signal);
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

    it('shares one list between simultaneous questions, but never answers from an older list', async () => {
      const object = api.put({ spec: { roleName: shared } });
      const before = userOf(object);
      other();
      const later = [userOf(object), userOf(object), userOf(object)];
      await before;
      expect(await Promise.all(later)).to.deep.equal(['team-a/other', 'team-a/other', 'team-a/other']);
      const lists = api.server.requests.filter(({ method, path }) => method === 'GET' && path.includes('?limit='));
      expect(lists).to.have.length(2);
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

    it('finds an object on a later page of the list', async () => {
      const object = api.put({ spec: { roleName: shared } });
      for (let index = 0; index < 600; index++) api.put({ metadata: { name: `aa-${`${index}`.padStart(4, '0')}` } });
      other({ metadata: { name: 'zz' } });
      expect(await userOf(object)).to.equal('team-a/zz');
    });
  });
});
