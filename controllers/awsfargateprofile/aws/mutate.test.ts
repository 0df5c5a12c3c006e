import { expect } from 'chai';
import { ProfileName } from '../../../api/names.ts';
import type { AwsFailure } from '../../../pkg/cloud/index.ts';
import { mutate } from './mutate.ts';
import type { Mutation, MutationOutcome } from '../model/change.ts';
import { EKS_CLUSTER, PROFILE, ROLE, aFailure } from '../testing/builders.ts';
import { aSimulatedProfile, aSimulatedRole, awsWith } from '../testing/reconcile-state.ts';
import {
  CONSTRUCTIVE,
  CREATE_ACCESS_ENTRY,
  CREATE_PROFILE,
  DELETE_ACCESS_ENTRY,
  DELETE_PROFILE,
  DESTRUCTIVE,
  DELETE_ROLE,
  STRIP_ROLE,
} from '../testing/mutations.ts';
import { sessionOn } from '../testing/simulated-aws.ts';

/**
 * For each kind of change that the controller makes in AWS: the expected call, and the name of the changed resource.
 */
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
  tagRole: `TagRole ${ROLE}`,
  untagRole: `UntagRole ${ROLE}`,
  deleteRole: `DeleteRole ${ROLE}`,
  createAccessEntry: `CreateAccessEntry ${ROLE}`,
  deleteAccessEntry: `DeleteAccessEntry ${ROLE}`,
};

describe('mutate', () => {
  it('sends one call for each kind of change', async () => {
    for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE]) {
      const session = sessionOn(awsWith(aSimulatedProfile(), aSimulatedRole()));
      await mutate(session, EKS_CLUSTER, mutation);
      expect(session.calls).to.deep.equal([CALLS[mutation.kind]]);
    }
  });

  it('returns the created profile', async () => {
    const aws = awsWith(aSimulatedRole());
    const outcome = await mutate(sessionOn(aws), EKS_CLUSTER, CREATE_PROFILE);
    expect(outcome).to.deep.include({ kind: 'done' });
    expect(outcome.kind === 'done' && outcome.profile).to.include({ name: PROFILE, status: 'CREATING' });
  });

  const NO_CLUSTER = { code: 'ResourceNotFoundException', statusCode: 404, message: 'No cluster found for name: c.' };
  const NO_PROFILE = { code: 'ResourceNotFoundException', statusCode: 404, message: 'No Fargate Profile found' };
  const NO_ENTRY = { ...NO_PROFILE, message: 'The specified principalArn could not be found' };
  const NO_PRINCIPAL = { code: 'InvalidParameterException', statusCode: 400, message: 'invalid principal' };
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

  const NO_POLICY = { ...NO_ROLE, message: 'Policy arn:aws:iam::aws:policy/p does not exist' };
  const NOT_ACTIVE = { code: 'InvalidRequestException', message: "Cluster 'c' is not in ACTIVE status" };
  const by = { by: ProfileName.of('b'), doing: 'DELETING' };
  type Row = readonly [call: string, Mutation, Partial<AwsFailure>, MutationOutcome['kind'], more?: object];
  const answers: readonly Row[] = [
    ['a create in an EKS cluster that is gone', CREATE_PROFILE, NO_CLUSTER, 'clusterGone'],
    ['a deletion in an EKS cluster that is gone', DELETE_PROFILE, NO_CLUSTER, 'clusterGone'],
    ['the deletion of a profile that is gone', DELETE_PROFILE, NO_PROFILE, 'gone'],
    ['the deletion of a role that is gone', DELETE_ROLE, NO_ROLE, 'gone'],
    ['a change of a role that is gone', ATTACH, NO_ROLE, 'notVisible'],
    ['a detachment from a role that is gone, because only a read proves that', STRIP_ROLE, NO_ROLE, 'notVisible'],
    ['the attachment of a policy that does not exist', ATTACH, NO_POLICY, 'failed'],
    ['the deletion of a role that still has policies', DELETE_ROLE, { code: 'DeleteConflict' }, 'outdated'],
    ['a change of a role that another client changes', ATTACH, { code: 'ConcurrentModification' }, 'outdated'],
    ['a create under a name in use', CREATE_PROFILE, inUse('A Fargate Profile already exists'), 'nameTaken'],
    ['a create while EKS changes another profile', CREATE_PROFILE, BUSY, 'siblingBusy', by],
    ['a create during an update', CREATE_PROFILE, inUse('currently has an update in progress'), 'clusterUpdating'],
    ['a deletion while the EKS cluster is not ACTIVE', DELETE_PROFILE, NOT_ACTIVE, 'clusterUpdating'],
    ['a create with a trust policy that EKS does not see yet', CREATE_PROFILE, TRUST, 'roleRejected'],
    ['a deletion that fails with the message about a trust policy', DELETE_PROFILE, TRUST, 'failed'],
    ['the deletion of an access entry that is gone', DELETE_ACCESS_ENTRY, NO_ENTRY, 'gone'],
    ['the creation of an access entry that exists', CREATE_ACCESS_ENTRY, inUse('already in use'), 'nameTaken'],
    ['an access entry of a role that EKS does not see yet', CREATE_ACCESS_ENTRY, NO_PRINCIPAL, 'notVisible'],
    ['a create with an invalid principal', CREATE_PROFILE, NO_PRINCIPAL, 'failed'],
    ['a call without an answer', CREATE_PROFILE, { code: 'NoAnswer' }, 'failed'],
  ];
  for (const [call, mutation, failure, kind, more] of answers)
    it(`returns ${kind} for ${call}`, async () => {
      const session = sessionOn(awsWith(aSimulatedProfile(), aSimulatedRole()));
      session.onCall = () => aFailure(failure);
      expect(await mutate(session, EKS_CLUSTER, mutation)).to.deep.include({ kind, ...more });
    });
});
