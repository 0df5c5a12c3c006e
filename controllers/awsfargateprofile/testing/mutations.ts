import type { Mutation } from '../model.ts';
import {
  EKS_CLUSTER,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  TRUST,
} from './builders.ts';

type Of<K extends Mutation['kind']> = Extract<Mutation, { kind: K }>;

const ARN = `arn:aws:eks:eu-west-1:111122223333:fargateprofile/${EKS_CLUSTER}/${PROFILE}/0ec0ffee`;
export const CREATE_PROFILE: Of<'createProfile'> = {
  kind: 'createProfile',
  profile: {
    cluster: EKS_CLUSTER,
    name: PROFILE,
    podExecutionRoleArn: ROLE_ARN,
    subnets: ['subnet-0a', 'subnet-0b'],
    selectors: [{ namespace: 'web', labels: {} }],
    tags: PROFILE_TAGS,
  },
};
export const DELETE_PROFILE: Of<'deleteProfile'> = { kind: 'deleteProfile', name: PROFILE, because: 'unwanted' };
export const CREATE_ROLE: Of<'createRole'> = {
  kind: 'createRole',
  role: { name: ROLE, path: '/', trust: TRUST, tags: ROLE_TAGS },
};
export const SET_TRUST: Of<'setTrust'> = { kind: 'setTrust', name: ROLE, trust: TRUST };
export const ATTACH_POLICY: Of<'attachPolicy'> = { kind: 'attachPolicy', name: ROLE, policyArn: POD_EXECUTION_POLICY };
export const DELETE_ROLE: Of<'deleteRole'> = { kind: 'deleteRole', name: ROLE };
export const STRIP_ROLE: Of<'detachPolicy'> = {
  kind: 'detachPolicy',
  name: ROLE,
  policyArn: POD_EXECUTION_POLICY,
  retiring: true,
};

/** One of each kind that takes nothing away for good. */
export const CONSTRUCTIVE: readonly Mutation[] = [
  CREATE_PROFILE,
  { kind: 'tagProfile', name: PROFILE, arn: ARN, tags: { a: 'x' } },
  { kind: 'untagProfile', name: PROFILE, arn: ARN, keys: ['a'] },
  CREATE_ROLE,
  SET_TRUST,
  { kind: 'setBoundary', name: ROLE, policyArn: 'arn:aws:iam::aws:policy/b' },
  { kind: 'removeBoundary', name: ROLE },
  ATTACH_POLICY,
  { kind: 'detachPolicy', name: ROLE, policyArn: POD_EXECUTION_POLICY, retiring: false },
  { kind: 'tagRole', name: ROLE, tags: { a: 'x' } },
  { kind: 'untagRole', name: ROLE, keys: ['a'] },
];
/** One of each kind that does. */
export const DESTRUCTIVE: readonly Mutation[] = [DELETE_PROFILE, DELETE_ROLE, STRIP_ROLE];

export const nameOf = (mutation: Mutation): string =>
  mutation.kind === 'detachPolicy' && mutation.retiring ? 'detachPolicy to retire the role' : mutation.kind;
