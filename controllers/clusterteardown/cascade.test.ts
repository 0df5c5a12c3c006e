import { expect } from 'chai';
import { DELETE_FOR_MOVE_ANNOTATION, PAUSED_ANNOTATION, RETAIN_ANNOTATION } from '../../api/v1beta2/index.ts';
import { aCluster, aControlPlane, aDeletedObject, anObject } from '../awsfargateprofile/testing/builders.ts';
import type { Situation } from './cascade.ts';
import { isTearingDown, profilesToDelete } from './cascade.ts';

const deleted = { deletionTimestamp: '2026-11-21T03:00:00Z' };
const moved = { ...deleted, annotations: { [DELETE_FOR_MOVE_ANNOTATION]: '' } };
const annotated = (key: string, value = '') => ({ metadata: { annotations: { [key]: value } } });

const cluster = aCluster();
const controlPlane = aControlPlane();
const deletedCluster = aCluster({ metadata: deleted });
const deletedControlPlane = aControlPlane({ metadata: deleted });

describe('a teardown', () => {
  const situations: readonly (readonly [what: string, situation: Situation, isIt: boolean])[] = [
    ['nobody deletes anything', { cluster, controlPlane }, false],
    ['the Cluster is deleted, its workers are being drained', { cluster: deletedCluster, controlPlane }, false],
    ['the control plane is deleted', { cluster, controlPlane: deletedControlPlane }, true],
    ['both are deleted', { cluster: deletedCluster, controlPlane: deletedControlPlane }, true],
    [
      'the control plane is deleted, and the Cluster gone',
      { cluster: undefined, controlPlane: deletedControlPlane },
      true,
    ],
    [
      'the Cluster is deleted, and has no control plane of ours',
      { cluster: deletedCluster, controlPlane: undefined },
      true,
    ],
    ['the Cluster lives, and has no control plane of ours', { cluster, controlPlane: undefined }, false],
    ['neither is there', { cluster: undefined, controlPlane: undefined }, false],
    ['the Cluster is gone, the control plane lives', { cluster: undefined, controlPlane }, false],
    [
      'the control plane is deleted while the Cluster is paused',
      { cluster: aCluster({ paused: true }), controlPlane: deletedControlPlane },
      false,
    ],
    ['the control plane is deleted by a move', { cluster, controlPlane: aControlPlane({ metadata: moved }) }, false],
    [
      'the control plane is deleted by a move, and the Cluster gone by it',
      { cluster: undefined, controlPlane: aControlPlane({ metadata: moved }) },
      false,
    ],
    [
      'the Cluster is deleted by a move, and the control plane gone by it',
      { cluster: aCluster({ metadata: moved }), controlPlane: undefined },
      false,
    ],
    [
      'the Cluster is deleted by a move, the control plane by somebody else',
      { cluster: aCluster({ metadata: moved }), controlPlane: deletedControlPlane },
      false,
    ],
  ];
  for (const [what, situation, isIt] of situations) {
    it(`${isIt ? 'it is' : 'it is none'}: ${what}`, () => expect(isTearingDown(situation)).to.equal(isIt));
  }
});

describe('the profiles that a teardown deletes', () => {
  const teardown: Situation = { cluster, controlPlane: deletedControlPlane };
  const kept: readonly (readonly [what: string, profile: Parameters<typeof anObject>[0]])[] = [
    ['has nothing in AWS: it has not got our finalizer', { metadata: { finalizers: [] } }],
    ['is being moved', annotated(DELETE_FOR_MOVE_ANNOTATION)],
    ['is paused', annotated(PAUSED_ANNOTATION, 'false')],
    ['is to be retained', { spec: { deletionPolicy: 'Retain' } }],
    ['was to be retained under another schema', annotated(RETAIN_ANNOTATION, 'true')],
  ];
  for (const [what, parts] of kept) {
    it(`are all but one that ${what}`, () => {
      const [other, stays] = [anObject(), anObject(parts)];
      expect(profilesToDelete(teardown, [other, stays])).to.deep.equal([other]);
    });
  }

  it('are not asked twice', () => expect(profilesToDelete(teardown, [aDeletedObject()])).to.deep.equal([]));

  it('are one that is explicitly to be deleted, whatever was said before', () => {
    const object = anObject({ ...annotated(RETAIN_ANNOTATION, 'true'), spec: { deletionPolicy: 'Delete' } });
    expect(profilesToDelete(teardown, [object])).to.deep.equal([object]);
  });

  it('are none as long as nothing is torn down', () => {
    expect(profilesToDelete({ cluster: deletedCluster, controlPlane }, [anObject()])).to.deep.equal([]);
  });
});
