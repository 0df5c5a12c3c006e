import { expect } from 'chai';
import type { AWSFargateProfile, AWSFargateProfileStatus, Condition } from '../../api/v1beta2/index.ts';
import { anObject } from '../awsfargateprofile/testing/builders.ts';
import { mirroredState } from './group-state.ts';

const condition = (type: string, status: Condition['status'], message = ''): Condition => ({
  type,
  status,
  reason: `${type}Reason`,
  message,
  lastTransitionTime: '2026-11-21T03:00:00Z',
});
const withConditions = (conditions: readonly Condition[], status: AWSFargateProfileStatus = {}): AWSFargateProfile =>
  anObject({ metadata: { generation: 2 }, status: { observedGeneration: 2, conditions, ...status } });

describe('mirroredState', () => {
  const cases: readonly (readonly [given: string, profile: AWSFargateProfile, state: string, message: string])[] = [
    ['has no condition', withConditions([]), 'InitCreate', 'See AWSFargateProfile team-a/web'],
    [
      'was Ready before its spec changed',
      withConditions([condition('Ready', 'True')], { observedGeneration: 1 }),
      'InitUpdate',
      'See AWSFargateProfile team-a/web',
    ],
    [
      'is not known while AWS does not answer',
      withConditions([condition('Ready', 'Unknown', 'No answer.')], { profileStatus: 'ACTIVE' }),
      'Init',
      'AWSFargateProfile team-a/web: No answer.',
    ],
  ];
  for (const [given, profile, state, message] of cases)
    it(`is ${state} if the AWSFargateProfile ${given}`, () => {
      expect(mirroredState(profile)).to.deep.include({ state, message });
    });

  it('names fields as the manifest of the InstanceGroup does', () => {
    const words = 'spec.selectors[0] and spec.subnetIDs; spec.roleARN, spec.additionalTags, spec.eksCluster.name';
    const { message } = mirroredState(withConditions([condition('Ready', 'False', words)]));
    expect(message).to.equal(
      'AWSFargateProfile team-a/web: spec.eks-fargate.selectors[0] and spec.eks-fargate.subnets; ' +
        'spec.eks-fargate.podExecutionRoleArn, spec.eks-fargate.tags, spec.eks-fargate.clusterName',
    );
  });
});
