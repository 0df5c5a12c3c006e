import { expect } from 'chai';
import { MemoryLogger } from '../../../pkg/env/testing/memory-logger.ts';
import { Store } from '../../../pkg/kube/cache/store.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';
import { PROFILE_INDEXES } from '../../shared/caches.ts';
import { newIsClusterHead } from './cluster-head.ts';

type Fields = Readonly<Record<string, unknown>>;

const profile = (name: string, metadata: Fields = {}, conditions: Fields = {}, cluster = 'prod'): KubeObject => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata: {
    name,
    namespace: 'team-a',
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-11-21T03:00:00Z',
    ...metadata,
  },
  spec: { clusterName: cluster },
  status: {
    observedGeneration: 1,
    conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })),
  },
});

const DELETED = { deletionTimestamp: '2026-11-21T04:00:00Z' };

function headsOf(...profiles: readonly KubeObject[]): readonly string[] {
  const store = new Store({ name: 'profiles', logger: new MemoryLogger(), indexes: PROFILE_INDEXES });
  store.replaceAll(profiles, '1');
  const names = profiles.map(({ metadata }) => metadata.name);
  const isClusterHead = newIsClusterHead(store);
  return names.filter((name) => isClusterHead({ namespace: 'team-a', name }));
}

describe('newIsClusterHead', () => {
  const rows: readonly (readonly [string, readonly KubeObject[], readonly string[]])[] = [
    ['the oldest object', [profile('a'), profile('b', { creationTimestamp: '2026-11-21T02:00:00Z' })], ['b']],
    ['the first by name of objects of the same second', [profile('b'), profile('a')], ['a']],
    ['an object in each cluster', [profile('a'), profile('b', {}, {}, 'staging')], ['a', 'b']],
    ['a deleted object before an older one', [profile('a'), profile('b', DELETED)], ['b']],
    ['the next object when the first is Ready', [profile('a', {}, { Ready: 'True' }), profile('b')], ['b']],
    ['a Ready object that has changed', [profile('a', { generation: 2 }, { Ready: 'True' }), profile('b')], ['a']],
    ['no object when all are Ready', [profile('a', {}, { Ready: 'True' })], []],
  ];
  for (const [which, profiles, expected] of rows) {
    it(`is ${which}`, () => expect(headsOf(...profiles)).to.deep.equal(expected));
  }

  const passedOver: readonly (readonly [string, KubeObject])[] = [
    ['paused', profile('a', { annotations: { 'cluster.x-k8s.io/paused': '' } })],
    ['stalled', profile('a', {}, { Ready: 'False', Stalled: 'True' })],
  ];
  for (const [how, first] of passedOver) {
    it(`is also the object behind a ${how} one`, () => {
      expect(headsOf(first, profile('b'), profile('c'))).to.deep.equal(['a', 'b']);
    });
  }

  it('is the next object as soon as the first becomes Ready', () => {
    const store = new Store({ name: 'profiles', logger: new MemoryLogger(), indexes: PROFILE_INDEXES });
    const isClusterHead = newIsClusterHead(store);
    const areHeads = () => ['a', 'b'].map((name) => isClusterHead({ namespace: 'team-a', name }));
    store.replaceAll([profile('a'), profile('b')], '1');
    expect(areHeads()).to.deep.equal([true, false]);
    store.upsert(profile('a', { resourceVersion: '2' }, { Ready: 'True' }));
    expect(areHeads()).to.deep.equal([false, true]);
  });

  it('is no object before the profiles are listed', () => {
    const store = new Store({ name: 'profiles', logger: new MemoryLogger(), indexes: PROFILE_INDEXES });
    expect(newIsClusterHead(store)({ namespace: 'team-a', name: 'a' })).to.equal(false);
  });
});
