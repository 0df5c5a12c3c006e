import type { Obstacle } from '../guards/guards.ts';
import type { Decision } from '../model/decision.ts';
import type { Mutation } from '../model/mutation.ts';
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
export const CREATE_ACCESS_ENTRY: Of<'createAccessEntry'> = {
  kind: 'createAccessEntry',
  name: ROLE,
  principal: ROLE_ARN,
};
export const DELETE_ACCESS_ENTRY: Of<'deleteAccessEntry'> = {
  kind: 'deleteAccessEntry',
  name: ROLE,
  principal: ROLE_ARN,
  because: 'roleDeletion',
};
export const STRIP_ROLE: Of<'detachPolicy'> = {
  kind: 'detachPolicy',
  name: ROLE,
  policyArn: POD_EXECUTION_POLICY,
  retiring: true,
};

/** One example of each kind of AWS call by which the controller changes AWS without deleting a resource. */
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
  CREATE_ACCESS_ENTRY,
];
/**
 * One example of each kind of AWS call by which the controller deletes a resource or prepares its deletion, except for
 * `tagRole` before the deletion of a role.
 */
export const DESTRUCTIVE: readonly Mutation[] = [DELETE_PROFILE, DELETE_ROLE, STRIP_ROLE, DELETE_ACCESS_ENTRY];

export const describeMutationKind = (mutation: Mutation): string =>
  mutation.kind === 'detachPolicy' && mutation.retiring ? 'detachPolicy to retire the role' : mutation.kind;

/** Describes a result of `decide` in a few words, for the tables in tests. */
export function describeDecision(decision: Decision): string {
  switch (decision.kind) {
    case 'mutate':
      return describeMutation(decision.mutation);
    case 'stop':
      return `stop: ${decision.reason.name}`;
    case 'settled':
      return decision.notice === undefined ? 'settled' : `settled: ${decision.notice.name}`;
    case 'readAccessEntry':
      return `read access entry before ${decision.before}`;
    case 'readAuthenticationMode':
      return `read authentication mode before ${decision.before}`;
    case 'observeAgain':
      return 'observeAgain';
  }
}

function describeMutation(mutation: Mutation): string {
  switch (mutation.kind) {
    case 'createProfile':
      return `create profile ${mutation.profile.name} with ${mutation.profile.podExecutionRoleArn.slice(-7)}`;
    case 'deleteProfile':
      return `delete profile ${mutation.name}, ${mutation.because}`;
    case 'tagProfile':
      return `tag profile with ${Object.keys(mutation.tags).join()}`;
    case 'untagProfile':
      return `untag profile of ${mutation.keys.join()}`;
    case 'createRole':
      return `create role ${mutation.role.path}${mutation.role.name}`;
    case 'deleteRole':
      return `delete role ${mutation.name}`;
    case 'tagRole':
      return `tag role with ${Object.keys(mutation.tags).join()}`;
    case 'untagRole':
      return `untag role of ${mutation.keys.join()}`;
    case 'setBoundary':
    case 'attachPolicy':
      return `${mutation.kind} ${mutation.policyArn.split('/').at(-1)}`;
    case 'detachPolicy':
      return `detachPolicy ${mutation.policyArn.split('/').at(-1)}${mutation.retiring ? ', retiring' : ''}`;
    case 'createAccessEntry':
      return `create access entry of ${mutation.name}`;
    case 'deleteAccessEntry':
      return `delete access entry of ${mutation.name}, ${mutation.because}`;
    case 'setTrust':
    case 'removeBoundary':
      return mutation.kind;
  }
}

/** Describes in a few words why the controller does not send a change to AWS; `go` if nothing prevents the change. */
export const describeObstacle = (obstacle: Obstacle | undefined): string => {
  switch (obstacle?.kind) {
    case undefined:
      return 'go';
    case 'stop':
      return `stop: ${obstacle.reason.name}`;
    case 'roleInUse':
      return `role ${obstacle.role} in use by ${obstacle.by}`;
    case 'accessEntryInUse':
      return `access entry of ${obstacle.principal} in use by ${obstacle.by}`;
    case 'conflict':
      return obstacle.kind;
    case 'quit':
      return `quit: ${obstacle.because}`;
  }
};
