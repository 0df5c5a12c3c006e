import { expect } from 'chai';
import { EksClusterName } from '../../api/names.ts';
import {
  DELETE_FOR_MOVE_ANNOTATION,
  DELETION_REQUESTED_ANNOTATION,
  PAUSED_ANNOTATION,
  PROVISIONED_IN_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../api/v1beta2/index.ts';
import type { Inputs } from './inputs.ts';
import type { Goal } from './model.ts';
import { messageOf } from './reasons.ts';
import { goalFor } from './target.ts';
import {
  ABSENT,
  RECORDED,
  found,
  aCluster,
  aControlPlane,
  aDeletedObject,
  anObject,
  inputs,
} from './testing/builders.ts';

const DELETED_AT = '2026-11-21T03:00:00Z';
const leaving = { deletionTimestamp: DELETED_AT };
const UNKNOWN = { kind: 'unknown', why: 'the kind is not served' } as const;

const annotated = (key: string, value = 'true') => ({ annotations: { [key]: value } });
const pausedCluster = found(aCluster({ paused: true }));
const deletedControlPlane = found(aControlPlane({ metadata: leaving }));
const movedControlPlane = found(
  aControlPlane({ metadata: { ...leaving, ...annotated(DELETE_FOR_MOVE_ANNOTATION, '') } }),
);

/** A goal in one word, with what tells it apart. */
function wordOf(goal: Goal): string {
  switch (goal.kind) {
    case 'hold':
      return `hold: ${goal.why.reason}`;
    case 'paused':
      return `paused: ${goal.by.join(' and ')}`;
    case 'pursue': {
      const what = goal.surroundings === undefined ? `nothing, ${goal.surplus} the rest` : 'all';
      const bar = goal.surroundings?.noCreation;
      return bar === undefined ? `pursue ${what}` : `pursue ${what}, create nothing: ${bar.reason}`;
    }
    default:
      return goal.kind;
  }
}

describe('goalFor', () => {
  const situations: readonly (readonly [situation: string, given: Partial<Inputs>, goal: string])[] = [
    ['all there and ready', {}, 'pursue all'],

    // Not ours to look after.
    [
      'being moved away by clusterctl',
      { object: aDeletedObject({ metadata: annotated(DELETE_FOR_MOVE_ANNOTATION, '') }) },
      'ignore',
    ],
    [
      'being moved away, before it is deleted',
      { object: anObject({ metadata: annotated(DELETE_FOR_MOVE_ANNOTATION, '') }) },
      'ignore',
    ],
    ['deleted without our finalizer', { object: aDeletedObject({ metadata: { finalizers: ['other'] } }) }, 'ignore'],

    // Paused, without exceptions.
    ['its Cluster is paused', { cluster: pausedCluster }, 'paused: Cluster spec.paused is set to true'],
    [
      'paused by annotation, whatever its value',
      { object: anObject({ metadata: annotated(PAUSED_ANNOTATION, 'false') }) },
      'paused: AWSFargateProfile has the cluster.x-k8s.io/paused annotation',
    ],
    [
      'paused by both',
      { cluster: pausedCluster, object: anObject({ metadata: annotated(PAUSED_ANNOTATION) }) },
      'paused: Cluster spec.paused is set to true and AWSFargateProfile has the cluster.x-k8s.io/paused annotation',
    ],
    [
      'deleted while its Cluster is paused',
      { cluster: pausedCluster, object: aDeletedObject() },
      'paused: Cluster spec.paused is set to true',
    ],
    [
      'deleted with Retain while its Cluster is paused',
      { cluster: pausedCluster, object: aDeletedObject({ spec: { deletionPolicy: 'Retain' } }) },
      'paused: Cluster spec.paused is set to true',
    ],

    // Waiting for Cluster and control plane.
    ['there is no Cluster', { cluster: ABSENT }, 'hold: WaitingForCluster'],
    ['Clusters cannot be read', { cluster: UNKNOWN }, 'hold: WaitingForAPI'],
    ['deleted while Clusters cannot be read', { cluster: UNKNOWN, object: aDeletedObject() }, 'hold: WaitingForAPI'],
    [
      'the Cluster names no control plane',
      { cluster: found({ paused: false, metadata: aCluster().metadata }), controlPlane: ABSENT },
      'hold: WaitingForEKSControlPlane',
    ],
    [
      'the control plane is of another kind',
      {
        cluster: found(
          aCluster({
            controlPlaneRef: {
              group: 'controlplane.cluster.x-k8s.io',
              kind: 'KubeadmControlPlane',
              namespace: 'team-a',
              name: 'kcp',
            },
          }),
        ),
        controlPlane: ABSENT,
      },
      'hold: ControlPlaneUnsupported',
    ],
    [
      'the control plane is of our kind in another group',
      {
        cluster: found(
          aCluster({
            controlPlaneRef: {
              group: 'example.com',
              kind: 'AWSManagedControlPlane',
              namespace: 'team-a',
              name: 'prod-control-plane',
            },
          }),
        ),
      },
      'hold: ControlPlaneUnsupported',
    ],
    ['there is no control plane', { controlPlane: ABSENT }, 'hold: WaitingForEKSControlPlane'],
    ['control planes cannot be read', { controlPlane: UNKNOWN }, 'hold: WaitingForAPI'],
    [
      'the control plane has no region yet',
      { controlPlane: found(withoutRegion()) },
      'hold: WaitingForEKSControlPlane',
    ],
    [
      'the control plane is not ready, and nothing was begun',
      { controlPlane: found(aControlPlane({ ready: false })) },
      'hold: WaitingForEKSControlPlane',
    ],
    [
      'the control plane is not ready any more',
      { controlPlane: found(aControlPlane({ ready: false })), object: anObject({ status: RECORDED }) },
      'pursue all, create nothing: WaitingForEKSControlPlane',
    ],

    // The target is what status says.
    [
      'the control plane names another region',
      { controlPlane: found(aControlPlane({ region: 'eu-north-1' })), object: anObject({ status: RECORDED }) },
      'hold: TargetChanged',
    ],
    [
      'the control plane names another EKS cluster',
      {
        controlPlane: found(aControlPlane({ eksClusterName: EksClusterName.of('other') })),
        object: anObject({ status: RECORDED }),
      },
      'hold: TargetChanged',
    ],

    // The cluster is being deleted.
    [
      'the Cluster is being deleted, and nothing was begun',
      { cluster: found(aCluster({ metadata: leaving })) },
      'hold: ClusterDeleting',
    ],
    [
      'the Cluster is being deleted',
      { cluster: found(aCluster({ metadata: leaving })), object: anObject({ status: RECORDED }) },
      'pursue all, create nothing: ClusterDeleting',
    ],
    [
      'the Cluster is being deleted, and its control plane is gone',
      { cluster: found(aCluster({ metadata: leaving })), controlPlane: ABSENT },
      'hold: ClusterDeleting',
    ],
    [
      'the control plane is being deleted',
      { controlPlane: deletedControlPlane, object: anObject({ status: RECORDED }) },
      'pursue all, create nothing: ClusterDeleting',
    ],
    [
      'applied again, without our finalizer, to a cluster that is being deleted',
      {
        controlPlane: deletedControlPlane,
        object: anObject({ metadata: { finalizers: [] }, status: RECORDED }),
      },
      'hold: ClusterDeleting',
    ],
    [
      'to be retained in a cluster that is being deleted',
      {
        controlPlane: deletedControlPlane,
        object: anObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
      },
      'pursue nothing, retain the rest',
    ],
    [
      'to be retained in a cluster that is being moved away',
      {
        controlPlane: movedControlPlane,
        object: anObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
      },
      'pursue all, create nothing: ClusterDeleting',
    ],

    // Deletion.
    ['deleted', { object: aDeletedObject({ status: RECORDED }) }, 'pursue nothing, delete the rest'],
    ['deleted before anything was recorded', { object: aDeletedObject() }, 'pursue nothing, delete the rest'],
    [
      'deleted with the control plane not ready',
      { object: aDeletedObject({ status: RECORDED }), controlPlane: found(aControlPlane({ ready: false })) },
      'pursue nothing, delete the rest',
    ],
    [
      'deleted with the control plane gone',
      { object: aDeletedObject({ status: RECORDED }), controlPlane: ABSENT },
      'pursue nothing, delete the rest',
    ],
    [
      'deleted with Cluster and control plane gone',
      { object: aDeletedObject({ status: RECORDED }), cluster: ABSENT, controlPlane: ABSENT },
      'pursue nothing, delete the rest',
    ],
    [
      'deleted with control planes unreadable',
      { object: aDeletedObject({ status: RECORDED }), controlPlane: UNKNOWN },
      'pursue nothing, delete the rest',
    ],
    [
      'deleted with nothing recorded, Cluster and control plane gone',
      { object: aDeletedObject({ metadata: { annotations: {} } }), cluster: ABSENT, controlPlane: ABSENT },
      'hold: TargetUnknown',
    ],
    [
      'deleted with nothing begun, Cluster and control plane gone',
      {
        object: aDeletedObject({ metadata: annotated(PROVISIONED_IN_ANNOTATION, 'nowhere') }),
        cluster: ABSENT,
        controlPlane: ABSENT,
      },
      'release',
    ],
    [
      'deleted with nothing begun, the control plane there',
      { object: aDeletedObject({ metadata: annotated(PROVISIONED_IN_ANNOTATION, 'nowhere') }) },
      'pursue nothing, delete the rest',
    ],
    [
      'deleted with nothing begun, control planes unreadable',
      { object: aDeletedObject({ metadata: annotated(PROVISIONED_IN_ANNOTATION, 'nowhere') }), controlPlane: UNKNOWN },
      'hold: WaitingForAPI',
    ],
    [
      'deleted with nothing recorded, control planes unreadable',
      { object: aDeletedObject(), controlPlane: UNKNOWN },
      'hold: WaitingForAPI',
    ],

    // Retain.
    ['deleted with Retain', { object: aDeletedObject({ spec: { deletionPolicy: 'Retain' } }) }, 'release'],
    [
      'deleted with Retain that another CRD has dropped',
      { object: aDeletedObject({ metadata: annotated(RETAIN_ANNOTATION) }) },
      'release',
    ],
    [
      'deleted with Delete, which overrules the annotation',
      { object: aDeletedObject({ spec: { deletionPolicy: 'Delete' }, metadata: annotated(RETAIN_ANNOTATION) }) },
      'pursue nothing, delete the rest',
    ],
    [
      'deleted with Retain, Cluster and control plane gone',
      { object: aDeletedObject({ spec: { deletionPolicy: 'Retain' } }), cluster: ABSENT, controlPlane: ABSENT },
      'release',
    ],
    [
      'deleted with Retain in a cluster that is being deleted',
      {
        object: aDeletedObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
        controlPlane: deletedControlPlane,
      },
      'pursue nothing, retain the rest',
    ],
    [
      'deleted with Retain in a cluster that is being moved away',
      {
        object: aDeletedObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
        controlPlane: movedControlPlane,
      },
      'release',
    ],

    // Moved here.
    [
      'moved here while it was being deleted',
      { object: anObject({ metadata: annotated(DELETION_REQUESTED_ANNOTATION) }) },
      'resumeDeletion',
    ],
    [
      'moved here while it was being deleted, its Cluster not here yet',
      { object: anObject({ metadata: annotated(DELETION_REQUESTED_ANNOTATION) }), cluster: ABSENT },
      'hold: WaitingForCluster',
    ],
    [
      'moved here while it was being deleted, its Cluster still paused',
      { object: anObject({ metadata: annotated(DELETION_REQUESTED_ANNOTATION) }), cluster: pausedCluster },
      'paused: Cluster spec.paused is set to true',
    ],
  ];

  for (const [situation, given, goal] of situations) {
    it(`${situation}: ${goal}`, () => expect(wordOf(goalFor(inputs(given)))).to.equal(goal));
  }

  it('knows whether Retain would let a deleted object go without a call to AWS', () => {
    const releasable = (given: Partial<Inputs>): unknown => {
      const goal = goalFor(inputs({ object: aDeletedObject({ status: RECORDED }), ...given }));
      return goal.kind === 'pursue' ? goal.releasable : goal;
    };
    expect(releasable({})).to.equal(true);
    expect(releasable({ controlPlane: ABSENT })).to.equal(true);
    expect(releasable({ controlPlane: deletedControlPlane })).to.equal(false);
  });

  it('says what it waits for', () => {
    const messageFor = (given: Partial<Inputs>): string => {
      const goal = goalFor(inputs(given));
      return goal.kind === 'hold' ? messageOf(goal.why) : goal.kind;
    };
    expect(messageFor({ cluster: ABSENT })).to.equal('Cluster team-a/prod does not exist yet');
    expect(messageFor({ cluster: UNKNOWN })).to.equal(
      'Cluster objects cannot be read: the kind is not served. It goes on by itself once they can.',
    );
    expect(messageFor({ controlPlane: ABSENT })).to.equal(
      'AWSManagedControlPlane team-a/prod-control-plane does not exist yet',
    );
    expect(messageFor({ controlPlane: found(aControlPlane({ ready: false })) })).to.equal(
      'AWSManagedControlPlane team-a/prod-control-plane is not ready yet',
    );
    expect(messageFor({ controlPlane: found(withoutRegion()) })).to.equal(
      'AWSManagedControlPlane team-a/prod-control-plane has no spec.region yet',
    );
  });
});

function withoutRegion() {
  const { region: _region, ...rest } = aControlPlane();
  return rest;
}
