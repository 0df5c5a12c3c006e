import { expect } from 'chai';
import { ProfileName } from '../../api/names.ts';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import { act } from './act.ts';
import type { Mutation, Outcome } from './model.ts';
import { EKS_CLUSTER, PROFILE, ROLE, aFailure } from './testing/builders.ts';
import { aSimulatedProfile, aSimulatedRole, awsWith } from './testing/flight.ts';
import { CONSTRUCTIVE, CREATE_PROFILE, DELETE_PROFILE, DELETE_ROLE, STRIP_ROLE, nameOf } from './testing/mutations.ts';
import { sessionOn } from './testing/simulated-session.ts';

/** Which call each mutation is, and what it is about; all are in CONSTRUCTIVE or beside it. */
const CALLS: Readonly<Record<string, string>> = {
  createProfile: `CreateFargateProfile ${PROFILE}`,
  tagProfile: `TagResource ${PROFILE}`,
  untagProfile: `UntagResource ${PROFILE}`,
  deleteProfile: `DeleteFargateProfile ${PROFILE}`,
  createRole: `CreateRole ${ROLE}`,
  setTrust: `UpdateAssumeRolePolicy ${ROLE}`,
  setBoundary: `PutRolePermissionsBoundary ${ROLE}`,
  removeBoundary: `DeleteRolePermissionsBoundary ${ROLE}`,
  attachPolicy: `AttachRolePolicy ${ROLE}`,
  detachPolicy: `DetachRolePolicy ${ROLE}`,
  'detachPolicy to retire the role': `DetachRolePolicy ${ROLE}`,
  tagRole: `TagRole ${ROLE}`,
  untagRole: `UntagRole ${ROLE}`,
  deleteRole: `DeleteRole ${ROLE}`,
};

describe('act', () => {
  for (const mutation of [...CONSTRUCTIVE, DELETE_PROFILE, DELETE_ROLE, STRIP_ROLE])
    it(`makes one call for ${nameOf(mutation)}`, async () => {
      const session = sessionOn(awsWith(aSimulatedProfile(), aSimulatedRole()));
      await act(session, EKS_CLUSTER, mutation);
      expect(session.calls).to.deep.equal([CALLS[nameOf(mutation)]]);
    });

  it('gives what was made', async () => {
    const aws = awsWith(aSimulatedRole());
    const outcome = await act(sessionOn(aws), EKS_CLUSTER, CREATE_PROFILE);
    expect(outcome).to.deep.include({ kind: 'done' });
    expect(outcome.kind === 'done' && outcome.profile).to.include({ name: PROFILE, status: 'CREATING' });
  });

  const NO_CLUSTER = { code: 'ResourceNotFoundException', statusCode: 404, message: 'No cluster found for name: c.' };
  const NO_PROFILE = { code: 'ResourceNotFoundException', statusCode: 404, message: 'No Fargate Profile found' };
  const NO_ROLE = { code: 'NoSuchEntity', statusCode: 404, message: `The role with name ${ROLE} cannot be found.` };
  const inUse = (message: string) => ({ code: 'ResourceInUseException', statusCode: 409, message });
  const BUSY = inUse(
    'Cannot create Fargate Profile a because cluster c currently has Fargate profile b in status DELETING',
  );
  const TRUST = {
    code: 'InvalidParameterException',
    statusCode: 400,
    message:
      'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal',
  };
  const ATTACH: Mutation = { kind: 'attachPolicy', name: ROLE, policyArn: 'arn:aws:iam::aws:policy/p' };

  const answers: readonly (readonly [what: string, Mutation, Partial<AwsFailure>, Partial<Outcome>])[] = [
    ['a cluster that is gone ends a create', CREATE_PROFILE, NO_CLUSTER, { kind: 'clusterGone' }],
    ['a cluster that is gone ends a deletion', DELETE_PROFILE, NO_CLUSTER, { kind: 'clusterGone' }],
    ['a profile that is gone needs no deletion', DELETE_PROFILE, NO_PROFILE, { kind: 'vanished' }],
    ['a role that is gone needs no deletion', DELETE_ROLE, NO_ROLE, { kind: 'vanished' }],
    ['a role that is gone cannot be changed', ATTACH, NO_ROLE, { kind: 'notVisible' }],
    [
      'a role that is gone cannot be stripped: whether it is, only a look tells',
      STRIP_ROLE,
      NO_ROLE,
      { kind: 'notVisible' },
    ],
    [
      'a policy that does not exist is no role that is not visible',
      ATTACH,
      { code: 'NoSuchEntity', statusCode: 404, message: 'Policy arn:aws:iam::aws:policy/p does not exist' },
      { kind: 'failed' },
    ],
    [
      'a role that still has something is not as it was read',
      DELETE_ROLE,
      { code: 'DeleteConflict' },
      { kind: 'outdated' },
    ],
    [
      'a role that another changes is not as it was read',
      ATTACH,
      { code: 'ConcurrentModification' },
      { kind: 'outdated' },
    ],
    [
      'a profile of the name is there',
      CREATE_PROFILE,
      inUse('A Fargate Profile already exists with this name'),
      { kind: 'already' },
    ],
    [
      'another profile is ahead',
      CREATE_PROFILE,
      BUSY,
      { kind: 'siblingBusy', by: ProfileName.of('b'), doing: 'DELETING' },
    ],
    [
      'the cluster is being updated',
      CREATE_PROFILE,
      inUse('currently has an update in progress'),
      { kind: 'clusterUpdating' },
    ],
    [
      'the cluster is not ACTIVE',
      DELETE_PROFILE,
      { code: 'InvalidRequestException', message: "Cluster 'c' is not in ACTIVE status" },
      { kind: 'clusterUpdating' },
    ],
    ['the trust policy of a create is not seen', CREATE_PROFILE, TRUST, { kind: 'rolePropagating' }],
    ['the same words on a deletion mean nothing of the kind', DELETE_PROFILE, TRUST, { kind: 'failed' }],
    ['no answer is a failure', CREATE_PROFILE, { code: 'NoAnswer' }, { kind: 'failed' }],
  ];
  for (const [what, mutation, failure, expected] of answers)
    it(what, async () => {
      const session = sessionOn(awsWith(aSimulatedProfile(), aSimulatedRole()));
      session.onCall = () => aFailure(failure);
      expect(await act(session, EKS_CLUSTER, mutation)).to.deep.include(expected);
    });
});
