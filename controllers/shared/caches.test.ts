import { expect } from 'chai';
import { Store, TypedStore } from 'controller-runtime/cache';
import type { KubeObject } from 'controller-runtime/client';
import { MemoryLogger } from 'controller-runtime/testing';
import { ClusterName, EksClusterName } from '../../api/names.ts';
import { type AWSFargateProfile, decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { type ObjectParts, anObject } from '../awsfargateprofile/testing/builders.ts';
import { PROFILE_INDEXES, controlPlaneOf, listSiblings } from './caches.ts';

const named = (name: string, { metadata, spec }: ObjectParts = {}): KubeObject => ({
  ...anObject({ metadata: { name, uid: `uid-of-${name}`, ...metadata }, ...(spec && { spec }) }),
});

describe('listSiblings', () => {
  let store: Store;
  beforeEach(() => {
    store = new Store({ name: 'profiles', logger: new MemoryLogger(), indexes: PROFILE_INDEXES });
  });

  const siblingsOfWeb = (): readonly string[] =>
    listSiblings(anObject(), new TypedStore<AWSFargateProfile>(store, decodeAWSFargateProfile)).map(
      ({ metadata }) => metadata.name,
    );

  it('lists the other objects of the same Cluster, not those of another Cluster or namespace', () => {
    const inTest = named('in-test', { spec: { clusterName: ClusterName.of('test') } });
    const elsewhere = named('elsewhere', { metadata: { namespace: 'team-b' } });
    store.replaceAll([named('web'), named('api'), named('batch'), inTest, elsewhere], '1');
    expect(siblingsOfWeb()).to.have.members(['api', 'batch']);
  });

  it('lists the objects of the same EKS cluster, whether they name the Cluster or the EKS cluster', () => {
    const eksClusterName = EksClusterName.of('tools');
    const { clusterName: _name, ...spec } = anObject().spec;
    const byEksCluster = { ...named('by-eks-cluster'), spec: { ...spec, eksCluster: { name: eksClusterName } } };
    const byCluster = anObject({ metadata: { name: 'by-cluster', uid: 'by-cluster' }, status: { eksClusterName } });
    store.replaceAll([byEksCluster, { ...byCluster }, named('new')], '1');
    const profiles = new TypedStore<AWSFargateProfile>(store, decodeAWSFargateProfile);
    const namesOf = (object: AWSFargateProfile): readonly string[] =>
      listSiblings(object, profiles).map(({ metadata }) => metadata.name);
    expect(namesOf(byCluster)).to.have.members(['by-eks-cluster', 'new']);
    expect(namesOf({ ...anObject(), spec: { ...spec, eksCluster: { name: eksClusterName } } })).to.have.members([
      'by-eks-cluster',
      'by-cluster',
    ]);
  });

  it('leaves out objects that cannot be decoded', () => {
    store.replaceAll([named('api'), { ...named('odd'), spec: { clusterName: 'prod', selectors: 7 } }], '1');
    expect(siblingsOfWeb()).to.deep.equal(['api']);
  });

  it('lists nothing while the cache is not filled', () => {
    expect(siblingsOfWeb()).to.deep.equal([]);
    store.replaceAll([named('api')], '1');
    store.markUnknown({ reason: 'the kind is not served' });
    expect(siblingsOfWeb()).to.deep.equal([]);
  });
});

describe('controlPlaneOf', () => {
  const name = 'prod-control-plane';
  const inV1beta1 = { apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2', kind: 'AWSManagedControlPlane', name };
  const inV1beta2 = { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'AWSManagedControlPlane', name };
  const found = [`team-a/${name}`];
  for (const [what, controlPlaneRef, keys] of [
    ['an AWSManagedControlPlane, in v1beta1 of Cluster', inV1beta1, found],
    ['an AWSManagedControlPlane, in v1beta2 of Cluster', inV1beta2, found],
    ['one in the namespace of the Cluster', { ...inV1beta1, namespace: 'team-a' }, found],
    ['one in another namespace', { ...inV1beta1, namespace: 'team-b' }, []],
    ['a control plane of another kind', { ...inV1beta2, kind: 'KubeadmControlPlane' }, []],
    ['this kind of another API group', { ...inV1beta2, apiGroup: 'example.com' }, []],
    ['a control plane without a name', { ...inV1beta2, name: undefined }, []],
    ['something that cannot be decoded', { ...inV1beta2, name: 7 }, []],
    ['nothing', undefined, []],
  ] as const)
    it(`returns ${keys.length === 0 ? 'nothing' : 'the key'} for a reference to ${what}`, () =>
      expect(controlPlaneOf({ ...named('prod'), spec: { controlPlaneRef, paused: 'yes' } })).to.deep.equal(keys));
});
