import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { MemoryLogger } from 'controller-runtime/testing';
import { type Caches, newCaches } from '../shared/caches.ts';
import { groupOf } from './controller.ts';
import { newApi } from './testing/api.ts';

type Fields = Readonly<Record<string, unknown>>;

const object = (kind: string, name: string, fields: Fields, metadata: Fields = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'team-a', uid: `uid-of-${name}`, resourceVersion: '1', ...metadata },
  ...fields,
});

const CLUSTER = object('Cluster', 'prod', {
  spec: {
    controlPlaneRef: {
      apiGroup: 'controlplane.cluster.x-k8s.io',
      kind: 'AWSManagedControlPlane',
      name: 'prod-control-plane',
    },
  },
});
const CONTROL_PLANE = object('AWSManagedControlPlane', 'prod-control-plane', {
  spec: { region: 'eu-west-1', identityRef: { kind: 'AWSClusterRoleIdentity', name: 'tenant' } },
});
const web = (status: Fields = {}, metadata: Fields = {}): KubeObject =>
  object('AWSFargateProfile', 'web', { spec: { clusterName: 'prod' }, status }, metadata);

describe('groupOf', () => {
  let caches: Caches;

  beforeEach(() => {
    const { client, clock, random } = newApi();
    caches = newCaches({ client, clock, random, logger: new MemoryLogger() });
  });

  const place = (profile: KubeObject, ...others: readonly KubeObject[]): string => {
    caches.profiles.replaceAll([profile], '1');
    caches.clusters.replaceAll(
      others.filter(({ kind }) => kind === 'Cluster'),
      '1',
    );
    caches.controlPlanes.replaceAll(
      others.filter(({ kind }) => kind === 'AWSManagedControlPlane'),
      '1',
    );
    return groupOf(caches, { namespace: 'team-a', name: 'web' });
  };

  it('takes region and identity from the control plane', () =>
    expect(place(web({ region: 'us-east-1' }), CLUSTER, CONTROL_PLANE)).to.equal(
      'eu-west-1 AWSClusterRoleIdentity/tenant',
    ));

  it('takes region and identity from status where the control plane is gone', () => {
    const status = { region: 'us-east-1', identityRef: { kind: 'AWSClusterStaticIdentity', name: 'old' } };
    expect(place(web(status), CLUSTER)).to.equal('us-east-1 AWSClusterStaticIdentity/old');
  });

  it('takes region and identity from spec.eksCluster, and the region from status where the spec has none', () => {
    const identityRef = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };
    const inEks = (eksCluster: Fields): KubeObject =>
      object('AWSFargateProfile', 'web', { spec: { eksCluster }, status: { region: 'us-east-1' } });
    expect(place(inEks({ name: 'prod', region: 'eu-west-1', identityRef }), CLUSTER, CONTROL_PLANE)).to.equal(
      'eu-west-1 AWSClusterRoleIdentity/tenant',
    );
    expect(place(inEks({ name: 'prod' }))).to.equal('us-east-1 /');
  });

  it('knows neither region nor identity before the caches are filled', () => {
    expect(groupOf(caches, { namespace: 'team-a', name: 'web' })).to.equal('');
    expect(place(web())).to.equal(' /');
  });
});
