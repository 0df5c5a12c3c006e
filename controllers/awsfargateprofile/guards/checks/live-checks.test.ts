import { expect } from 'chai';
import type { Either } from 'fp-ts/lib/Either.js';
import { left, right } from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import { DELETE_FOR_MOVE_ANNOTATION, PAUSED_ANNOTATION, RETAIN_ANNOTATION } from '../../../../api/v1beta2/index.ts';
import { keyOf } from '../../../../pkg/kube/object-key.ts';
import type { ObjectKey, Resource } from '../../../../pkg/kube/types.ts';
import type { LiveChecks } from './live-checks.ts';
import { newLiveChecks } from './live-checks.ts';
import type { Api } from '../../testing/api.ts';
import { CLUSTER, PROFILE_KIND, newApi } from '../../testing/api.ts';

const CLUSTERS: Resource = { group: 'cluster.x-k8s.io', version: 'v1beta2', plural: 'clusters' };
const { signal } = new AbortController();

describe('newLiveChecks', () => {
  let api: Api;
  let live: LiveChecks;
  let cluster: Either<string, ObjectKey | undefined>;

  const checksWith = (clusters: Resource | undefined): LiveChecks => {
    const { client, clock } = api;
    return newLiveChecks({
      client,
      clock,
      clusters: () => clusters,
      clusterKeyOf: () => cluster,
      schema: { isSettled: () => true },
    });
  };

  beforeEach(() => {
    api = newApi();
    cluster = right({ namespace: 'team-a', name: 'prod' });
    live = checksWith(CLUSTERS);
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

    it('finds nothing without a Cluster, and reports why it is not known whether there is one', async () => {
      api.putCluster({ paused: true });
      const object = api.put();
      cluster = right(undefined);
      expect(await blockerOf(object)).to.equal(undefined);
      cluster = left('control planes are not listed yet');
      expect(await blockerOf(object)).to.equal('control planes are not listed yet');
    });

    it('reports that Cluster objects cannot be read', async () => {
      live = checksWith(undefined);
      expect(await blockerOf(api.put())).to.equal('Cluster objects cannot be read');
    });

    it('permits nothing when the API server gives no answer', async () => {
      const object = api.put();
      api.server.unserve(CLUSTER.plural);
      const answer = await blockerOf(object).catch(() => 'failed');
      expect(answer).not.to.equal(undefined);
    });
  });
});
