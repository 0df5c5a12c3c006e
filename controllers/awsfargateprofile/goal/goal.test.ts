import { expect } from 'chai';
import { EksClusterName, RoleName } from '../../../api/names.ts';
import {
  type AWSFargateProfile,
  DELETE_FOR_MOVE_ANNOTATION,
  FINALIZER,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import type { AWSManagedControlPlane } from '../../../api/external/index.ts';
import type { RecordedRole } from '../../shared/record.ts';
import type { NamedEksCluster, ReconcileInputs } from './inputs.ts';
import { type Goal, goalFor } from './goal.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import {
  ABSENT,
  EKS_CLUSTER,
  MOVED,
  FULL_RECORD,
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

type Given = Partial<ReconcileInputs>;
type Reference = NonNullable<ReturnType<typeof aCluster>['controlPlaneRef']>;

const leaving = { deletionTimestamp: '2026-11-21T03:00:00Z' };
const UNKNOWN = { kind: 'unknown', reason: 'the kind is not served' } as const;
const marked = (key: string, value = 'true') => ({ metadata: { annotations: { [key]: value } } });
const MOVING = marked(DELETE_FOR_MOVE_ANNOTATION, '');
const PAUSED_MOVING = { metadata: { annotations: { ...MOVING.metadata.annotations, [PAUSED_ANNOTATION]: '' } } };
const movedAway = { metadata: { ...leaving, ...MOVING.metadata } };
const withPlane = (over: Parameters<typeof aControlPlane>[0]): Given => ({ controlPlane: found(aControlPlane(over)) });
const { region: _region, ...PLANE_WITHOUT_REGION } = aControlPlane();
const withoutRegion = (over: Partial<AWSManagedControlPlane['metadata']> = {}): Given => ({
  controlPlane: found({ ...PLANE_WITHOUT_REGION, metadata: { ...PLANE_WITHOUT_REGION.metadata, ...over } }),
});
const referring = (over: Partial<Reference>): Given => {
  const { controlPlaneRef } = aCluster();
  return { cluster: found(aCluster({ controlPlaneRef: { ...(controlPlaneRef as Reference), ...over } })) };
};

const noPlane = { controlPlane: ABSENT };
const unknownPlane = { controlPlane: UNKNOWN };
const notReady = withPlane({ ready: false });
const inOtherRegion = withPlane({ region: 'eu-north-1' });
const ofOtherName = withPlane({ eksClusterName: EksClusterName.of('other') });
const leavingPlane = withPlane({ metadata: leaving });
const movedPlane = withPlane(movedAway);
const noCluster = { cluster: ABSENT };
const unknownCluster = { cluster: UNKNOWN };
const paused = { cluster: found(aCluster({ paused: true })) };
const leavingCluster = { cluster: found(aCluster({ metadata: leaving })) };
const movedCluster = { cluster: found(aCluster(movedAway)) };
const withoutCluster = (object: AWSFargateProfile): AWSFargateProfile => {
  const { clusterName: _cluster, ...spec } = object.spec;
  return { ...object, spec };
};
const EXCESS = [{ field: 'spec.eksCluster', value: EKS_CLUSTER, allowed: [] }];
const NAMED = { name: EKS_CLUSTER, region: 'eu-west-1', identity: undefined, excess: [], inAccounts: [] };
const ALONE = { cluster: { kind: 'none' } } as const;
/** The inputs for an object with spec.eksCluster, if no control plane manages this EKS cluster. */
const inEks = ({ object }: { object: AWSFargateProfile }, over: Partial<NamedEksCluster> = {}): Given => ({
  object: withoutCluster(object),
  eksCluster: { ...NAMED, ...over },
  ...ALONE,
  ...noPlane,
});
const MANAGED = { cluster: found(aCluster()), controlPlane: found(aControlPlane()) };
const nothingLeft = { ...noCluster, ...noPlane };

/**
 * `unbegun` has nothing in AWS, `unrecorded` has no record, and the others have a profile in AWS. Except in names with
 * `retained`, deletionPolicy is Delete.
 */
const RETAIN = { spec: { deletionPolicy: 'Retain' } } as const;
const live = { object: anObject() };
const begun = { object: anObject({ record: FULL_RECORD }) };
const retained = { object: anObject({ ...RETAIN, record: FULL_RECORD }) };
const retainedAgain = { object: anObject({ ...RETAIN, record: FULL_RECORD, metadata: { finalizers: [] } }) };
const deleted = { object: aDeletedObject({ record: FULL_RECORD }) };
const deletedRetained = { object: aDeletedObject({ ...RETAIN, record: FULL_RECORD }) };
const unbegun = { object: aDeletedObject() };
const unrecorded = { object: aDeletedObject({ metadata: { annotations: {} } }) };
const DELETING_RECORD = { ...FULL_RECORD, deleting: true } as const;
const resumed = { object: anObject({ record: DELETING_RECORD }) };
/** The parts of an object that has lost its record, so that only status says where its profile is. */
const noteless = { metadata: { annotations: {} }, status: RECORDED };
const unreadable = (parts = {}) => ({ ...marked(RECORD_ANNOTATION, '{"v":2}'), ...parts });

function wordOf(goal: Goal): string {
  switch (goal.kind) {
    case 'hold':
      return `hold: ${goal.reason.name}`;
    case 'paused':
      return `paused: ${goal.by.join(', ')}`;
    case 'pursue': {
      const what = goal.creationFacts === undefined ? `nothing, ${goal.unwanted} the rest` : 'all';
      const where = goal.target.region === RECORDED.region ? '' : ` in ${goal.target.region}`;
      const bar = goal.creationFacts?.creationBlocker;
      return `pursue ${what}${where}${bar === undefined ? '' : `, create nothing: ${bar.name}`}`;
    }
    default:
      return goal.kind;
  }
}

const DELETE = 'pursue nothing, delete the rest';
const KEEP = 'pursue nothing, retain the rest';
const NOTHING_NEW = 'pursue all, create nothing: ClusterDeleting';
const BY_CLUSTER = 'paused: Cluster spec.paused is set to true';
const BY_OBJECT = 'AWSFargateProfile has the cluster.x-k8s.io/paused annotation';
const PAUSED = marked(PAUSED_ANNOTATION, 'false');

const TABLES: Readonly<Record<string, readonly (readonly [situation: string, given: Given, goal: string])[]>> = {
  'for an object that clusterctl moves or another controller holds': [
    ['moved away', { object: aDeletedObject(MOVING), ...paused }, 'ignore'],
    ['moved away, before it is deleted', { object: anObject(MOVING), ...paused }, 'ignore'],
    ['moved away, its Cluster already gone', { object: anObject(MOVING), ...noCluster }, 'ignore'],
    ['marked for a move that does not run any more', { object: anObject(MOVING) }, 'hold: MoveAbandoned'],
    ['the same, and deleted', { object: aDeletedObject(MOVING) }, 'hold: MoveAbandoned'],
    ['moved away with its Cluster', { object: anObject(MOVING), cluster: found(aCluster(MOVING)) }, 'ignore'],
    ['marked for a move, without a Cluster', { object: anObject(MOVING), ...ALONE }, 'hold: MoveAbandoned'],
    ['the same, and deleted by clusterctl', { object: aDeletedObject(MOVING), ...ALONE }, 'ignore'],
    ['the same, while it is paused', { object: anObject(PAUSED_MOVING), ...ALONE }, 'ignore'],
    ['deleted without our finalizer', { object: aDeletedObject({ metadata: { finalizers: ['other'] } }) }, 'ignore'],
    ['moved here while it was being deleted, which only AWS can confirm', resumed, 'pursue all'],
    ['the same, its Cluster not here yet', { ...resumed, ...noCluster }, 'hold: WaitingForCluster'],
    ['moved here without status', { object: anObject(MOVED) }, 'pursue all'],
  ],
  'for an object that is paused': [
    ['by its Cluster', paused, BY_CLUSTER],
    ['by its annotation, whatever its value', { object: anObject(PAUSED) }, `paused: ${BY_OBJECT}`],
    ['by both', { ...paused, object: anObject(PAUSED) }, `${BY_CLUSTER}, ${BY_OBJECT}`],
    ['and deleted', { ...deleted, ...paused }, BY_CLUSTER],
    ['and deleted with Retain', { ...deletedRetained, ...paused }, BY_CLUSTER],
    ['and was moved here while it was being deleted', { ...resumed, ...paused }, BY_CLUSTER],
    ['and has a record that cannot be read', { object: anObject(unreadable()), ...paused }, BY_CLUSTER],
  ],
  'for an object whose record': [
    ['cannot be read', { object: anObject(unreadable({ status: RECORDED })) }, 'hold: RecordUnreadable'],
    ['cannot be read, and that is deleted', { object: aDeletedObject(unreadable()) }, 'hold: RecordUnreadable'],
    [
      'cannot be read, and that is deleted in a cluster that is being deleted',
      { object: aDeletedObject(unreadable()), ...leavingPlane },
      'hold: RecordUnreadable',
    ],
    [
      'cannot be read, and that is deleted with Retain, which changes nothing in AWS',
      { object: aDeletedObject(unreadable(RETAIN)) },
      'release',
    ],
    ['is lost', { object: anObject(noteless) }, 'pursue all'],
    [
      'is lost, and whose control plane now names another region, because whoever removes it says that nothing is left there',
      { object: anObject(noteless), ...inOtherRegion },
      'pursue all in eu-north-1',
    ],
    [
      'is that of another object of which it is a copy',
      { object: { ...begun.object, metadata: { ...begun.object.metadata, name: 'copy' } }, ...inOtherRegion },
      'pursue all in eu-north-1',
    ],
    ['is lost, and that is deleted', { object: aDeletedObject(noteless) }, DELETE],
    [
      'is lost, and that is deleted with the control plane gone',
      { object: aDeletedObject(noteless), ...noPlane },
      DELETE,
    ],
  ],
  'for an object with': [
    ['Cluster and control plane ready', {}, 'pursue all'],
    ['no Cluster', noCluster, 'hold: WaitingForCluster'],
    ['Clusters unreadable', unknownCluster, 'hold: WaitingForAPI'],
    [
      'a Cluster that names no control plane',
      { cluster: found({ paused: false, metadata: aCluster().metadata }), ...noPlane },
      'hold: WaitingForEKSControlPlane',
    ],
    ['another kind of control plane', referring({ kind: 'KubeadmControlPlane' }), 'hold: ControlPlaneUnsupported'],
    ['a control plane of another API group', referring({ group: 'example.com' }), 'hold: ControlPlaneUnsupported'],
    ['a control plane in another namespace', referring({ namespace: 'team-b' }), 'hold: ControlPlaneElsewhere'],
    ['no control plane', noPlane, 'hold: WaitingForEKSControlPlane'],
    ['control planes unreadable', unknownPlane, 'hold: WaitingForAPI'],
    ['a control plane without region', withoutRegion(), 'hold: WaitingForEKSControlPlane'],
    ['a control plane that is not ready yet', notReady, 'hold: WaitingForEKSControlPlane'],
    [
      'a control plane that is not ready any more',
      { ...notReady, ...begun },
      'pursue all, create nothing: WaitingForEKSControlPlane',
    ],
    ['a control plane that names another region', { ...inOtherRegion, ...begun }, 'hold: TargetChanged'],
    ['the same, before anything was recorded', inOtherRegion, 'pursue all in eu-north-1'],
    ['a control plane that names another EKS cluster', { ...ofOtherName, ...begun }, 'hold: TargetChanged'],
  ],
  'for an object with an EKS cluster in the spec': [
    ['that is allowed', inEks(live), 'pursue all'],
    ['that is allowed, with a profile there', inEks(begun), 'pursue all'],
    ['without a region', inEks(live, { region: undefined }), 'hold: RegionUnknown'],
    ['that is not allowed', inEks(begun, { excess: EXCESS }), 'hold: NotAllowedByOperator'],
    ['that a control plane manages', { ...inEks(live), ...MANAGED }, 'hold: UseClusterName'],
    ['that a control plane manages only now', { ...inEks(begun), ...MANAGED }, 'pursue all'],
    ['that a control plane without a Cluster manages', { ...inEks(begun), ...MANAGED, ...ALONE }, 'pursue all'],
    ['whose control plane is deleted', { ...inEks(begun), ...MANAGED, ...leavingPlane }, NOTHING_NEW],
    ['whose Cluster is deleted', { ...inEks(begun), ...MANAGED, ...leavingCluster }, NOTHING_NEW],
    [
      'that the spec has lost, although the record still leads to its Cluster',
      { object: withoutCluster(begun.object) },
      'hold: ClusterNotNamed',
    ],
    ['that is allowed, and deleted', inEks(deleted), DELETE],
    ['that is allowed, and deleted without a record', inEks(unrecorded), DELETE],
    ['that is not allowed, and deleted without a record', inEks(unrecorded, { excess: EXCESS }), 'hold: TargetUnknown'],
  ],
  'in a cluster that is being deleted, for an object': [
    ['for which nothing was created', leavingCluster, 'hold: ClusterDeleting'],
    ['for which something was created', { ...leavingCluster, ...begun }, NOTHING_NEW],
    ['whose control plane is gone', { ...leavingCluster, ...noPlane }, 'hold: ClusterDeleting'],
    ['whose control plane is deleted', { ...leavingPlane, ...begun }, NOTHING_NEW],
    [
      'whose finalizer another client has removed',
      { ...leavingPlane, object: anObject({ metadata: { finalizers: [] }, record: FULL_RECORD, status: RECORDED }) },
      NOTHING_NEW,
    ],
    [
      'applied again with its record, without our finalizer',
      { ...leavingPlane, object: anObject({ metadata: { finalizers: [] }, record: FULL_RECORD }) },
      'hold: ClusterDeleting',
    ],
    [
      'applied again, without our finalizer',
      { ...leavingPlane, object: anObject({ metadata: { finalizers: [] } }) },
      'hold: ClusterDeleting',
    ],
    [
      'restored without our finalizer while it was being deleted',
      { ...leavingPlane, object: anObject({ metadata: { finalizers: [] }, record: DELETING_RECORD }) },
      NOTHING_NEW,
    ],
    ['with Retain', { ...leavingPlane, ...retained }, KEEP],
    ['with Retain, while its workers are drained', { ...leavingCluster, ...retained }, KEEP],
    ['with Retain, applied again without finalizer', { ...leavingCluster, ...retainedAgain }, 'hold: ClusterDeleting'],
    ['with Retain, and nothing created', { ...leavingCluster, object: anObject(RETAIN) }, 'hold: ClusterDeleting'],
    ['with Retain, the cluster moved away', { ...movedPlane, ...retained }, NOTHING_NEW],
  ],
  'for a deleted object': [
    ['with a record', deleted, DELETE],
    [
      'with a record that neither status nor the control plane confirms',
      {
        ...inOtherRegion,
        object: aDeletedObject({ record: FULL_RECORD, status: { ...RECORDED, region: 'eu-north-1' } }),
      },
      'hold: RecordUnreadable',
    ],
    [
      'with a record that the control plane confirms, and status does not',
      { object: aDeletedObject({ record: FULL_RECORD, status: { ...RECORDED, region: 'eu-north-1' } }) },
      DELETE,
    ],
    [
      'with nothing created by the record, but a profile by status, Cluster and control plane gone',
      { object: aDeletedObject({ status: { ...RECORDED, profileARN: 'arn' } }), ...nothingLeft },
      'hold: TargetUnknown',
    ],
    ['for which nothing was created', unbegun, DELETE],
    ['with the control plane not ready', { ...deleted, ...notReady }, DELETE],
    ['with the control plane gone', { ...deleted, ...noPlane }, DELETE],
    ['with Cluster and control plane gone', { ...deleted, ...nothingLeft }, DELETE],
    ['with control planes unreadable', { ...deleted, ...unknownPlane }, DELETE],
    ['with Clusters unreadable', { ...unknownCluster, ...unbegun }, 'hold: WaitingForAPI'],
    ['with nothing recorded', { ...unrecorded, ...nothingLeft }, 'hold: TargetUnknown'],
    ['with nothing recorded, in another region', { ...unrecorded, ...inOtherRegion }, `${DELETE} in eu-north-1`],
    ['with nothing created, Cluster and control plane gone', { ...unbegun, ...nothingLeft }, 'release'],
    ['with nothing created, control planes unreadable', { ...unbegun, ...unknownPlane }, 'hold: WaitingForAPI'],
  ],
  'for an object that is deleted with Retain': [
    ['alone', { object: aDeletedObject(RETAIN) }, 'release'],
    [
      'in the annotation alone, as after a CRD without deletionPolicy',
      { object: aDeletedObject(marked(RETAIN_ANNOTATION)) },
      'release',
    ],
    [
      'in the annotation, but with Delete in the spec',
      { object: aDeletedObject({ ...marked(RETAIN_ANNOTATION), spec: { deletionPolicy: 'Delete' } }) },
      DELETE,
    ],
    ['with Cluster and control plane gone', { object: aDeletedObject(RETAIN), ...nothingLeft }, 'release'],
    ['in a cluster that is being deleted', { ...deletedRetained, ...leavingPlane }, KEEP],
    ['while the workers of the deleted Cluster are drained', { ...deletedRetained, ...leavingCluster }, KEEP],
    ['in a namespace that is being deleted', { ...deletedRetained, isNamespaceTerminating: true }, KEEP],
    ['with its Cluster, the control plane gone', { ...deletedRetained, ...leavingCluster, ...noPlane }, 'release'],
    [
      'with its Cluster, control planes unreadable',
      { ...deletedRetained, ...leavingCluster, ...unknownPlane },
      'hold: WaitingForAPI',
    ],
    ['while its Cluster exists, control planes unreadable', { ...deletedRetained, ...unknownPlane }, 'release'],
    ['its Cluster gone, control planes unreadable', { ...deletedRetained, ...noCluster, ...unknownPlane }, 'release'],
    ['its Cluster being moved away', { ...deletedRetained, ...movedCluster }, 'release'],
    ['its control plane being moved away', { ...deletedRetained, ...movedPlane }, 'release'],
  ],
};

describe('goalFor', () => {
  for (const [topic, rows] of Object.entries(TABLES))
    describe(topic, () => {
      for (const [situation, given, goal] of rows)
        it(`${situation}: ${goal}`, () => expect(wordOf(goalFor(inputs(given)))).to.equal(goal));
    });

  const pursued = (given: Given) => {
    const goal = goalFor(inputs(given));
    return goal.kind === 'pursue' ? goal : expect.fail(wordOf(goal));
  };

  const reasonOf = (given: Given): unknown => {
    const goal = goalFor(inputs(given));
    return goal.kind === 'hold' ? goal.reason : goal.kind;
  };

  it('waits a while for a Cluster that has vanished, unless nothing changes in AWS anyway', () => {
    expect(wordOf(goalFor(inputs(deleted), 1_000))).to.equal('hold: ClusterVanished');
    expect(wordOf(goalFor(inputs({ ...unbegun, ...nothingLeft }), 1_000))).to.equal('release');
  });

  const recorded = { region: 'eu-west-1', name: EKS_CLUSTER };
  const [north, other] = ['eu-north-1', EksClusterName.of('other')];
  const ofObject = (field: 'region' | 'name', value: string) => ({
    field: `spec.eksCluster.${field}`,
    recorded: recorded[field],
    found: value,
    isOfObject: true,
  });
  const controlPlane = 'team-a/prod-control-plane';
  for (const [what, given, facts] of [
    ['which Cluster a move has left here', { object: anObject(MOVING) }, { cluster: 'team-a/prod' }],
    [
      'which Cluster to use instead of spec.eksCluster',
      { ...inEks(live), ...MANAGED },
      { eksCluster: EKS_CLUSTER, controlPlane, cluster: 'prod' },
    ],
    [
      'where the profile is if the spec names no cluster',
      { object: withoutCluster(begun.object), ...ALONE, ...noPlane },
      { provisionedIn: '111122223333/eu-west-1/team-a_prod-control-plane' },
    ],
    [
      'that the region of the control plane has changed',
      { ...begun, ...inOtherRegion },
      { field: 'spec.region', recorded: recorded.region, found: north },
    ],
    [
      'that the name in the control plane has changed',
      { ...begun, ...ofOtherName },
      { field: 'spec.eksClusterName', recorded: recorded.name, found: other },
    ],
    ['that the region of the object has changed', inEks(begun, { region: north }), ofObject('region', north)],
    ['that the EKS cluster of the object has changed', inEks(begun, { name: other }), ofObject('name', other)],
  ] as const)
    it(`says ${what}`, () => expect(reasonOf(given)).to.have.property('facts').that.deep.equals(facts));

  it('says how a user can end a deletion without a call to AWS', () => {
    for (const [given, abandonment] of [
      [deleted, 'retain'],
      [{ ...deleted, ...noPlane }, 'retain'],
      [{ ...deleted, ...leavingPlane }, 'removeFinalizer'],
      [{ ...deleted, ...leavingCluster }, 'removeFinalizer'],
      [{ ...retained, ...leavingPlane }, 'removeFinalizer'],
      [retained, undefined],
    ] as const)
      expect(pursued(given).abandonment).to.equal(abandonment);
  });

  it('says whether a control plane that is or was ready names the target of a deletion', () => {
    for (const [given, source] of [
      [unbegun, 'controlPlane'],
      [deleted, 'controlPlane'],
      [{ ...deleted, ...leavingPlane }, 'controlPlane'],
      [{ ...deleted, ...notReady }, 'unreadyControlPlane'],
      [{ ...deleted, ...ofOtherName }, 'record'],
      [{ ...deleted, ...noPlane }, 'record'],
      [inEks(deleted), 'controlPlane'],
      [inEks(deleted, { excess: EXCESS }), 'unreadyControlPlane'],
      [inEks(deleted, { region: 'eu-north-1' }), 'record'],
    ] as const)
      expect(pursued(given).targetSource).to.equal(source);
  });

  it('names a way out of an unknown target that helps, also in a cluster that is being deleted', () => {
    const plane = 'AWSManagedControlPlane team-a/prod-control-plane';
    const [missing, remedy] = [`${plane} has no spec.region`, `Set spec.region of ${plane}`];
    const facts = { missing, remedy, profile: PROFILE, role: ROLE };
    const stuck = newReason('TargetUnknown', { ...facts, abandonment: 'removeFinalizer' });
    const stuckRetained = { object: aDeletedObject({ ...RETAIN, metadata: { annotations: {} } }) };
    expect(reasonOf({ ...unrecorded, ...withoutRegion(leaving) })).to.deep.equal(stuck);
    expect(reasonOf({ ...stuckRetained, ...withoutRegion(leaving) }), 'Retain does not help').to.deep.equal(stuck);
    expect(messageOf(stuck)).to.contain(`remove ${FINALIZER} from metadata.finalizers`).and.not.to.contain('Retain');
    expect(reasonOf({ ...unrecorded, ...withoutRegion() })).to.deep.equal(
      newReason('TargetUnknown', { ...facts, abandonment: 'retain' }),
    );
    expect(reasonOf({ ...stuckRetained, ...withoutRegion() })).to.equal('release');
    const withRole = (role: Partial<RecordedRole>) => {
      const record = { in: { kind: 'unknown' }, roles: [{ name: RoleName.of('pods'), ...role }] } as const;
      return reasonOf({ object: aDeletedObject({ record }), ...noPlane });
    };
    expect(withRole({})).to.have.nested.property('facts.role', 'pods');
    expect(withRole({ managed: false })).to.have.nested.property('facts.role', undefined);
    expect(reasonOf({ ...unrecorded, ...noPlane })).to.have.nested.include({
      'facts.missing': `${plane} of Cluster team-a/prod does not exist`,
      'facts.remedy': `Restore ${plane}`,
    });
    for (const [given, lacking] of [
      [inEks(unrecorded, { region: undefined }), 'spec.eksCluster.region is not set'],
      [inEks(unrecorded, { excess: EXCESS }), "the manager's administrator does not allow EKS cluster"],
      [{ object: withoutCluster(unrecorded.object), ...noPlane }, 'the spec names no cluster'],
      [{ ...unrecorded, ...referring({ kind: 'Other' }), ...noPlane }, 'of Cluster team-a/prod names no'],
    ] as const)
      expect(reasonOf(given)).to.have.nested.property('facts.missing').that.contains(lacking);
  });

  for (const [what, given, kind] of [
    ['the Cluster that the spec names', { ...unknownCluster, ...unknownPlane }, 'Cluster'],
    [
      'the control plane of spec.eksCluster',
      { ...inEks(live), ...unknownCluster, ...unknownPlane },
      'AWSManagedControlPlane',
    ],
    ['the Cluster of that control plane', { ...inEks(live), ...MANAGED, ...unknownCluster }, 'Cluster'],
  ] as const)
    it(`waits until it can read ${what}`, () =>
      expect(goalFor(inputs(given))).to.have.nested.include({
        'reason.name': 'WaitingForAPI',
        'reason.facts.kind': kind,
      }));

  describe('has as target', () => {
    const renewed = { kind: 'AWSClusterRoleIdentity', name: 'renewed' } as const;
    const former = { kind: 'AWSClusterRoleIdentity', name: 'former' };
    const deletedWith = { object: aDeletedObject({ record: { ...FULL_RECORD, identity: former } }) };

    it('the region, EKS cluster and identity of the control plane, with its private subnets and tags', () => {
      const subnets = [
        { id: 'subnet-public', isPublic: true, tags: {} },
        { id: 'placeholder', resourceID: 'subnet-0c', isPublic: false, tags: {} },
      ];
      const given = withPlane({ identityRef: renewed, additionalTags: { team: 'a' }, subnets });
      expect(pursued(given).target).to.deep.equal({
        clusterName: 'prod',
        eksCluster: 'team-a_prod-control-plane',
        region: 'eu-west-1',
        identity: renewed,
        controlPlaneUid: 'uid-of-cp',
      });
      expect(pursued(given).creationFacts).to.deep.equal({
        controlPlaneTags: { team: 'a' },
        privateSubnets: ['subnet-0c'],
        controlPlane: { namespace: 'team-a', name: 'prod-control-plane' },
        creationBlocker: undefined,
      });
    });

    it('for spec.eksCluster the tags of a control plane that manages it, and the subnets that EKS chooses', () => {
      const given = { ...inEks(begun), ...MANAGED, ...withPlane({ additionalTags: { team: 'a' } }) };
      const facts = { privateSubnets: undefined, creationBlocker: undefined };
      for (const [inputsOf, controlPlaneTags, key] of [
        [given, { team: 'a' }, { namespace: 'team-a', name: 'prod-control-plane' }],
        [inEks(begun), {}, undefined],
      ] as const)
        expect(pursued(inputsOf).creationFacts).to.deep.include({ ...facts, controlPlaneTags, controlPlane: key });
    });

    it('the default EKS cluster name of Cluster API Provider AWS for a control plane without a name', () => {
      const { eksClusterName: _name, ...nameless } = aControlPlane();
      const { target } = pursued({ controlPlane: found(nameless) });
      expect(target).to.have.property('eksCluster', 'team-a_prod-control-plane');
    });

    it('on deletion the recorded place, and the identity of a control plane that names the same place', () => {
      expect(pursued({ ...deleted, ...inOtherRegion }).target.region).to.equal('eu-west-1');
      expect(pursued({ ...deletedWith, ...withPlane({ identityRef: renewed }) }).target.identity).to.equal(renewed);
      expect(pursued({ ...deletedWith, ...noPlane }).target.identity).to.deep.equal(former);
    });
  });
});
