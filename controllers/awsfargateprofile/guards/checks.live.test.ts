import { expect } from 'chai';
import { right } from 'fp-ts/lib/Either.js';
import { keyOf, type Resource } from 'controller-runtime/client';
import { type AWSFargateProfile, DELETE_FOR_MOVE_ANNOTATION, RETAIN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { type FindLiveBlocker, newFindLiveBlocker } from './checks.ts';
import { type Api, CLUSTER, PROFILE_KIND, newApi } from '../testing/api.ts';

const CLUSTERS: Resource = { group: 'cluster.x-k8s.io', version: 'v1beta2', plural: 'clusters' };
const { signal } = new AbortController();

describe('newFindLiveBlocker', () => {
  let api: Api;
  let find: FindLiveBlocker;

  beforeEach(() => {
    api = newApi();
    const key = right({ namespace: 'team-a', name: 'prod' });
    find = newFindLiveBlocker({ client: api.client, clusters: () => CLUSTERS, clusterKeyOf: () => key });
  });

  describe('returns', () => {
    const blockerOf = (object: AWSFargateProfile): Promise<string | undefined> => find(object, signal);

    const annotate = (key: string) => ({ metadata: { annotations: { [key]: '' } } });
    const rows: readonly (readonly [
      when: string,
      detail: string | undefined,
      make: (object: AWSFargateProfile) => unknown,
    ])[] = [
      ['nothing has changed', undefined, () => api.putCluster()],
      ['the Cluster is gone', undefined, () => {}],
      [
        'the status alone has changed',
        undefined,
        (object) => api.server.storage.mergePatch(PROFILE_KIND, keyOf(object), { status: { ready: true } }, 'status'),
      ],
      [
        'a move has begun',
        'the object is being moved away',
        (object) => api.change(object, annotate(DELETE_FOR_MOVE_ANNOTATION)),
      ],
      [
        'the policy has changed',
        'the object has changed',
        (object) => api.change(object, { spec: { deletionPolicy: 'Retain' } }),
      ],
      ['the object is retained', 'the object has changed', (object) => api.change(object, annotate(RETAIN_ANNOTATION))],
      [
        'the Cluster is moved',
        'the Cluster is being moved away',
        () => api.putCluster({}, annotate(DELETE_FOR_MOVE_ANNOTATION).metadata),
      ],
    ];
    for (const [change, detail, make] of rows)
      it(`returns ${detail === undefined ? 'nothing' : `"${detail}"`} when ${change}`, async () => {
        const object = api.put();
        make(object);
        expect(await blockerOf(object)).to.equal(detail);
      });

    it('ignores a retain annotation that an explicit deletionPolicy overrides', async () => {
      const object = api.put({ spec: { deletionPolicy: 'Delete' } });
      api.change(object, annotate(RETAIN_ANNOTATION));
      expect(await blockerOf(object)).to.equal(undefined);
    });

    it('reports that the object is gone, also after another object took its name', async () => {
      const object = api.put({ metadata: { finalizers: [] } });
      api.server.storage.delete(PROFILE_KIND, keyOf(object));
      expect(await blockerOf(object)).to.equal('the object is gone');
      api.put();
      expect(await blockerOf(object)).to.equal('the object is gone');
    });

    it('permits nothing when the API server gives no answer', async () => {
      const object = api.put();
      api.server.unserve(CLUSTER.plural);
      expect(await blockerOf(object).catch(() => 'failed')).not.to.equal(undefined);
    });
  });
});
