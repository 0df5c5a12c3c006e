import { expect } from 'chai';
import { DELETE_FOR_MOVE_ANNOTATION, PAUSED_ANNOTATION, RETAIN_ANNOTATION } from '../../api/v1beta2/index.ts';
import { aCluster, aControlPlane, anObject } from '../awsfargateprofile/testing/builders.ts';
import { type ClusterState, isTearingDown, profilesToDelete } from './decide.ts';

const deleted = { deletionTimestamp: '2026-11-21T03:00:00Z' };
const moved = { ...deleted, annotations: { [DELETE_FOR_MOVE_ANNOTATION]: '' } };
const annotated = (key: string, value = '') => ({ metadata: { annotations: { [key]: value } } });

const CLUSTERS = {
  none: undefined,
  there: aCluster(),
  deleted: aCluster({ metadata: deleted }),
  paused: aCluster({ paused: true }),
  moved: aCluster({ metadata: moved }),
};
const CONTROL_PLANES = {
  none: undefined,
  there: aControlPlane(),
  deleted: aControlPlane({ metadata: deleted }),
  moved: aControlPlane({ metadata: moved }),
};

describe('isTearingDown', () => {
  for (const [cluster, controlPlane, expected] of [
    ['there', 'there', false],
    ['deleted', 'there', false],
    ['there', 'deleted', true],
    ['deleted', 'deleted', true],
    ['none', 'deleted', true],
    ['deleted', 'none', true],
    ['there', 'none', false],
    ['none', 'none', false],
    ['none', 'there', false],
    ['paused', 'deleted', false],
    ['there', 'moved', false],
    ['none', 'moved', false],
    ['moved', 'none', false],
    ['moved', 'deleted', false],
  ] as const)
    it(`is ${expected} for Cluster: ${cluster}, control plane: ${controlPlane}`, () => {
      const state = { cluster: CLUSTERS[cluster], controlPlane: CONTROL_PLANES[controlPlane] };
      expect(isTearingDown(state)).to.equal(expected);
    });
});

describe('profilesToDelete', () => {
  const teardown: ClusterState = { cluster: CLUSTERS.there, controlPlane: CONTROL_PLANES.deleted };
  const kept: readonly (readonly [which: string, profile: Parameters<typeof anObject>[0]])[] = [
    ['without our finalizer, which has nothing in AWS', { metadata: { finalizers: [] } }],
    ['that is being deleted', { metadata: deleted }],
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

  it('includes a profile whose deletionPolicy is Delete, whatever its annotation says', () => {
    const object = anObject({ ...annotated(RETAIN_ANNOTATION, 'true'), spec: { deletionPolicy: 'Delete' } });
    expect(profilesToDelete(teardown, [object])).to.deep.equal([object]);
  });

  it('is empty while no teardown is going on', () => {
    const state = { cluster: CLUSTERS.deleted, controlPlane: CONTROL_PLANES.there };
    expect(profilesToDelete(state, [anObject()])).to.deep.equal([]);
  });
});
