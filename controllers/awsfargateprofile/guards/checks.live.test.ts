import { expect } from 'chai';
import { left, right } from 'fp-ts/lib/Either.js';
import { keyOf, type Resource } from 'controller-runtime/client';
import {
  type AWSFargateProfile,
  DELETE_FOR_MOVE_ANNOTATION,
  PAUSED_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import { newFindLiveBlocker } from './checks.ts';
import { type Api, CLUSTER, PROFILE_KIND, newApi } from '../testing/api.ts';

const CLUSTERS: Resource = { group: 'cluster.x-k8s.io', version: 'v1beta2', plural: 'clusters' };
const { signal } = new AbortController();

type Sources = Parameters<typeof newFindLiveBlocker>[0];

describe('newFindLiveBlocker', () => {
  let api: Api;
  beforeEach(() => (api = newApi()));

  describe('returns', () => {
    const prod = right({ namespace: 'team-a', name: 'prod' });
    const blockerOf = (object: AWSFargateProfile, over?: Partial<Sources>): Promise<string | undefined> => {
      const sources = { client: api.client, clusters: () => CLUSTERS, clusterKeyOf: () => prod, ...over };
      return newFindLiveBlocker(sources)(object, signal);
    };

    const annotate = (key: string) => ({ metadata: { annotations: { [key]: '' } } });
    const rows: readonly (readonly [
      when: string,
      detail: string | undefined,
      make: (object: AWSFargateProfile) => unknown,
      over?: Partial<Sources>,
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
      ['the object is paused', 'the object is paused', (object) => api.change(object, annotate(PAUSED_ANNOTATION))],
      ['the Cluster is paused', 'the Cluster is paused', () => api.putCluster({ paused: true })],
      [
        'a Cluster is paused to which the object does not belong',
        undefined,
        () => api.putCluster({ paused: true }),
        { clusterKeyOf: () => right(undefined) },
      ],
      ['the Cluster cannot be decoded', 'the Cluster cannot be read', () => api.putCluster({ paused: 'perhaps' })],
      ['no Clusters are served', 'Cluster objects cannot be read', () => {}, { clusters: () => undefined }],
      ['the Cluster is not known', 'not listed yet', () => {}, { clusterKeyOf: () => left('not listed yet') }],
    ];
    for (const [change, detail, make, over] of rows)
      it(`returns ${detail === undefined ? 'nothing' : `"${detail}"`} when ${change}`, async () => {
        const object = api.put();
        make(object);
        expect(await blockerOf(object, over)).to.equal(detail);
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
