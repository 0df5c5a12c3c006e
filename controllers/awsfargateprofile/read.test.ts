import { expect } from 'chai';
import { RoleName } from '../../api/names.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { Store } from '../../pkg/kube/store.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { BY_CLUSTER, clusterOf } from '../caches.ts';
import { readInputs } from './read.ts';
import { aDeletedObject, anObject } from './testing/builders.ts';

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

function storeOf(objects: readonly KubeObject[] | undefined): Store {
  const store = new Store({ name: 'things', logger: new MemoryLogger(), indexes: { [BY_CLUSTER]: clusterOf } });
  if (objects !== undefined) store.replaceAll(objects, '100');
  return store;
}

/** What is read for the object where the caches hold these; `null`: not listed yet. */
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
    profiles: storeOf(profiles),
    clusters: storeOf(clusters ?? undefined),
    controlPlanes: storeOf(controlPlanes ?? undefined),
  });
}

describe('readInputs', () => {
  it('finds the Cluster, the version it is read in, and the control plane that it names', () => {
    const { cluster, clusterApiVersion, controlPlane } = read();
    expect(cluster).to.have.nested.property('object.metadata.name', 'prod');
    expect(clusterApiVersion).to.equal('cluster.x-k8s.io/v1beta1');
    expect(controlPlane).to.have.nested.property('object.metadata.name', 'prod-control-plane');
  });

  it('knows of no control plane without a Cluster that names one of the right kind', () => {
    const other = { ...CLUSTER, spec: { controlPlaneRef: { ...CLUSTER.spec.controlPlaneRef, kind: 'OtherPlane' } } };
    for (const clusters of [[], [{ ...CLUSTER, spec: {} }], [other]])
      expect(read({ clusters }).controlPlane).to.deep.equal({ kind: 'absent' });
  });

  it('takes what is not listed yet for unknown, not for absent', () => {
    const why = 'things are not listed yet';
    expect(read({ clusters: null })).to.deep.include({
      cluster: { kind: 'unknown', why },
      controlPlane: { kind: 'unknown', why },
    });
    expect(read({ controlPlanes: null }).controlPlane).to.deep.equal({ kind: 'unknown', why });
  });

  it('takes what cannot be understood for unknown, and names it', () => {
    expect(read({ clusters: [{ ...CLUSTER, spec: { paused: 'yes' } }] }).cluster).to.deep.equal({
      kind: 'unknown',
      why: 'team-a/prod: spec.paused: expected boolean, got "yes"',
    });
    expect(read({ controlPlanes: [{ ...CONTROL_PLANE, spec: { region: 7 } }] }).controlPlane).to.deep.equal({
      kind: 'unknown',
      why: 'team-a/prod-control-plane: spec.region: expected string, got 7',
    });
  });

  it('finds who shares the role: living objects of the Cluster that name it, in whatever case', () => {
    const named = (name: string, role: string, parts: Parameters<typeof anObject>[0] = {}): KubeObject => {
      const spec = { ...parts.spec, roleName: RoleName.of(role) };
      return { ...anObject({ ...parts, metadata: { ...parts.metadata, name, uid: name }, spec }) };
    };
    const object = anObject({ spec: { roleName: RoleName.of('Shared') } });
    const deleted = { ...aDeletedObject({ metadata: { name: 'd', uid: 'd' }, spec: object.spec }) };
    const { sharers } = read({
      object,
      profiles: [{ ...object }, named('a', 'shared'), named('b', 'other'), deleted, { ...anObject(), spec: 7 }],
    });
    expect(sharers.map((each) => each.metadata.name)).to.deep.equal(['a']);
  });
});
