import {
  DeleteRolePermissionsBoundaryCommand,
  DetachRolePolicyCommand,
  UntagRoleCommand,
  UpdateAssumeRolePolicyCommand,
} from '@aws-sdk/client-iam';
import { UntagResourceCommand } from '@aws-sdk/client-eks';
import { CAPA_TRUST, EKS_POLICY } from '../world/from-capa.ts';
import type { Cell } from './cell.ts';

const POLICY_A = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';
const POLICY_B = 'arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess';
const BOUNDARY = 'arn:aws:iam::aws:policy/PowerUserAccess';

/** A piece of an object's life. The calls between `trigger` and the end are those that go wrong in the grid. */
export interface Scenario {
  readonly name: string;
  readonly prepare: (cell: Cell) => Promise<void>;
  readonly trigger: (cell: Cell) => Promise<void>;
  /** Whether it has come to its end, where nothing goes wrong. */
  readonly isOver: (cell: Cell) => boolean;
  /** What nobody told the manager is found at a resync only: after a restart, this is it. */
  readonly isFoundByLooking?: boolean;
}

const SPEC = { additionalTags: { team: 'a', old: '1' }, roleAdditionalPolicies: [POLICY_A] };

const isReady = (cell: Cell): boolean => cell.says('Ready', 'True');
const isActive = (cell: Cell): boolean => cell.inAws().profiles.some(({ status }) => status === 'ACTIVE');
const isGone = ({ object, witness }: Cell): boolean => object === undefined && witness.versions.length > 0;

const untilReady =
  (spec: object = SPEC) =>
  async (cell: Cell): Promise<void> => {
    await cell.apply(spec);
    await cell.until('Ready before anything goes wrong', () => isReady(cell));
  };

const theRole = (cell: Cell) => {
  const [role] = cell.inAws().roles;
  if (role === undefined) throw new Error('there is no role');
  return role;
};

const WITH_BOUNDARY = { ...SPEC, rolePermissionsBoundary: BOUNDARY };
const WITH_ROLE_NAME = { ...SPEC, roleName: 'shared-by-name' };

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'create',
    prepare: async () => {},
    trigger: (cell) => cell.apply(SPEC),
    isOver: isReady,
  },
  {
    name: 'tag change',
    prepare: untilReady(),
    trigger: (cell) => cell.patch({ spec: { additionalTags: { team: 'b', old: null, new: '1' } } }),
    isOver: isReady,
  },
  {
    name: 'role drift',
    prepare: untilReady(),
    trigger: async (cell) => {
      const { name: RoleName } = theRole(cell);
      const [profile] = cell.inAws().profiles;
      const { iam, eks } = cell.stranger;
      await iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn: EKS_POLICY }));
      await iam.send(new UpdateAssumeRolePolicyCommand({ RoleName, PolicyDocument: CAPA_TRUST }));
      await iam.send(new UntagRoleCommand({ RoleName, TagKeys: ['team'] }));
      await eks.send(new UntagResourceCommand({ resourceArn: profile?.arn, tagKeys: ['team'] }));
      await cell.lookAgain();
    },
    isOver: (cell) => {
      const { attachedPolicies, tags } = theRole(cell);
      const isInOrder = attachedPolicies.includes(EKS_POLICY) && 'team' in tags;
      return isInOrder && 'team' in (cell.inAws().profiles[0]?.tags ?? {}) && isReady(cell);
    },
    isFoundByLooking: true,
  },
  {
    name: 'role settings',
    prepare: untilReady(WITH_BOUNDARY),
    trigger: async (cell) => {
      const { name: RoleName } = theRole(cell);
      await cell.stranger.iam.send(new DeleteRolePermissionsBoundaryCommand({ RoleName }));
      await cell.patch({ spec: { roleAdditionalPolicies: [POLICY_B] } });
    },
    isOver: isReady,
  },
  {
    name: 'recovery of a lost profile',
    prepare: untilReady(),
    trigger: async (cell) => {
      cell.removeProfileInAws();
      await cell.lookAgain();
    },
    isOver: (cell) => isActive(cell) && isReady(cell),
    isFoundByLooking: true,
  },
  {
    // What it comes to is a human's business: the access entry of the cluster is bound to the former role.
    name: 'recovery of a lost role',
    prepare: untilReady(),
    trigger: async (cell) => {
      cell.removeRoleInAws();
      await cell.lookAgain();
    },
    isOver: (cell) => cell.says('Stalled', 'True', 'RoleRecreated'),
    isFoundByLooking: true,
  },
  {
    name: 'recovery of CREATE_FAILED',
    prepare: async (cell) => {
      cell.endsOfCreates.push('CREATE_FAILED');
      await cell.apply(WITH_BOUNDARY);
      await cell.until('CREATE_FAILED', () => cell.says('Ready', 'False', 'CreateFailed'));
    },
    // Mending the spec ends the pause before the next try.
    trigger: (cell) => cell.patch({ spec: { selectors: [{ namespace: 'mended' }], rolePermissionsBoundary: null } }),
    isOver: isReady,
  },
  {
    name: 'delete',
    prepare: untilReady(),
    trigger: (cell) => cell.delete(),
    isOver: isGone,
  },
  {
    name: 'delete with a named role',
    prepare: async (cell) => {
      cell.putForeignProfile('theirs', `arn:aws:iam::${cell.account}:role/theirs`);
      await untilReady(WITH_ROLE_NAME)(cell);
    },
    trigger: (cell) => cell.delete(),
    isOver: isGone,
  },
];
