import { expect } from 'chai';
import type { OwnerReference } from 'controller-runtime/schema';
import {
  DELETE_FOR_MOVE_ANNOTATION,
  FINALIZER,
  RECORD_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import { FIRST_RECORD, type ProfileRecord, formatRecord, recordOf } from '../../shared/record.ts';
import type { ReconcileInputs } from './inputs.ts';
import { isTrackedByArgoCD, metadataPatch, recordPatch, removeFinalizerPatch } from './metadata.ts';
import type { Goal } from './goal.ts';
import { newReason } from '../reasons/reasons.ts';
import {
  type ObjectParts,
  ABSENT,
  CREATION_FACTS,
  HERE,
  MOVED,
  FULL_RECORD,
  RECORDED,
  TARGET,
  aCluster,
  aDeletedObject,
  anObject,
  found,
  inputs,
} from '../testing/builders.ts';

type Annotations = Readonly<Record<string, string>>;

const PURSUE: Goal = {
  kind: 'pursue',
  target: TARGET,
  targetSource: 'controlPlane',
  creationFacts: CREATION_FACTS,
  unwanted: 'delete',
  isLeavingWithCluster: false,
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

const LEAVING = { cluster: found(aCluster({ metadata: { deletionTimestamp: '2026-11-21T03:00:00Z' } })) };
const RETAINED = { [RETAIN_ANNOTATION]: 'true' };
const recordFor = (record: Partial<ProfileRecord>, name = 'web'): Annotations => ({
  [RECORD_ANNOTATION]: formatRecord({ ...FIRST_RECORD, ...record }, anObject({ metadata: { name } })),
});
const BEGINNING = recordFor({});
/** An owner reference on which another client has set a field. */
const BLOCKING = { ...CLUSTER_OWNER, blockOwnerDeletion: true };
const STRANGERS: readonly OwnerReference[] = [
  { ...CLUSTER_OWNER, name: 'staging', uid: 'uid-of-staging' },
  { ...CLUSTER_OWNER, apiVersion: 'example.com/v1', uid: 'uid-of-theirs' },
  { ...CLUSTER_OWNER, kind: 'ClusterClass', uid: 'uid-of-class' },
];

interface Situation {
  readonly metadata?: ObjectParts['metadata'];
  readonly parts?: Omit<ObjectParts, 'metadata'>;
  readonly goal?: Goal;
  readonly given?: Partial<ReconcileInputs>;
}
const patchOf = ({ metadata, parts, goal = PURSUE, given }: Situation): unknown =>
  metadataPatch(inputs({ object: anObject({ ...parts, metadata: { ...COMPLETE, ...metadata } }), ...given }), goal);
const owners = (before: readonly OwnerReference[], given: Partial<ReconcileInputs> = {}): Situation => ({
  metadata: { ownerReferences: before },
  given,
});
const policy = (deletionPolicy: 'Retain' | 'Delete' | undefined, annotations: Annotations): Situation => ({
  metadata: { annotations },
  parts: { spec: deletionPolicy ? { deletionPolicy } : {} },
});
const tracked = (metadata: ObjectParts['metadata']): Situation => ({ metadata: { ownerReferences: [], ...metadata } });

const { clusterName: _cluster, ...SPEC_WITHOUT_CLUSTER } = anObject().spec;

describe('metadataPatch', () => {
  const tables: Readonly<Record<string, readonly (readonly [string, Situation, patch: object | undefined])[]>> = {
    'of an object': [
      ['whose metadata is complete', {}, undefined],
      [
        'that is new',
        { metadata: { finalizers: [], annotations: {}, labels: {}, ownerReferences: [] } },
        { finalizers: [FINALIZER], labels: LABELS, ownerReferences: [CLUSTER_OWNER], annotations: BEGINNING },
      ],
      [
        'that is a copy of another one, whose record counts for nothing',
        { metadata: { finalizers: [], annotations: recordFor(FULL_RECORD, 'api') } },
        { finalizers: [FINALIZER], annotations: BEGINNING },
      ],
      [
        'with a label that names another Cluster',
        { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'staging', theirs: 'x' } } },
        { labels: LABELS },
      ],
      [
        "with spec.eksCluster and a user's label, although a Cluster manages this EKS cluster",
        { given: { object: { ...anObject({ metadata: { labels: LABELS } }), spec: SPEC_WITHOUT_CLUSTER } } },
        undefined,
      ],
      [
        'that is being moved',
        { metadata: { finalizers: [], annotations: { [DELETE_FOR_MOVE_ANNOTATION]: '' } } },
        undefined,
      ],
      [
        'that is being deleted',
        { given: { object: aDeletedObject({ metadata: { finalizers: [] }, spec: { deletionPolicy: 'Retain' } }) } },
        undefined,
      ],
    ],
    'with the finalizer': [
      [
        'added to those of other clients',
        { metadata: { annotations: {}, finalizers: ['other'] } },
        { finalizers: ['other', FINALIZER], annotations: BEGINNING },
      ],
      ['there already, perhaps by a move, without "nowhere"', { metadata: { annotations: {} } }, undefined],
      [
        'added again beside a status, without "nowhere"',
        { metadata: { finalizers: [], annotations: {} }, parts: { status: RECORDED } },
        { finalizers: [FINALIZER] },
      ],
      [
        'added again beside a record, which stays as it is',
        { metadata: { finalizers: [] }, parts: MOVED },
        { finalizers: [FINALIZER] },
      ],
      ['not added on hold', { metadata: { finalizers: [], labels: {} }, goal: HOLD }, { labels: LABELS }],
      [
        'added on hold to an object whose status shows its place in AWS',
        { metadata: { finalizers: [] }, parts: { ...MOVED, status: RECORDED }, goal: HOLD },
        { finalizers: [FINALIZER] },
      ],
      [
        'not added on hold to a copy with a record and no status',
        { metadata: { finalizers: [] }, parts: MOVED, goal: HOLD },
        undefined,
      ],
      [
        'not added on hold to an object with Retain',
        {
          metadata: { finalizers: [], annotations: { [RETAIN_ANNOTATION]: 'true' } },
          parts: { spec: { deletionPolicy: 'Retain' }, status: RECORDED },
          goal: HOLD,
        },
        undefined,
      ],
      ['not removed on hold', { goal: HOLD }, undefined],
    ],
    'with an owner reference': [
      ['that is no controller reference', owners([]), { ownerReferences: [CLUSTER_OWNER] }],
      ['beside those of others', owners([OTHER_OWNER]), { ownerReferences: [OTHER_OWNER, CLUSTER_OWNER] }],
      [
        'with the new uid of a Cluster after a move, and all fields of other clients',
        owners([OTHER_OWNER, { ...BLOCKING, uid: 'uid-before' }]),
        { ownerReferences: [OTHER_OWNER, BLOCKING] },
      ],
      ['that has fields of other clients', owners([BLOCKING]), undefined],
      [
        'with the apiVersion in which Clusters are read',
        owners([{ ...CLUSTER_OWNER, apiVersion: 'cluster.x-k8s.io/v1beta1' }]),
        { ownerReferences: [CLUSTER_OWNER] },
      ],
      [
        'beside Clusters of another name, group or kind',
        owners(STRANGERS),
        { ownerReferences: [...STRANGERS, CLUSTER_OWNER] },
      ],
      ['unchanged without a Cluster', owners([CLUSTER_OWNER], { cluster: ABSENT }), undefined],
      ['not added without a Cluster', owners([], { cluster: ABSENT }), undefined],
      ['not added while the Cluster is being deleted', owners([], LEAVING), undefined],
    ],
    'without an owner reference for Argo CD, which could not prune then,': [
      [
        'not even an earlier one',
        tracked({
          ownerReferences: [OTHER_OWNER, CLUSTER_OWNER],
          annotations: { 'argocd.argoproj.io/tracking-id': 'x' },
        }),
        { ownerReferences: [OTHER_OWNER] },
      ],
      ['nor a new one', tracked({ annotations: { 'argocd.argoproj.io/tracking-id': 'app:…' } }), undefined],
    ],
    'with the annotation that mirrors deletionPolicy': [
      ['Retain', policy('Retain', { theirs: 'x' }), { annotations: RETAINED }],
      ['Retain, once', policy('Retain', RETAINED), undefined],
      ['Retain, whatever its value', policy('Retain', { [RETAIN_ANNOTATION]: 'yes' }), undefined],
      ['unchanged without a policy, which a CRD without the field drops', policy(undefined, RETAINED), undefined],
      ['Delete', policy('Delete', { ...RETAINED, theirs: 'x' }), { annotations: { [RETAIN_ANNOTATION]: null } }],
    ],
  };
  for (const [topic, rows] of Object.entries(tables))
    describe(topic, () => {
      for (const [what, situation, patch] of rows)
        it(what, () => expect(patchOf(situation)).to.deep.equal(patch && { metadata: patch }));
    });
});

it('metadataPatch writes no empty annotations', () => {
  const object = anObject({ metadata: COMPLETE });
  const { annotations: _none, ...metadata } = object.metadata;
  expect(metadataPatch(inputs({ object: { ...object, metadata } }), PURSUE)).to.equal(undefined);
});

describe('removeFinalizerPatch', () => {
  for (const [what, finalizers, patch] of [
    ['removes our finalizer', [FINALIZER], { finalizers: [] }],
    [
      'keeps the other finalizers, and records that this controller has deleted all of the object',
      ['other', FINALIZER],
      { finalizers: ['other'], annotations: recordFor({ in: HERE, deleting: true }) },
    ],
    ['is undefined without our finalizer', ['other'], undefined],
  ] as const)
    it(what, () => {
      const object = aDeletedObject({ metadata: { finalizers }, record: FULL_RECORD });
      expect(removeFinalizerPatch(object)).to.deep.equal(patch && { metadata: patch });
    });
});

describe('recordPatch', () => {
  const record: ProfileRecord = { ...FIRST_RECORD, ...FULL_RECORD };

  it('writes the record into its annotation, and leaves the others alone', () => {
    const object = anObject({ metadata: { annotations: { theirs: 'x' } } });
    expect(recordPatch(object, record)).to.deep.equal({ metadata: { annotations: recordFor(FULL_RECORD) } });
  });

  it('is undefined for the record that the object has', () => {
    expect(recordPatch(anObject({ record: FULL_RECORD }), recordOf(anObject({ record: FULL_RECORD })))).to.equal(
      undefined,
    );
  });
});

const instance = { 'app.kubernetes.io/instance': 'shop' };

describe('isTrackedByArgoCD', () => {
  const byArgoCD: Readonly<Record<string, Parameters<typeof isTrackedByArgoCD>[0]>> = {
    'the annotation of Argo CD': { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:…' } },
    'the label of Argo CD': { labels: { 'argocd.argoproj.io/instance': 'shop' } },
    'the label of label tracking': { labels: instance },
    'the label of label tracking, and managed by something other than Helm': {
      labels: { ...instance, 'app.kubernetes.io/managed-by': 'kustomize' },
    },
    'the annotation of Argo CD in an object of a Helm release': {
      annotations: { 'argocd.argoproj.io/tracking-id': 'shop:…', 'meta.helm.sh/release-name': 'shop' },
    },
  };
  for (const [what, metadata] of Object.entries(byArgoCD))
    it(`recognizes ${what}`, () => expect(isTrackedByArgoCD(metadata)).to.equal(true));

  const byOthers: Readonly<Record<string, Parameters<typeof isTrackedByArgoCD>[0]>> = {
    'an object without labels': {},
    'an object with other labels of Kubernetes': { labels: { 'app.kubernetes.io/name': 'shop' } },
    'an object of a Helm release, by its label': { labels: { ...instance, 'app.kubernetes.io/managed-by': 'Helm' } },
    'an object of a Helm release, by its annotation': {
      labels: instance,
      annotations: { 'meta.helm.sh/release-name': 'shop', 'meta.helm.sh/release-namespace': 'default' },
    },
  };
  for (const [what, metadata] of Object.entries(byOthers))
    it(`does not count ${what}`, () => expect(isTrackedByArgoCD(metadata)).to.equal(false));
});
