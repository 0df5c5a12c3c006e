import { expect } from 'chai';
import { EksClusterName } from '../../../api/names.ts';
import {
  DELETE_FOR_MOVE_ANNOTATION,
  DELETION_REQUESTED_ANNOTATION,
  FINALIZER,
  PAUSED_ANNOTATION,
  PROVISIONED_IN_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import type { ReconcileInputs } from './inputs.ts';
import type { Goal } from '../model/goal-kinds.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import { goalFor } from './goal.ts';
import {
  ABSENT,
  PROFILE,
  RECORDED,
  ROLE,
  found,
  aCluster,
  aControlPlane,
  aDeletedObject,
  anObject,
  inputs,
} from '../testing/builders.ts';

const DELETED_AT = '2026-11-21T03:00:00Z';
const leaving = { deletionTimestamp: DELETED_AT };
const UNKNOWN = { kind: 'unknown', reason: 'the kind is not served' } as const;

const annotated = (key: string, value = 'true') => ({ annotations: { [key]: value } });
const pausedCluster = found(aCluster({ paused: true }));
const deletedControlPlane = found(aControlPlane({ metadata: leaving }));
const movedControlPlane = found(
  aControlPlane({ metadata: { ...leaving, ...annotated(DELETE_FOR_MOVE_ANNOTATION, '') } }),
);

function wordOf(goal: Goal): string {
  switch (goal.kind) {
    case 'hold':
      return `hold: ${goal.reason.name}`;
    case 'paused':
      return `paused: ${goal.by.join(' and ')}`;
    case 'pursue': {
      const what = goal.controlPlaneFacts === undefined ? `nothing, ${goal.surplus} the rest` : 'all';
      const bar = goal.controlPlaneFacts?.creationBlocker;
      return bar === undefined ? `pursue ${what}` : `pursue ${what}, create nothing: ${bar.name}`;
    }
    default:
      return goal.kind;
  }
}

describe('goalFor', () => {
  const situations: readonly (readonly [situation: string, given: Partial<ReconcileInputs>, goal: string])[] = [
    ['Cluster and control plane are ready', {}, 'pursue all'],

    // Test cases with objects that `clusterctl move` has marked, or that are deleted without the finalizer.
    [
      'being moved away by clusterctl',
      { object: aDeletedObject({ metadata: annotated(DELETE_FOR_MOVE_ANNOTATION, '') }), cluster: pausedCluster },
      'ignore',
    ],
    [
      'being moved away by clusterctl, its Cluster already gone',
      { object: anObject({ metadata: annotated(DELETE_FOR_MOVE_ANNOTATION, '') }), cluster: ABSENT },
      'ignore',
    ],
    [
      'marked for a move that does not run any more',
      { object: anObject({ metadata: annotated(DELETE_FOR_MOVE_ANNOTATION, '') }) },
      'hold: MoveAbandoned',
    ],
    [
      'marked for a move that does not run any more, and deleted',
      { object: aDeletedObject({ metadata: annotated(DELETE_FOR_MOVE_ANNOTATION, '') }) },
      'hold: MoveAbandoned',
    ],
    [
      'being moved away, before it is deleted',
      { object: anObject({ metadata: annotated(DELETE_FOR_MOVE_ANNOTATION, '') }), cluster: pausedCluster },
      'ignore',
    ],
    ['deleted without our finalizer', { object: aDeletedObject({ metadata: { finalizers: ['other'] } }) }, 'ignore'],

    // Test cases with paused objects.
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

    // Test cases with objects that wait for their Cluster or control plane.
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
      'the control plane is an AWSManagedControlPlane of another API group',
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
    [
      'the Cluster names a control plane in another namespace',
      {
        cluster: found(
          aCluster({
            controlPlaneRef: {
              group: 'controlplane.cluster.x-k8s.io',
              kind: 'AWSManagedControlPlane',
              namespace: 'team-b',
              name: 'prod-control-plane',
            },
          }),
        ),
      },
      'hold: ControlPlaneElsewhere',
    ],
    ['there is no control plane', { controlPlane: ABSENT }, 'hold: WaitingForEKSControlPlane'],
    ['control planes cannot be read', { controlPlane: UNKNOWN }, 'hold: WaitingForAPI'],
    [
      'the control plane has no region yet',
      { controlPlane: found(withoutRegion()) },
      'hold: WaitingForEKSControlPlane',
    ],
    [
      'the control plane is not ready, and nothing was created',
      { controlPlane: found(aControlPlane({ ready: false })) },
      'hold: WaitingForEKSControlPlane',
    ],
    [
      'the control plane is not ready any more',
      { controlPlane: found(aControlPlane({ ready: false })), object: anObject({ status: RECORDED }) },
      'pursue all, create nothing: WaitingForEKSControlPlane',
    ],

    // Test cases with objects whose control plane names another region or EKS cluster than status records.
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

    // Test cases with objects whose Cluster or control plane is being deleted.
    [
      'the Cluster is being deleted, and nothing was created',
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
      'deletionPolicy Retain in a cluster that is being deleted',
      {
        controlPlane: deletedControlPlane,
        object: anObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
      },
      'pursue nothing, retain the rest',
    ],
    [
      'deletionPolicy Retain in a deleted Cluster whose workers are being drained',
      {
        cluster: found(aCluster({ metadata: leaving })),
        object: anObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
      },
      'pursue nothing, retain the rest',
    ],
    [
      'deletionPolicy Retain in a deleted Cluster whose workers are being drained, and nothing was created',
      { cluster: found(aCluster({ metadata: leaving })), object: anObject({ spec: { deletionPolicy: 'Retain' } }) },
      'hold: ClusterDeleting',
    ],
    [
      'deletionPolicy Retain in a cluster that is being moved away',
      {
        controlPlane: movedControlPlane,
        object: anObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
      },
      'pursue all, create nothing: ClusterDeleting',
    ],

    // Test cases with objects that are being deleted.
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
      'deleted with nothing created, Cluster and control plane gone',
      {
        object: aDeletedObject({ metadata: annotated(PROVISIONED_IN_ANNOTATION, 'nowhere') }),
        cluster: ABSENT,
        controlPlane: ABSENT,
      },
      'release',
    ],
    [
      'deleted with nothing created, the control plane exists',
      { object: aDeletedObject({ metadata: annotated(PROVISIONED_IN_ANNOTATION, 'nowhere') }) },
      'pursue nothing, delete the rest',
    ],
    [
      'deleted with nothing created, control planes unreadable',
      { object: aDeletedObject({ metadata: annotated(PROVISIONED_IN_ANNOTATION, 'nowhere') }), controlPlane: UNKNOWN },
      'hold: WaitingForAPI',
    ],
    [
      'deleted with nothing recorded, control planes unreadable',
      { object: aDeletedObject(), controlPlane: UNKNOWN },
      'hold: WaitingForAPI',
    ],

    // Test cases with objects that are being deleted with deletionPolicy Retain.
    ['deleted with Retain', { object: aDeletedObject({ spec: { deletionPolicy: 'Retain' } }) }, 'release'],
    [
      'deleted with Retain in the annotation alone, as after a CRD without deletionPolicy',
      { object: aDeletedObject({ metadata: annotated(RETAIN_ANNOTATION) }) },
      'release',
    ],
    [
      'deleted with Delete in the spec and Retain in the annotation',
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
      'deleted with Retain while Cluster API drains the workers of the deleted Cluster',
      {
        object: aDeletedObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
        cluster: found(aCluster({ metadata: leaving })),
      },
      'pursue nothing, retain the rest',
    ],
    [
      'deleted with Retain and with its Cluster, the control plane gone',
      {
        object: aDeletedObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
        cluster: found(aCluster({ metadata: leaving })),
        controlPlane: ABSENT,
      },
      'release',
    ],
    [
      'deleted with Retain and with its Cluster, control planes unreadable',
      {
        object: aDeletedObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
        cluster: found(aCluster({ metadata: leaving })),
        controlPlane: UNKNOWN,
      },
      'hold: WaitingForAPI',
    ],
    [
      'deleted with Retain while its Cluster exists, control planes unreadable',
      {
        object: aDeletedObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
        controlPlane: UNKNOWN,
      },
      'release',
    ],
    [
      'deleted with Retain, its Cluster and control plane being moved away',
      {
        object: aDeletedObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
        cluster: found(aCluster({ metadata: { ...leaving, ...annotated(DELETE_FOR_MOVE_ANNOTATION, '') } })),
      },
      'release',
    ],
    [
      'deleted with Retain in a cluster that is being moved away',
      {
        object: aDeletedObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED }),
        controlPlane: movedControlPlane,
      },
      'release',
    ],

    // Test cases with objects that `clusterctl move` has created in this management cluster.
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

  it('says how a user can end a deletion without a call to AWS', () => {
    const abandonment = (given: Partial<ReconcileInputs>): unknown => {
      const goal = goalFor(inputs({ object: aDeletedObject({ status: RECORDED }), ...given }));
      return goal.kind === 'pursue' ? goal.abandonment : goal;
    };
    expect(abandonment({})).to.equal('retain');
    expect(abandonment({ controlPlane: ABSENT })).to.equal('retain');
    expect(abandonment({ controlPlane: deletedControlPlane })).to.equal('removeFinalizer');
    expect(abandonment({ cluster: found(aCluster({ metadata: leaving })) })).to.equal('removeFinalizer');
    const object = anObject({ spec: { deletionPolicy: 'Retain' }, status: RECORDED });
    expect(abandonment({ object, controlPlane: deletedControlPlane })).to.equal('removeFinalizer');
    expect(abandonment({ object })).to.equal(undefined);
  });

  it('says whether a control plane that is or was ready names the target of a deletion', () => {
    const sourceFor = (given: Partial<ReconcileInputs>, status = {}): unknown => {
      const goal = goalFor(inputs({ object: aDeletedObject({ status }), ...given }));
      return goal.kind === 'pursue' ? goal.targetSource : goal;
    };
    const other = found(aControlPlane({ eksClusterName: EksClusterName.of('other') }));
    expect(sourceFor({})).to.equal('controlPlane');
    expect(sourceFor({}, RECORDED)).to.equal('controlPlane');
    expect(sourceFor({ controlPlane: deletedControlPlane }, RECORDED)).to.equal('controlPlane');
    expect(sourceFor({ controlPlane: found(aControlPlane({ ready: false })) }, RECORDED)).to.equal(
      'unreadyControlPlane',
    );
    expect(sourceFor({ controlPlane: other }, RECORDED)).to.equal('record');
    expect(sourceFor({ controlPlane: ABSENT }, RECORDED)).to.equal('record');
  });

  it('names a way out of an unknown target that helps, also in a cluster that is being deleted', () => {
    const held = (controlPlane: ReconcileInputs['controlPlane'], policy?: 'Retain'): unknown => {
      const object = aDeletedObject({
        metadata: { annotations: {} },
        ...(policy && { spec: { deletionPolicy: policy } }),
      });
      const goal = goalFor(inputs({ object, controlPlane }));
      return goal.kind === 'hold' ? goal.reason : goal.kind;
    };
    const missing = 'AWSManagedControlPlane team-a/prod-control-plane has no spec.region';
    const { region: _region, ...incomplete } = aControlPlane();
    const leavingWithoutRegion = found({ ...incomplete, metadata: { ...incomplete.metadata, ...leaving } });
    const cure = 'Set spec.region of AWSManagedControlPlane team-a/prod-control-plane';
    const facts = { missing, cure, provisionedIn: undefined, profile: PROFILE, role: ROLE };
    const stuck = newReason('TargetUnknown', { ...facts, abandonment: 'removeFinalizer' });
    expect(held(leavingWithoutRegion)).to.deep.equal(stuck);
    expect(held(leavingWithoutRegion, 'Retain'), 'Retain does not help').to.deep.equal(stuck);
    expect(messageOf(stuck)).to.contain(`remove ${FINALIZER} from metadata.finalizers`);
    expect(messageOf(stuck)).not.to.contain('Retain');
    expect(held(found(incomplete))).to.deep.equal(newReason('TargetUnknown', { ...facts, abandonment: 'retain' }));
    expect(held(found(incomplete), 'Retain')).to.equal('release');
  });

  it('names the object that it waits for', () => {
    const messageFor = (given: Partial<ReconcileInputs>): string => {
      const goal = goalFor(inputs(given));
      return goal.kind === 'hold' ? messageOf(goal.reason) : goal.kind;
    };
    expect(messageFor({ cluster: ABSENT })).to.equal(
      'Cluster team-a/prod (spec.clusterName) does not exist. The controller continues on its own when the Cluster exists. If spec.clusterName is wrong, delete this object and create it with the right name.',
    );
    expect(messageFor({ cluster: UNKNOWN })).to.equal(
      'The controller cannot read Cluster objects: the kind is not served. If this lasts for more than five minutes, check that the CRD of this kind is installed, and that the ServiceAccount of the manager may read objects of this kind. The controller retries on its own.',
    );
    expect(messageFor({ controlPlane: ABSENT })).to.equal(
      'AWSManagedControlPlane team-a/prod-control-plane does not exist yet. If this name is wrong, correct spec.controlPlaneRef of Cluster team-a/prod. The controller waits and then continues on its own.',
    );
    expect(messageFor({ controlPlane: found(aControlPlane({ ready: false })) })).to.equal(
      'AWSManagedControlPlane team-a/prod-control-plane is not ready yet. The controller waits and then continues on its own.',
    );
    expect(messageFor({ controlPlane: found(withoutRegion()) })).to.equal(
      'AWSManagedControlPlane team-a/prod-control-plane has no spec.region. Set it. The controller waits and then continues on its own.',
    );
  });
});

function withoutRegion() {
  const { region: _region, ...rest } = aControlPlane();
  return rest;
}
