import { expect } from 'chai';
import type { AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { ReconcileInputs } from '../goal/inputs.ts';
import { messageOf } from '../reasons/reasons.ts';
import { goalFor } from '../goal/goal.ts';
import type { ObjectParts } from '../testing/builders.ts';
import {
  ABSENT,
  ACCOUNT,
  EKS_CLUSTER,
  HERE,
  RECORDED,
  aControlPlane,
  aDeletedObject,
  anObject,
  found,
  inputs,
} from '../testing/builders.ts';
import { locationOf } from './location.ts';

const withRecords = (value: string | undefined, status?: AWSFargateProfileStatus): ObjectParts => ({
  metadata: { annotations: value === undefined ? {} : { [PROVISIONED_IN_ANNOTATION]: value } },
  ...(status && { status }),
});

describe('locationOf', () => {
  const known = { kind: 'known', account: ACCOUNT, region: 'eu-west-1', eksCluster: EKS_CLUSTER };
  for (const [what, parts, expected] of [
    ['reads status', withRecords(undefined, RECORDED), known],
    ['reads the annotation if a move has dropped status', withRecords(HERE), known],
    [
      'prefers status over the annotation, which every editor of the object can change',
      withRecords('1/r/c', RECORDED),
      known,
    ],
    ['prefers status over "nowhere" in the annotation', withRecords('nowhere', RECORDED), known],
    ['ignores an incomplete status', withRecords(HERE, { region: 'eu-north-1' }), known],
    ['reads "nowhere"', withRecords('nowhere'), { kind: 'none' }],
    ['is unknown without status and annotation', withRecords(undefined), { kind: 'unknown' }],
    ['is unknown with an empty annotation', withRecords(''), { kind: 'unknown' }],
    ['is unknown with an annotation of another form', withRecords('true'), { kind: 'unknown' }],
    ['is unknown with an annotation that lacks a part', withRecords(`${ACCOUNT}//${EKS_CLUSTER}`), { kind: 'unknown' }],
    ['is unknown with an account that is none', withRecords(`12345/eu-west-1/${EKS_CLUSTER}`), { kind: 'unknown' }],
    ['is unknown with a region that is none', withRecords(`${ACCOUNT}/eu west/${EKS_CLUSTER}`), { kind: 'unknown' }],
    [
      'is unknown with a name that EKS does not allow',
      withRecords(`${ACCOUNT}/eu-west-1/${'c'.repeat(101)}`),
      { kind: 'unknown' },
    ],
    ['is unknown with a line feed at the end', withRecords(`${HERE}\n`), { kind: 'unknown' }],
    ['is unknown with an annotation that has a part too many', withRecords(`${HERE}/x`), { kind: 'unknown' }],
  ] as const)
    it(what, () => expect(locationOf(anObject(parts))).to.deep.equal(expected));
});

describe('The goal of an object that a move left without status', () => {
  const elsewhere = { controlPlane: found(aControlPlane({ region: 'eu-north-1' })) };
  const notReady = { controlPlane: found(aControlPlane({ ready: false })) };
  const [alive, deleted] = [anObject(withRecords(HERE)), aDeletedObject(withRecords(HERE))];

  for (const [what, given, expected] of [
    ['alive, the control plane names the same place', { object: alive }, 'pursue eu-west-1'],
    ['alive, the control plane names another region', { object: alive, ...elsewhere }, 'TargetChanged'],
    ['alive, the control plane is not ready', { object: alive, ...notReady }, 'pursue eu-west-1'],
    [
      'alive, "nowhere", the control plane is not ready',
      { object: anObject(withRecords('nowhere')), ...notReady },
      'WaitingForEKSControlPlane',
    ],
    ['deleted, the control plane names the same place', { object: deleted }, 'pursue eu-west-1'],
    ['deleted, the control plane names another region', { object: deleted, ...elsewhere }, 'TargetChanged'],
    ['deleted, the control plane is gone', { object: deleted, controlPlane: ABSENT }, 'TargetUnknown'],
    [
      'deleted, without a recorded location',
      { object: aDeletedObject(withRecords(undefined)), ...elsewhere },
      'pursue eu-north-1',
    ],
    [
      'alive, without a recorded location',
      { object: anObject(withRecords(undefined)), ...elsewhere },
      'pursue eu-north-1',
    ],
    ['deleted, "nowhere"', { object: aDeletedObject(withRecords('nowhere')), ...elsewhere }, 'pursue eu-north-1'],
  ] satisfies readonly (readonly [string, Partial<ReconcileInputs>, string])[])
    it(`${what}: ${expected}`, () => {
      const goal = goalFor(inputs(given));
      const word =
        goal.kind === 'hold' ? goal.reason.name : goal.kind === 'pursue' ? `pursue ${goal.target.region}` : '';
      expect(word).to.equal(expected);
    });

  const messageFor = (given: Partial<ReconcileInputs>): string => {
    const goal = goalFor(inputs(given));
    return goal.kind === 'hold' ? messageOf(goal.reason) : goal.kind;
  };

  it('tells the user how to proceed if the control plane names another region', () => {
    expect(messageFor({ object: deleted, ...elsewhere })).to.equal(
      'spec.region of the control plane is now "eu-north-1", but this object records "eu-west-1" for its Fargate profile. ' +
        'The controller changes nothing in AWS. Set spec.region of the control plane back to "eu-west-1". Or, ' +
        'if the profile does not exist there any more, remove the annotation aws-fargate.cluster.x-k8s.io/provisioned-in ' +
        'from this object. The controller then continues on its own.',
    );
  });

  const { region: _region, ...withoutRegion } = aControlPlane();
  for (const [what, given, missing] of [
    ['the Cluster', { cluster: ABSENT, controlPlane: ABSENT }, 'Cluster team-a/prod does not exist'],
    [
      'the control plane',
      { controlPlane: ABSENT },
      'AWSManagedControlPlane team-a/prod-control-plane of Cluster team-a/prod does not exist',
    ],
    [
      'its region',
      { controlPlane: found(withoutRegion) },
      'AWSManagedControlPlane team-a/prod-control-plane has no spec.region',
    ],
  ] satisfies readonly (readonly [string, Partial<ReconcileInputs>, string])[])
    it(`tells the user the recorded location and that ${what} is missing`, () => {
      expect(messageFor({ object: deleted, ...given })).to.include(
        `This object is being deleted, and records 111122223333/eu-west-1/team-a_prod-control-plane (account/region/EKS cluster) as the place of its Fargate profile "team-a_web". The controller does not know with which AWS credentials to delete the profile, because ${missing}. `,
      );
    });
});
