import { expect } from 'chai';
import type { OwnerReference } from '../../api/meta.ts';
import { AccountId, EksClusterName } from '../../api/names.ts';
import {
  DELETION_REQUESTED_ANNOTATION,
  FINALIZER,
  PROVISIONED_IN_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../api/v1beta2/index.ts';
import type { Inputs } from './inputs.ts';
import { deletionMark, metadataPatch, releasePatch, whereaboutsMark } from './metadata.ts';
import type { Goal } from './model.ts';
import { why } from './reasons.ts';
import type { ObjectParts } from './testing/builders.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  SURROUNDINGS,
  TARGET,
  aCluster,
  aDeletedObject,
  anObject,
  inputs,
} from './testing/builders.ts';
import { NOWHERE, whereaboutsOf } from './whereabouts.ts';

const PURSUE: Goal = { kind: 'pursue', target: TARGET, surroundings: SURROUNDINGS, surplus: 'delete' };
const HOLD: Goal = { kind: 'hold', why: why('WaitingForCluster', { cluster: 'team-a/prod' }) };
const ABSENT = { kind: 'absent' } as const;

const CLUSTER_OWNER: OwnerReference = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  name: 'prod',
  uid: 'uid-of-prod',
};
const LABELS = { 'cluster.x-k8s.io/cluster-name': 'prod' };
const COMPLETE = { labels: LABELS, ownerReferences: [CLUSTER_OWNER] };
const OTHER_OWNER: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'uid-of-other' };

const patchOf = (parts: ObjectParts, goal: Goal = PURSUE, given: Partial<Inputs> = {}): unknown =>
  metadataPatch(inputs({ object: anObject(parts), ...given }), goal);

describe('metadataPatch', () => {
  it('is none where all is there', () => expect(patchOf({ metadata: COMPLETE })).to.equal(undefined));

  it('gives a new object finalizer, label and owner reference at once', () => {
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
    it('joins those of others', () => {
      expect(patchOf({ metadata: { ...COMPLETE, annotations: {}, finalizers: ['other'] } })).to.deep.equal({
        metadata: { finalizers: ['other', FINALIZER], annotations: { [PROVISIONED_IN_ANNOTATION]: NOWHERE } },
      });
    });

    it('that was put on by somebody else, or that a move brought along, says nothing of what was begun', () => {
      expect(patchOf({ metadata: { ...COMPLETE, annotations: {} } })).to.equal(undefined);
    });

    it('is put back without "nowhere" where status or annotation know better', () => {
      const lost = { ...COMPLETE, finalizers: [] };
      const status = { account: ACCOUNT, region: 'eu-west-1', eksClusterName: EKS_CLUSTER };
      const patch = { metadata: { finalizers: [FINALIZER] } };
      expect(patchOf({ metadata: { ...lost, annotations: {} }, status })).to.deep.equal(patch);
      const annotations = { [PROVISIONED_IN_ANNOTATION]: `${ACCOUNT}/eu-west-1/${EKS_CLUSTER}` };
      expect(patchOf({ metadata: { ...lost, annotations } })).to.deep.equal(patch);
    });

    it('is not given as long as there is nothing to pursue', () => {
      expect(patchOf({ metadata: { finalizers: [] } }, HOLD, { cluster: ABSENT })).to.deep.equal({
        metadata: { labels: LABELS },
      });
    });

    it('is not taken away by something to wait for', () => {
      expect(patchOf({ metadata: COMPLETE }, HOLD)).to.equal(undefined);
    });
  });

  describe('the owner reference', () => {
    const referencesAfter = (before: readonly OwnerReference[] | undefined, given: Partial<Inputs> = {}): unknown =>
      patchOf({ metadata: { labels: LABELS, ...(before && { ownerReferences: before }) } }, PURSUE, given);

    it('is put back when it got lost', () => {
      expect(referencesAfter([])).to.deep.equal({ metadata: { ownerReferences: [CLUSTER_OWNER] } });
    });

    it('joins those of others', () => {
      expect(referencesAfter([OTHER_OWNER])).to.deep.equal({
        metadata: { ownerReferences: [OTHER_OWNER, CLUSTER_OWNER] },
      });
    });

    it('follows a Cluster that was made anew, after a move', () => {
      expect(referencesAfter([{ ...CLUSTER_OWNER, uid: 'uid-before' }])).to.deep.equal({
        metadata: { ownerReferences: [CLUSTER_OWNER] },
      });
    });

    it('follows the version in which Clusters are read', () => {
      expect(referencesAfter([{ ...CLUSTER_OWNER, apiVersion: 'cluster.x-k8s.io/v1beta1' }])).to.deep.equal({
        metadata: { ownerReferences: [CLUSTER_OWNER] },
      });
    });

    it('keeps what others have set on it', () => {
      const blocking = { ...CLUSTER_OWNER, blockOwnerDeletion: true };
      expect(referencesAfter([blocking])).to.equal(undefined);
      expect(referencesAfter([{ ...blocking, uid: 'uid-before' }])).to.deep.equal({
        metadata: { ownerReferences: [blocking] },
      });
    });

    it('is that of the Cluster of our group and name alone', () => {
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

    it('is left as it is without a Cluster', () => {
      expect(referencesAfter([], { cluster: ABSENT })).to.equal(undefined);
      expect(referencesAfter([CLUSTER_OWNER], { cluster: ABSENT })).to.equal(undefined);
    });

    it('is not put back while the Cluster is being deleted, which would fight the garbage collector', () => {
      const cluster = aCluster({ metadata: { deletionTimestamp: '2026-11-21T03:00:00Z' } });
      expect(referencesAfter([], { cluster: { kind: 'found', object: cluster } })).to.equal(undefined);
    });

    const argo = [
      { annotations: { 'argocd.argoproj.io/tracking-id': 'app:infrastructure.cluster.x-k8s.io/AWSFargateProfile' } },
      { labels: { ...LABELS, 'argocd.argoproj.io/instance': 'app' } },
    ];
    for (const metadata of argo) {
      it(`is not given to what Argo CD tracks by ${Object.keys(metadata).join()}: it would never prune it`, () => {
        expect(patchOf({ metadata: { labels: LABELS, ...metadata } })).to.equal(undefined);
      });
    }
  });

  describe('the mirror of deletionPolicy Retain', () => {
    const mirrored = { [RETAIN_ANNOTATION]: 'true' };
    const annotationsAfter = (
      deletionPolicy: 'Retain' | 'Delete' | undefined,
      annotations: Readonly<Record<string, string>>,
    ): unknown => patchOf({ metadata: { ...COMPLETE, annotations }, spec: deletionPolicy ? { deletionPolicy } : {} });

    it('is written beside Retain', () => {
      expect(annotationsAfter('Retain', { theirs: 'x' })).to.deep.equal({ metadata: { annotations: mirrored } });
    });

    it('is written once', () => expect(annotationsAfter('Retain', mirrored)).to.equal(undefined));

    it('stays when the field is gone: a CRD that does not know it may have dropped it', () => {
      expect(annotationsAfter(undefined, mirrored)).to.equal(undefined);
    });

    it('goes with an explicit Delete alone', () => {
      expect(annotationsAfter('Delete', { ...mirrored, theirs: 'x' })).to.deep.equal({
        metadata: { annotations: { [RETAIN_ANNOTATION]: null } },
      });
    });
  });

  it('adds nothing to an object that is being deleted', () => {
    const object = aDeletedObject({ metadata: { finalizers: [] }, spec: { deletionPolicy: 'Retain' } });
    expect(metadataPatch(inputs({ object }), PURSUE)).to.equal(undefined);
  });

  it('corrects a label that names another cluster', () => {
    const labels = { 'cluster.x-k8s.io/cluster-name': 'staging', theirs: 'x' };
    expect(patchOf({ metadata: { ...COMPLETE, labels } })).to.deep.equal({ metadata: { labels: LABELS } });
  });
});

describe('releasePatch', () => {
  it('takes our finalizer and leaves those of others', () => {
    expect(releasePatch(aDeletedObject({ metadata: { finalizers: ['other', FINALIZER] } }))).to.deep.equal({
      metadata: { finalizers: ['other'] },
    });
  });

  it('is none where ours is not there', () => {
    expect(releasePatch(aDeletedObject({ metadata: { finalizers: ['other'] } }))).to.equal(undefined);
  });
});

describe('the marks of where the object is in AWS', () => {
  const where = { account: AccountId.of('123456789012'), region: 'eu-west-1', eksCluster: EksClusterName.of('prod') };
  const PLACE = '123456789012/eu-west-1/prod';
  const placed = { [PROVISIONED_IN_ANNOTATION]: PLACE };
  const marked = { ...placed, [DELETION_REQUESTED_ANNOTATION]: 'true' };
  const annotated = (annotations: Readonly<Record<string, string>>) => anObject({ metadata: { annotations } });

  it('say so, in an annotation, which a move keeps', () => {
    expect(whereaboutsMark(annotated({ theirs: 'x' }), where)).to.deep.equal({ metadata: { annotations: placed } });
    expect(deletionMark(annotated({ theirs: 'x' }), where)).to.deep.equal({ metadata: { annotations: marked } });
  });

  it('take the place of "nowhere", and of what somebody else wrote', () => {
    for (const before of [NOWHERE, 'x'])
      expect(whereaboutsMark(annotated({ [PROVISIONED_IN_ANNOTATION]: before }), where)).to.deep.equal({
        metadata: { annotations: placed },
      });
  });

  it('are written once', () => {
    expect(whereaboutsMark(annotated(placed), where)).to.equal(undefined);
    expect(deletionMark(annotated(marked), where)).to.equal(undefined);
  });

  it('are read as they were written', () => {
    expect(whereaboutsOf(annotated(marked))).to.deep.equal({ kind: 'somewhere', ...where });
  });
});
