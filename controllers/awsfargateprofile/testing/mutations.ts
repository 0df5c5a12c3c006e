import type { Obstacle } from '../guards/guards.ts';
import type { Plan, Mutation } from '../model/change.ts';
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

/**
 * Describes a plan in a few words, for the tables in tests: its changes, and why it ends. Names of the usual profile
 * and role, and the prefixes of tag keys, are left out. `?` marks an optional change. To `strip` a policy is to detach
 * it before the deletion of its role.
 */
export function describePlan({ changes, leftovers, end, notices }: Plan): string {
  const last = [typeof end === 'string' ? 'in order' : `stop: ${end.name}`, ...notices.map(({ name }) => name)].join(
    ': ',
  );
  return [
    ...[...changes, ...leftovers].map(({ mutation, optional }) => describeMutation(mutation) + (optional ? '?' : '')),
    last,
  ].join('; ');
}

function describeMutation(mutation: Mutation): string {
  switch (mutation.kind) {
    case 'createProfile': {
      const { name, podExecutionRoleArn } = mutation.profile;
      const role = podExecutionRoleArn === ROLE_ARN ? '' : ` with ${podExecutionRoleArn.split(':role').at(-1)}`;
      return `create profile${other(name)}${role}`;
    }
    case 'deleteProfile':
      return `delete ${mutation.because} profile${other(mutation.name)}`;
    case 'tagProfile':
      return `tag profile${other(mutation.name)} with ${keysOf(Object.keys(mutation.tags))}`;
    case 'untagProfile':
      return `untag profile${other(mutation.name)} of ${keysOf(mutation.keys)}`;
    case 'createRole':
      return `create role${other(`${mutation.role.path}${mutation.role.name}`)}${mutation.role.permissionsBoundary ? ' with boundary' : ''}`;
    case 'deleteRole':
      return `delete role${other(mutation.name)}`;
    case 'tagRole':
      return `tag role${other(mutation.name)} with ${keysOf(Object.keys(mutation.tags))}${mutation.retiring ? ', retiring' : ''}`;
    case 'untagRole':
      return `untag role${other(mutation.name)} of ${keysOf(mutation.keys)}`;
    case 'setBoundary':
      return `set boundary ${policyOf(mutation)}`;
    case 'attachPolicy':
      return `attach ${policyOf(mutation)}`;
    case 'detachPolicy':
      return `${mutation.retiring ? 'strip' : 'detach'} ${policyOf(mutation)}`;
    case 'createAccessEntry':
      return `create entry${other(mutation.name)}`;
    case 'deleteAccessEntry':
      return `delete entry${other(mutation.name)} for ${mutation.because}`;
    case 'setTrust':
      return `set trust${other(mutation.name)}`;
    case 'removeBoundary':
      return `remove boundary${other(mutation.name)}`;
  }
}

const other = (name: string): string => ([PROFILE, ROLE, `/${ROLE}`].some((usual) => usual === name) ? '' : ` ${name}`);
const keysOf = (keys: readonly string[]): string => keys.map((key) => key.split('/').at(-1)).join();
const policyOf = ({ policyArn }: { readonly policyArn: string }): string =>
  policyArn === POD_EXECUTION_POLICY ? 'pod policy' : (policyArn.split('/').at(-1) ?? '');

/** Describes in a few words why the controller does not send a change to AWS; `go` if nothing prevents the change. */
export const describeObstacle = (obstacle: Obstacle | undefined): string => {
  switch (obstacle?.kind) {
    case undefined:
      return 'go';
    case 'stop':
      return `stop: ${obstacle.reason.name}`;
    case 'keep':
      return `keep for ${obstacle.by}`;
    case 'untagOnly':
      return `untag only ${keysOf(obstacle.keys)}`;
  }
};
