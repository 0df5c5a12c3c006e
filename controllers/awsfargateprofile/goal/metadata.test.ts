import { expect } from 'chai';
import type { OwnerReference } from '../../../api/meta.ts';
import { AccountId, EksClusterName } from '../../../api/names.ts';
import {
  DELETION_REQUESTED_ANNOTATION,
  FINALIZER,
  PROVISIONED_IN_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import type { ReconcileInputs } from './inputs.ts';
import { deletionRequestedPatch, metadataPatch, removeFinalizerPatch, locationPatch } from './metadata.ts';
import type { Goal } from '../model/goal-kinds.ts';
import { newReason } from '../reasons/reasons.ts';
import type { ObjectParts } from '../testing/builders.ts';
import {
  ABSENT,
  CONTROL_PLANE_FACTS,
  MOVED,
  RECORDED,
  TARGET,
  aCluster,
  aDeletedObject,
  anObject,
  inputs,
} from '../testing/builders.ts';
import { NOWHERE, locationOf } from '../model/location.ts';

const PURSUE: Goal = {
  kind: 'pursue',
  target: TARGET,
  targetSource: 'controlPlane',
  controlPlaneFacts: CONTROL_PLANE_FACTS,
  surplus: 'delete',
};
const HOLD: Goal = { kind: 'hold', reason: newReason('WaitingForCluster', { cluster: 'team-a/prod' }) };

const CLUSTER_OWNER: OwnerReference = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  name: 'prod',
  uid: 'uid-of-prod',
};
const LABELS = { 'cluster.x-k8s.io/cluster-name': 'prod' };
const COMPLETE = { labels: LABELS, ownerReferences: [CLUSTER_OWNER] };
const OTHER_OWNER: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'uid-of-other' };

const patchOf = (parts: ObjectParts, goal: Goal = PURSUE, given: Partial<ReconcileInputs> = {}): unknown =>
  metadataPatch(inputs({ object: anObject(parts), ...given }), goal);

describe('metadataPatch', () => {
  it('gives an object whose deletion is resumed the finalizer, but not the mark that nothing was created', () => {
    const given: ObjectParts = { metadata: { ...COMPLETE, finalizers: ['other'], annotations: {} } };
    expect(patchOf(given, { kind: 'resumeDeletion' })).to.deep.equal({
      metadata: { finalizers: ['other', FINALIZER] },
    });
  });

  it('is undefined if the metadata is complete', () => expect(patchOf({ metadata: COMPLETE })).to.equal(undefined));

  it('gives a new object finalizer, label, owner reference and provisioned-in at once', () => {
    expect(patchOf({ metadata: { finalizers: [], annotations: {} } })).to.deep.equal({
      metadata: {
        finalizers: [FINALIZER],
        labels: LABELS,
        ownerReferences: [CLUSTER_OWNER],
        annotations: { [PROVISIONED_IN_ANNOTATION]: NOWHERE },
      },
    });
  });

  describe('the finalizer', () => {
    it('is added to those of other clients', () => {
      expect(patchOf({ metadata: { ...COMPLETE, annotations: {}, finalizers: ['other'] } })).to.deep.equal({
        metadata: { finalizers: ['other', FINALIZER], annotations: { [PROVISIONED_IN_ANNOTATION]: NOWHERE } },
      });
    });

    it('of another client or of a move does not get provisioned-in "nowhere"', () => {
      expect(patchOf({ metadata: { ...COMPLETE, annotations: {} } })).to.equal(undefined);
    });

    it('is added again without "nowhere" if status or annotation record a location', () => {
      const lost = { ...COMPLETE, finalizers: [] };
      const patch = { metadata: { finalizers: [FINALIZER] } };
      expect(patchOf({ metadata: { ...lost, annotations: {} }, status: RECORDED })).to.deep.equal(patch);
      expect(patchOf({ metadata: { ...lost, ...MOVED.metadata } })).to.deep.equal(patch);
    });

    it('is not added while the goal is to hold', () => {
      expect(patchOf({ metadata: { finalizers: [] } }, HOLD, { cluster: ABSENT })).to.deep.equal({
        metadata: { labels: LABELS },
      });
    });

    it('is not removed while the goal is to hold', () => {
      expect(patchOf({ metadata: COMPLETE }, HOLD)).to.equal(undefined);
    });
  });

  describe('the owner reference', () => {
    const referencesAfter = (
      before: readonly OwnerReference[] | undefined,
      given: Partial<ReconcileInputs> = {},
    ): unknown => patchOf({ metadata: { labels: LABELS, ...(before && { ownerReferences: before }) } }, PURSUE, given);

    it('is added again after its removal', () => {
      expect(referencesAfter([])).to.deep.equal({ metadata: { ownerReferences: [CLUSTER_OWNER] } });
    });

    it('is added to those of other clients', () => {
      expect(referencesAfter([OTHER_OWNER])).to.deep.equal({
        metadata: { ownerReferences: [OTHER_OWNER, CLUSTER_OWNER] },
      });
    });

    it('gets the new uid of a Cluster after a move', () => {
      expect(referencesAfter([{ ...CLUSTER_OWNER, uid: 'uid-before' }])).to.deep.equal({
        metadata: { ownerReferences: [CLUSTER_OWNER] },
      });
    });

    it('gets the apiVersion in which Clusters are read', () => {
      expect(referencesAfter([{ ...CLUSTER_OWNER, apiVersion: 'cluster.x-k8s.io/v1beta1' }])).to.deep.equal({
        metadata: { ownerReferences: [CLUSTER_OWNER] },
      });
    });

    it('keeps the fields that other clients have set', () => {
      const blocking = { ...CLUSTER_OWNER, blockOwnerDeletion: true };
      expect(referencesAfter([blocking])).to.equal(undefined);
      expect(referencesAfter([{ ...blocking, uid: 'uid-before' }])).to.deep.equal({
        metadata: { ownerReferences: [blocking] },
      });
    });

    it('does not replace references to a Cluster of another name, group or kind', () => {
      const strangers: readonly OwnerReference[] = [
        { ...CLUSTER_OWNER, name: 'staging', uid: 'uid-of-staging' },
        { ...CLUSTER_OWNER, apiVersion: 'example.com/v1', uid: 'uid-of-theirs' },
        { ...CLUSTER_OWNER, kind: 'ClusterClass', uid: 'uid-of-class' },
      ];
      expect(referencesAfter(strangers)).to.deep.equal({
        metadata: { ownerReferences: [...strangers, CLUSTER_OWNER] },
      });
    });

    it('is not a controller reference', () => {
      const patch = JSON.stringify(referencesAfter([]));
      expect(patch).not.to.include('controller');
    });

    it('does not change without a Cluster', () => {
      expect(referencesAfter([], { cluster: ABSENT })).to.equal(undefined);
      expect(referencesAfter([CLUSTER_OWNER], { cluster: ABSENT })).to.equal(undefined);
    });

    it('is not added while the Cluster is being deleted', () => {
      const cluster = aCluster({ metadata: { deletionTimestamp: '2026-11-21T03:00:00Z' } });
      expect(referencesAfter([], { cluster: { kind: 'found', object: cluster } })).to.equal(undefined);
    });

    const argo = [
      { annotations: { 'argocd.argoproj.io/tracking-id': 'app:infrastructure.cluster.x-k8s.io/AWSFargateProfile' } },
      { labels: { ...LABELS, 'argocd.argoproj.io/instance': 'app' } },
      { labels: { ...LABELS, 'app.kubernetes.io/instance': 'app' } },
    ];
    for (const metadata of argo) {
      it(`is not added to an object that Argo CD tracks by ${Object.keys(metadata).join()} and could not prune then`, () => {
        expect(patchOf({ metadata: { labels: LABELS, ...metadata } })).to.equal(undefined);
      });
    }
  });

  describe('the annotation that mirrors deletionPolicy Retain', () => {
    const mirrored = { [RETAIN_ANNOTATION]: 'true' };
    const annotationsAfter = (
      deletionPolicy: 'Retain' | 'Delete' | undefined,
      annotations: Readonly<Record<string, string>>,
    ): unknown => patchOf({ metadata: { ...COMPLETE, annotations }, spec: deletionPolicy ? { deletionPolicy } : {} });

    it('is added with deletionPolicy Retain', () => {
      expect(annotationsAfter('Retain', { theirs: 'x' })).to.deep.equal({ metadata: { annotations: mirrored } });
    });

    it('is not added twice', () => expect(annotationsAfter('Retain', mirrored)).to.equal(undefined));

    it('stays if the spec has no deletionPolicy, which a CRD without the field drops', () => {
      expect(annotationsAfter(undefined, mirrored)).to.equal(undefined);
    });

    it('is removed with an explicit deletionPolicy Delete', () => {
      expect(annotationsAfter('Delete', { ...mirrored, theirs: 'x' })).to.deep.equal({
        metadata: { annotations: { [RETAIN_ANNOTATION]: null } },
      });
    });
  });

  it('is undefined for an object that is being deleted', () => {
    const object = aDeletedObject({ metadata: { finalizers: [] }, spec: { deletionPolicy: 'Retain' } });
    expect(metadataPatch(inputs({ object }), PURSUE)).to.equal(undefined);
  });

  it('corrects a label with the name of another Cluster', () => {
    const labels = { 'cluster.x-k8s.io/cluster-name': 'staging', theirs: 'x' };
    expect(patchOf({ metadata: { ...COMPLETE, labels } })).to.deep.equal({ metadata: { labels: LABELS } });
  });
});

describe('removeFinalizerPatch', () => {
  it('removes our finalizer', () => {
    expect(removeFinalizerPatch(aDeletedObject({ metadata: { finalizers: [FINALIZER] } }))).to.deep.equal({
      metadata: { finalizers: [] },
    });
  });

  it('keeps the other finalizers, and records that the deletion has begun', () => {
    expect(removeFinalizerPatch(aDeletedObject({ metadata: { finalizers: ['other', FINALIZER] } }))).to.deep.equal({
      metadata: { finalizers: ['other'], annotations: { [DELETION_REQUESTED_ANNOTATION]: 'true' } },
    });
  });

  it('is undefined without our finalizer', () => {
    expect(removeFinalizerPatch(aDeletedObject({ metadata: { finalizers: ['other'] } }))).to.equal(undefined);
  });
});

describe('locationPatch and deletionRequestedPatch', () => {
  const where = { account: AccountId.of('123456789012'), region: 'eu-west-1', eksCluster: EksClusterName.of('prod') };
  const PLACE = '123456789012/eu-west-1/prod';
  const placed = { [PROVISIONED_IN_ANNOTATION]: PLACE };
  const marked = { ...placed, [DELETION_REQUESTED_ANNOTATION]: 'true' };
  const annotated = (annotations: Readonly<Record<string, string>>) => anObject({ metadata: { annotations } });

  it('record the location in an annotation', () => {
    expect(locationPatch(annotated({ theirs: 'x' }), where)).to.deep.equal({ metadata: { annotations: placed } });
    expect(deletionRequestedPatch(annotated({ theirs: 'x' }), where)).to.deep.equal({
      metadata: { annotations: marked },
    });
  });

  it('replace "nowhere" and invalid values', () => {
    for (const before of [NOWHERE, 'x'])
      expect(locationPatch(annotated({ [PROVISIONED_IN_ANNOTATION]: before }), where)).to.deep.equal({
        metadata: { annotations: placed },
      });
  });

  it('are undefined if the annotations are complete', () => {
    expect(locationPatch(annotated(placed), where)).to.equal(undefined);
    expect(deletionRequestedPatch(annotated(marked), where)).to.equal(undefined);
  });

  it('write a location that locationOf reads', () => {
    expect(locationOf(annotated(marked))).to.deep.equal({ kind: 'known', ...where });
  });
});
