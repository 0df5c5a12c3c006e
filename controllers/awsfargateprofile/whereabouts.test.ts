import { expect } from 'chai';
import type { AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { PROVISIONED_IN_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { Inputs } from './inputs.ts';
import { messageOf } from './reasons.ts';
import { goalFor } from './target.ts';
import type { ObjectParts } from './testing/builders.ts';
import { ACCOUNT, EKS_CLUSTER, aControlPlane, aDeletedObject, anObject, inputs } from './testing/builders.ts';
import { whereaboutsOf } from './whereabouts.ts';

const HERE = `${ACCOUNT}/eu-west-1/${EKS_CLUSTER}`;
const RECORDED: AWSFargateProfileStatus = { account: ACCOUNT, region: 'eu-west-1', eksClusterName: EKS_CLUSTER };
const saying = (value: string | undefined, status?: AWSFargateProfileStatus): ObjectParts => ({
  metadata: { annotations: value === undefined ? {} : { [PROVISIONED_IN_ANNOTATION]: value } },
  ...(status && { status }),
});

describe('whereaboutsOf', () => {
  const somewhere = { kind: 'somewhere', account: ACCOUNT, region: 'eu-west-1', eksCluster: EKS_CLUSTER };
  for (const [what, parts, expected] of [
    ['status says it', saying(undefined, RECORDED), somewhere],
    ['the annotation says it, where a move has dropped status', saying(HERE), somewhere],
    ['status is believed rather than an annotation that anybody may edit', saying('1/r/c', RECORDED), somewhere],
    ['status says it where the annotation says "nowhere"', saying('nowhere', RECORDED), somewhere],
    ['half a status says nothing', saying(HERE, { region: 'eu-north-1' }), somewhere],
    ['nothing was begun', saying('nowhere'), { kind: 'nowhere' }],
    ['neither says anything', saying(undefined), { kind: 'unknown' }],
    ['the annotation is empty', saying(''), { kind: 'unknown' }],
    ['the annotation is not of this form', saying('true'), { kind: 'unknown' }],
    ['the annotation lacks a part', saying(`${ACCOUNT}//${EKS_CLUSTER}`), { kind: 'unknown' }],
    ['the annotation has a part too many', saying(`${HERE}/x`), { kind: 'unknown' }],
  ] as const)
    it(what, () => expect(whereaboutsOf(anObject(parts))).to.deep.equal(expected));
});

describe('an object that a move brought without its status', () => {
  const found = <A>(object: A) => ({ kind: 'found', object }) as const;
  const ABSENT = { kind: 'absent' } as const;
  const elsewhere = { controlPlane: found(aControlPlane({ region: 'eu-north-1' })) };
  const notReady = { controlPlane: found(aControlPlane({ ready: false })) };
  const [alive, deleted] = [anObject(saying(HERE)), aDeletedObject(saying(HERE))];

  for (const [what, given, expected] of [
    ['alive, the control plane names the same place', { object: alive }, 'pursue eu-west-1'],
    ['alive, the control plane names another region', { object: alive, ...elsewhere }, 'TargetChanged'],
    [
      'alive, the control plane is not ready: what exists is looked after',
      { object: alive, ...notReady },
      'pursue eu-west-1',
    ],
    [
      'alive, "nowhere", the control plane is not ready',
      { object: anObject(saying('nowhere')), ...notReady },
      'WaitingForEKSControlPlane',
    ],
    ['deleted, the control plane names the same place', { object: deleted }, 'pursue eu-west-1'],
    ['deleted, the control plane names another region', { object: deleted, ...elsewhere }, 'TargetChanged'],
    ['deleted, the control plane is gone', { object: deleted, controlPlane: ABSENT }, 'TargetUnknown'],
    [
      'deleted, nothing says where it is',
      { object: aDeletedObject(saying(undefined)), ...elsewhere },
      'pursue eu-north-1',
    ],
    ['alive, nothing says where it is', { object: anObject(saying(undefined)), ...elsewhere }, 'pursue eu-north-1'],
    ['deleted, "nowhere"', { object: aDeletedObject(saying('nowhere')), ...elsewhere }, 'pursue eu-north-1'],
  ] satisfies readonly (readonly [string, Partial<Inputs>, string])[])
    it(`${what}: ${expected}`, () => {
      const goal = goalFor(inputs(given));
      const word =
        goal.kind === 'hold' ? goal.why.reason : goal.kind === 'pursue' ? `pursue ${goal.target.region}` : '';
      expect(word).to.equal(expected);
    });

  const messageFor = (given: Partial<Inputs>): string => {
    const goal = goalFor(inputs(given));
    return goal.kind === 'hold' ? messageOf(goal.why) : goal.kind;
  };

  it('is told how to go on where the control plane names another place', () => {
    expect(messageFor({ object: deleted, ...elsewhere })).to.equal(
      'The control plane now names spec.region "eu-north-1", but this object was provisioned in "eu-west-1": nothing is ' +
        'changed in AWS. Set spec.region of the control plane back to "eu-west-1", or, when nothing is left there, take ' +
        'the annotation aws-fargate.cluster.x-k8s.io/provisioned-in off this object.',
    );
  });

  const { region: _region, ...withoutRegion } = aControlPlane();
  for (const [what, given, missing] of [
    ['the Cluster', { cluster: ABSENT, controlPlane: ABSENT }, 'Cluster team-a/prod is not there'],
    ['the control plane', { controlPlane: ABSENT }, 'Cluster team-a/prod has no AWSManagedControlPlane'],
    [
      'its region',
      { controlPlane: found(withoutRegion) },
      'AWSManagedControlPlane team-a/prod-control-plane has no spec.region',
    ],
  ] satisfies readonly (readonly [string, Partial<Inputs>, string])[])
    it(`is told where it is, and that ${what} is not there to say with which credentials`, () => {
      expect(messageFor({ object: deleted, ...given })).to.include(
        `The profile is in 111122223333/eu-west-1/team-a_prod-control-plane, and ${missing} to tell with which credentials. `,
      );
    });
});
