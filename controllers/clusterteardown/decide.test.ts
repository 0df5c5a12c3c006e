import { expect } from 'chai';
import { DELETE_FOR_MOVE_ANNOTATION, PAUSED_ANNOTATION, RETAIN_ANNOTATION } from '../../api/v1beta2/index.ts';
import { aCluster, aControlPlane, aDeletedObject, anObject } from '../awsfargateprofile/testing/builders.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { CONTROL_PLANE_FINALIZER } from '../shared/control-plane/control-plane-finalizer.ts';
import { type ClusterState, type ControlPlanes, isTearingDown, planFinalizers, profilesToDelete } from './decide.ts';

const deleted = { deletionTimestamp: '2026-11-21T03:00:00Z' };
const moved = { ...deleted, annotations: { [DELETE_FOR_MOVE_ANNOTATION]: '' } };
const annotated = (key: string, value = '') => ({ metadata: { annotations: { [key]: value } } });

const controlPlaneObject = (name: string, finalizers: readonly string[] = []): KubeObject => ({
  apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
  kind: 'AWSManagedControlPlane',
  metadata: { name, namespace: 'team-a', uid: `uid-of-${name}`, resourceVersion: '1', finalizers },
});

const cluster = aCluster();
const controlPlane = aControlPlane();
const deletedCluster = aCluster({ metadata: deleted });
const deletedControlPlane = aControlPlane({ metadata: deleted });

describe('isTearingDown', () => {
  const cases: readonly (readonly [given: string, state: ClusterState, expected: boolean])[] = [
    ['a Cluster and a control plane that exist', { cluster, controlPlane }, false],
    ['a deleted Cluster whose workers are being drained', { cluster: deletedCluster, controlPlane }, false],
    ['a deleted control plane', { cluster, controlPlane: deletedControlPlane }, true],
    [
      'a deleted Cluster and a deleted control plane',
      { cluster: deletedCluster, controlPlane: deletedControlPlane },
      true,
    ],
    ['a deleted control plane without a Cluster', { cluster: undefined, controlPlane: deletedControlPlane }, true],
    ['a deleted Cluster without an AWSManagedControlPlane', { cluster: deletedCluster, controlPlane: undefined }, true],
    ['a Cluster without an AWSManagedControlPlane', { cluster, controlPlane: undefined }, false],
    ['neither a Cluster nor a control plane', { cluster: undefined, controlPlane: undefined }, false],
    ['a control plane without a Cluster', { cluster: undefined, controlPlane }, false],
    [
      'a deleted control plane of a paused Cluster',
      { cluster: aCluster({ paused: true }), controlPlane: deletedControlPlane },
      false,
    ],
    [
      'a control plane that clusterctl move deletes',
      { cluster, controlPlane: aControlPlane({ metadata: moved }) },
      false,
    ],
    [
      'a control plane that clusterctl move deletes after the Cluster',
      { cluster: undefined, controlPlane: aControlPlane({ metadata: moved }) },
      false,
    ],
    [
      'a Cluster that clusterctl move deletes after the control plane',
      { cluster: aCluster({ metadata: moved }), controlPlane: undefined },
      false,
    ],
    [
      'a Cluster that clusterctl move deletes, and a control plane that a user deletes',
      { cluster: aCluster({ metadata: moved }), controlPlane: deletedControlPlane },
      false,
    ],
  ];
  for (const [given, state, expected] of cases)
    it(`is ${expected} for ${given}`, () => expect(isTearingDown(state)).to.equal(expected));
});

describe('profilesToDelete', () => {
  const teardown: ClusterState = { cluster, controlPlane: deletedControlPlane };
  const kept: readonly (readonly [which: string, profile: Parameters<typeof anObject>[0]])[] = [
    ['without our finalizer, which has nothing in AWS', { metadata: { finalizers: [] } }],
    ['that clusterctl move deletes', annotated(DELETE_FOR_MOVE_ANNOTATION)],
    ['that is paused', annotated(PAUSED_ANNOTATION, 'false')],
    ['whose deletionPolicy is Retain', { spec: { deletionPolicy: 'Retain' } }],
    ['whose deletionPolicy was Retain before a foreign schema dropped it', annotated(RETAIN_ANNOTATION, 'true')],
  ];
  for (const [which, parts] of kept)
    it(`leaves out a profile ${which}`, () => {
      const [other, stays] = [anObject(), anObject(parts)];
      expect(profilesToDelete(teardown, [other, stays])).to.deep.equal([other]);
    });

  it('leaves out a profile that is being deleted', () =>
    expect(profilesToDelete(teardown, [aDeletedObject()])).to.deep.equal([]));

  it('includes a profile whose deletionPolicy is Delete, whatever its annotation says', () => {
    const object = anObject({ ...annotated(RETAIN_ANNOTATION, 'true'), spec: { deletionPolicy: 'Delete' } });
    expect(profilesToDelete(teardown, [object])).to.deep.equal([object]);
  });

  it('is empty while no teardown is going on', () => {
    expect(profilesToDelete({ cluster: deletedCluster, controlPlane }, [anObject()])).to.deep.equal([]);
  });
});

describe('planFinalizers', () => {
  const profile = { ...anObject() };
  const profileWithoutFinalizer = { ...anObject({ metadata: { finalizers: [] } }) };
  const bare = controlPlaneObject('bare');
  const finalized = controlPlaneObject('finalized', [CONTROL_PLANE_FINALIZER]);
  const former = controlPlaneObject('former', [CONTROL_PLANE_FINALIZER]);
  const cases: readonly (readonly [
    title: string,
    controlPlanes: ControlPlanes,
    profiles: readonly KubeObject[],
    plan: readonly string[],
  ])[] = [
    ['adds the finalizer while a profile has ours', { current: bare, former: [] }, [profile], ['add bare']],
    ['keeps the finalizer while a profile has ours', { current: finalized, former: [] }, [profile], ['keep finalized']],
    ['removes the finalizer after the last profile', { current: finalized, former: [] }, [], ['remove finalized']],
    [
      'removes the finalizer when no profile has ours',
      { current: finalized, former: [] },
      [profileWithoutFinalizer],
      ['remove finalized'],
    ],
    ['leaves a control plane without profiles alone', { current: bare, former: [] }, [], ['keep bare']],
    [
      'does not touch former control planes before the last profile',
      { current: bare, former: [former] },
      [profile],
      ['add bare'],
    ],
    [
      'removes the finalizer of former control planes after the last profile',
      { current: bare, former: [former] },
      [],
      ['keep bare', 'remove former'],
    ],
    ['has nothing to do without control planes', { current: undefined, former: [] }, [profile], []],
  ];
  for (const [title, controlPlanes, profiles, plan] of cases)
    it(title, () => {
      const tasks = planFinalizers(cluster, controlPlanes, profiles);
      expect(tasks.map(({ action, controlPlane: { metadata } }) => `${action} ${metadata.name}`)).to.deep.equal(plan);
    });

  it('has nothing to do while the Cluster is paused', () => {
    expect(planFinalizers(aCluster({ paused: true }), { current: finalized, former: [former] }, [])).to.deep.equal([]);
  });
});
