import { expect } from 'chai';
import { Store, TypedStore } from 'controller-runtime/cache';
import type { KubeObject } from 'controller-runtime/client';
import { MemoryLogger } from 'controller-runtime/testing';
import { ClusterName, EksClusterName } from '../../api/names.ts';
import { type AWSFargateProfile, decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { type ObjectParts, anObject } from '../awsfargateprofile/testing/builders.ts';
import { PROFILE_INDEXES, listSiblings } from './caches.ts';

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

  it('lists the other objects of the same Cluster', () => {
    store.replaceAll([named('web'), named('api'), named('batch')], '1');
    expect(siblingsOfWeb()).to.have.members(['api', 'batch']);
  });

  it('leaves out objects of another Cluster or namespace', () => {
    const inTest = named('in-test', { spec: { clusterName: ClusterName.of('test') } });
    store.replaceAll([named('web'), inTest, named('api', { metadata: { namespace: 'team-b' } })], '1');
    expect(siblingsOfWeb()).to.deep.equal([]);
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
