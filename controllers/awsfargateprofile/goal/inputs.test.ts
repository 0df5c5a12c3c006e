import { expect } from 'chai';
import { type IndexFunc, Store } from 'controller-runtime/cache';
import type { KubeObject } from 'controller-runtime/client';
import { MemoryLogger } from 'controller-runtime/testing';
import { EksClusterName } from '../../../api/names.ts';
import {
  BY_CONTROL_PLANE,
  BY_EKS_CLUSTER,
  PROFILE_INDEXES,
  controlPlaneOf,
  eksClusterOfControlPlane,
  newTypedCaches,
} from '../../shared/caches.ts';
import { NO_LIMITS } from '../../../pkg/fargate/operator-limits.ts';
import { readInputs } from './inputs.ts';
import { anObject } from '../testing/builders.ts';

const metadata = (name: string) => ({ name, namespace: 'team-a', uid: `uid-of-${name}`, resourceVersion: '1' });
const CONTROL_PLANE = {
  apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
  kind: 'AWSManagedControlPlane',
  metadata: metadata('prod-control-plane'),
};
const CLUSTER = {
  apiVersion: 'cluster.x-k8s.io/v1beta1',
  kind: 'Cluster',
  metadata: metadata('prod'),
  spec: {
    controlPlaneRef: {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'AWSManagedControlPlane',
      name: 'prod-control-plane',
    },
  },
};

function storeOf(
  objects: readonly KubeObject[] | undefined,
  indexes: Readonly<Record<string, IndexFunc>> = PROFILE_INDEXES,
): Store {
  const store = new Store({ name: 'things', logger: new MemoryLogger(), indexes });
  if (objects !== undefined) store.replaceAll(objects, '100');
  return store;
}

/**
 * Reads the inputs of a reconcile from caches that contain the given objects. `null` in place of the objects of a kind
 * means that the cache has not listed this kind yet.
 */
function read({
  object = anObject(),
  profiles = [],
  clusters = [CLUSTER],
  controlPlanes = [CONTROL_PLANE],
}: {
  readonly object?: ReturnType<typeof anObject>;
  readonly profiles?: readonly KubeObject[];
  readonly clusters?: readonly KubeObject[] | null;
  readonly controlPlanes?: readonly KubeObject[] | null;
} = {}) {
  return readInputs(object, {
    limits: NO_LIMITS,
    ...newTypedCaches({
      profiles: storeOf(profiles),
      clusters: storeOf(clusters ?? undefined, { [BY_CONTROL_PLANE]: controlPlaneOf }),
      controlPlanes: storeOf(controlPlanes ?? undefined, { [BY_EKS_CLUSTER]: eksClusterOfControlPlane }),
    }),
  });
}

describe('readInputs', () => {
  it('finds the Cluster, its apiVersion and its control plane', () => {
    const { cluster, clusterApiVersion, controlPlane } = read();
    expect(cluster).to.have.nested.property('object.metadata.name', 'prod');
    expect(clusterApiVersion).to.equal('cluster.x-k8s.io/v1beta1');
    expect(controlPlane).to.have.nested.property('object.metadata.name', 'prod-control-plane');
  });

  it('finds no control plane if the Cluster does not name an AWSManagedControlPlane of its namespace', () => {
    const other = { ...CLUSTER, spec: { controlPlaneRef: { ...CLUSTER.spec.controlPlaneRef, kind: 'OtherPlane' } } };
    const elsewhere = {
      ...CLUSTER,
      spec: { controlPlaneRef: { ...CLUSTER.spec.controlPlaneRef, namespace: 'team-b' } },
    };
    for (const clusters of [[], [{ ...CLUSTER, spec: {} }], [other], [elsewhere]])
      expect(read({ clusters }).controlPlane).to.deep.equal({ kind: 'absent' });
  });

  it('reports an object as unknown, not as absent, while its cache is not listed', () => {
    const reason = 'things are not listed yet';
    expect(read({ clusters: null })).to.deep.include({
      cluster: { kind: 'unknown', reason },
      controlPlane: { kind: 'unknown', reason },
    });
    expect(read({ controlPlanes: null }).controlPlane).to.deep.equal({ kind: 'unknown', reason });
  });

  it('reports an object that cannot be decoded as unknown, with the field at fault', () => {
    expect(read({ clusters: [{ ...CLUSTER, spec: { paused: 'yes' } }] }).cluster).to.deep.equal({
      kind: 'unknown',
      isInvalid: true,
      reason: 'team-a/prod: spec.paused: expected boolean, got "yes"',
    });
    expect(read({ controlPlanes: [{ ...CONTROL_PLANE, spec: { region: 7 } }] }).controlPlane).to.deep.equal({
      kind: 'unknown',
      isInvalid: true,
      reason: 'team-a/prod-control-plane: spec.region: expected string, got 7',
    });
  });

  it('finds the control plane of spec.eksCluster and its Cluster, or reports that they are unknown', () => {
    const eksCluster = { name: EksClusterName.of('team-a_prod-control-plane'), region: 'eu-west-1' };
    const { clusterName: _name, ...spec } = anObject().spec;
    const object = { ...anObject(), spec: { ...spec, eksCluster } };
    const ready = { ...CONTROL_PLANE, spec: { region: 'eu-west-1' }, status: { ready: true } };
    const joined = read({ object, controlPlanes: [ready] });
    expect(joined.cluster).to.have.nested.property('object.metadata.name', 'prod');
    expect(joined.controlPlane).to.have.nested.property('object.metadata.name', 'prod-control-plane');
    expect(read({ object, controlPlanes: [] })).to.deep.include({
      cluster: { kind: 'none' },
      controlPlane: { kind: 'absent' },
    });
    const unreadable = { ...CONTROL_PLANE, spec: { region: 7 } };
    for (const caches of [
      { controlPlanes: null },
      { controlPlanes: [unreadable] },
      { controlPlanes: [ready], clusters: null },
      { controlPlanes: [ready], clusters: [{ ...CLUSTER, spec: { ...CLUSTER.spec, paused: 'yes' } }] },
    ])
      expect(read({ object, ...caches }).cluster.kind, JSON.stringify(caches)).to.equal('unknown');
  });
});
