import { expect } from 'chai';
import { AccountId, ClusterName, RoleArn, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { DELETE_FOR_MOVE_ANNOTATION, PAUSED_ANNOTATION } from '../../api/v1beta2/index.ts';
import { keyOf } from '../../pkg/kube/paths.ts';
import type { Resource } from '../../pkg/kube/types.ts';
import type { LiveReads } from './live.ts';
import { liveReads } from './live.ts';
import type { Api } from './testing/api.ts';
import { CLUSTER, PROFILE_KIND, newApi } from './testing/api.ts';
import type { ObjectParts } from './testing/builders.ts';
import { ACCOUNT, ROLE } from './testing/builders.ts';

const CLUSTERS: Resource = { group: 'cluster.x-k8s.io', version: 'v1beta2', plural: 'clusters' };
const { signal } = new AbortController();

describe('liveReads', () => {
  let api: Api;
  let live: LiveReads;

  beforeEach(() => {
    api = newApi();
    live = liveReads(api.client, () => CLUSTERS);
  });

  describe('objectionTo', () => {
    const objection = (object: AWSFargateProfile): Promise<string | undefined> => live.objectionTo(object, signal);

    it('is none to an object that is as it was', async () => {
      api.putCluster();
      expect(await objection(api.put())).to.equal(undefined);
    });

    it('is none where the Cluster is gone', async () => {
      expect(await objection(api.put())).to.equal(undefined);
    });

    it('is none where status alone has changed', async () => {
      const object = api.put();
      api.server.storage.mergePatch(PROFILE_KIND, keyOf(object), { status: { ready: true } }, 'status');
      expect(await objection(object)).to.equal(undefined);
    });

    const annotate = (key: string) => ({ metadata: { annotations: { [key]: '' } } });
    const changes: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
      ['the object is being moved away', annotate(DELETE_FOR_MOVE_ANNOTATION)],
      ['the object is paused', annotate(PAUSED_ANNOTATION)],
      ['the object has changed', { spec: { deletionPolicy: 'Retain' } }],
    ];
    for (const [words, change] of changes) {
      it(words, async () => {
        api.putCluster();
        const object = api.put();
        api.change(object, change);
        expect(await objection(object)).to.equal(words);
      });
    }

    it('the object is gone', async () => {
      api.putCluster();
      const object = api.put({ metadata: { finalizers: [] } });
      api.server.storage.delete(PROFILE_KIND, keyOf(object));
      expect(await objection(object)).to.equal('the object is gone');
      api.put();
      expect(await objection(object), 'another one of its name is there').to.equal('the object is gone');
    });

    it('the Cluster is paused', async () => {
      api.putCluster({ paused: true });
      expect(await objection(api.put())).to.equal('the Cluster is paused');
    });

    it('the Cluster cannot be understood', async () => {
      api.putCluster({ paused: 'perhaps' });
      expect(await objection(api.put())).to.equal('the Cluster cannot be read');
    });

    it('Clusters cannot be read', async () => {
      live = liveReads(api.client, () => undefined);
      expect(await objection(api.put())).to.equal('Cluster objects cannot be read');
    });

    it('takes no answer for no permission', async () => {
      const object = api.put();
      api.server.unserve(CLUSTER.plural);
      const answer = await objection(object).catch(() => 'failed');
      expect(answer).not.to.equal(undefined);
    });
  });

  describe('otherUserOf', () => {
    const shared = RoleName.of('shared');
    const other = (parts: ObjectParts = {}): AWSFargateProfile =>
      api.put({ ...parts, metadata: { name: 'other', ...parts.metadata }, spec: { roleName: shared, ...parts.spec } });
    const userOf = (object: AWSFargateProfile, role: string = shared): Promise<string | undefined> =>
      live.otherUserOf(object, { name: RoleName.of(role), account: ACCOUNT }, signal);

    it('is nobody where no other object names the role', async () => {
      const object = api.put({ spec: { roleName: shared } });
      api.put({ metadata: { name: 'other' } });
      expect(await userOf(object)).to.equal(undefined);
    });

    it('is another object that names it', async () => {
      const object = api.put({ spec: { roleName: shared } });
      other();
      expect(await userOf(object)).to.equal('team-a/other');
    });

    it('is one that names it in another case: IAM takes that for one name', async () => {
      const object = api.put({ spec: { roleName: shared } });
      other({ spec: { roleName: RoleName.of('SHARED') } });
      expect(await userOf(object)).to.equal('team-a/other');
    });

    it('is one that used it before its spec named another', async () => {
      const object = api.put({ spec: { roleName: shared } });
      other({ spec: { roleName: RoleName.of('another') }, status: { role: { name: shared } } });
      expect(await userOf(object)).to.equal('team-a/other');
    });

    it('is one whose computed role it is', async () => {
      const object = api.put({ metadata: { name: 'api' }, spec: { roleName: ROLE } });
      api.put();
      expect(await userOf(object, ROLE)).to.equal('team-a/web');
    });

    it('is one that is being deleted, as long as it carries our finalizer', async () => {
      const object = api.put({ spec: { roleName: shared } });
      const leaving = other();
      api.server.storage.delete(PROFILE_KIND, keyOf(leaving));
      expect(await userOf(object)).to.equal('team-a/other');
    });

    it('is not one without our finalizer: nothing was done for it', async () => {
      const object = api.put({ spec: { roleName: shared } });
      other({ metadata: { finalizers: ['somebody.else/finalizer'] } });
      expect(await userOf(object)).to.equal(undefined);
    });

    const elsewhere = { status: { account: AccountId.of('444455556666') } };
    const inAnotherCluster = { metadata: { namespace: 'team-b' } };

    it('is not one in another account: another role has that name there', async () => {
      const object = api.put({ spec: { roleName: shared } });
      other(elsewhere);
      expect(await userOf(object)).to.equal(undefined);
    });

    it('is one of another cluster in the account', async () => {
      const object = api.put({ spec: { roleName: shared } });
      other({ ...inAnotherCluster, status: { account: ACCOUNT } });
      expect(await userOf(object)).to.equal('team-b/other');
    });

    it('is one of the same Cluster whose account is not known yet', async () => {
      const object = api.put({ spec: { roleName: shared } });
      other();
      expect(await userOf(object)).to.equal('team-a/other');
    });

    for (const [what, parts] of [
      ['namespace', inAnotherCluster],
      ['Cluster', { spec: { clusterName: ClusterName.of('test') } }],
    ] as const) {
      it(`is not one of another ${what} whose account is not known: it has nothing in AWS yet`, async () => {
        const object = api.put({ spec: { roleName: shared } });
        other(parts);
        expect(await userOf(object)).to.equal(undefined);
      });
    }

    it('is one whose roleARN names the account, and is not one whose roleARN names another', async () => {
      const object = api.put({ spec: { roleName: shared } });
      const naming = (account: string) =>
        api.put({
          metadata: { name: `in-${account}`, namespace: 'team-b' },
          spec: { roleARN: RoleArn.of(`arn:aws:iam::${account}:role/path/shared`) },
        });
      naming('444455556666');
      expect(await userOf(object)).to.equal(undefined);
      naming(ACCOUNT);
      expect(await userOf(object)).to.equal(`team-b/in-${ACCOUNT}`);
    });

    it('is one that cannot be read and in which the name occurs', async () => {
      const object = api.put({ spec: { roleName: shared } });
      api.server.storage.create(PROFILE_KIND, 'team-a', {
        metadata: { name: 'odd', finalizers: object.metadata.finalizers },
        spec: { clusterName: 7, roleName: shared },
      });
      expect(await userOf(object)).to.equal('team-a/odd');
    });

    it('is asked once for many who ask together, and nobody is told what was before he asked', async () => {
      const object = api.put({ spec: { roleName: shared } });
      const before = userOf(object);
      other();
      const later = [userOf(object), userOf(object), userOf(object)];
      await before;
      expect(await Promise.all(later)).to.deep.equal(['team-a/other', 'team-a/other', 'team-a/other']);
      const lists = api.server.requests.filter(({ method, path }) => method === 'GET' && path.includes('?limit='));
      expect(lists).to.have.length(2);
    });

    it('is found by what each object says now, whatever it said when it was asked about before', async () => {
      const object = api.put({ spec: { roleName: shared } });
      const changing = other({ spec: { roleName: RoleName.of('another') } });
      expect(await userOf(object)).to.equal(undefined);
      api.change(changing, { spec: { roleName: shared } });
      expect(await userOf(object)).to.equal('team-a/other');
      api.server.storage.mergePatch(PROFILE_KIND, keyOf(changing), { metadata: { finalizers: [] } });
      expect(await userOf(object)).to.equal(undefined);
    });

    it('is found on whatever page', async () => {
      const object = api.put({ spec: { roleName: shared } });
      for (let index = 0; index < 600; index++) api.put({ metadata: { name: `aa-${`${index}`.padStart(4, '0')}` } });
      other({ metadata: { name: 'zz' } });
      expect(await userOf(object)).to.equal('team-a/zz');
    });
  });
});
