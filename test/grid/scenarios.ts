import { setTimeout as delay } from 'node:timers/promises';
import { fieldAt } from '../../api/record.ts';
import {
  DeleteRolePermissionsBoundaryCommand,
  DetachRolePolicyCommand,
  UntagRoleCommand,
  UpdateAssumeRolePolicyCommand,
} from '@aws-sdk/client-iam';
import { UntagResourceCommand } from '@aws-sdk/client-eks';
import { CAPA_TRUST, EKS_POLICY } from '../world/aws/capa-resources.ts';
import type { GridSubject, SubjectKind } from './subject.ts';

const POLICY_A = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';
const POLICY_B = 'arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess';
const BOUNDARY = 'arn:aws:iam::aws:policy/PowerUserAccess';

/**
 * A part of the life of an AWSFargateProfile, for example its creation. The test injects faults only into AWS calls
 * that the manager makes after the test has called the scenario's function `trigger`.
 */
export interface GridScenario {
  readonly name: string;
  /** How the AWSFargateProfile names its EKS cluster: by a Cluster (the default) or by spec.eksCluster. */
  readonly kind?: SubjectKind;
  readonly prepare: (subject: GridSubject) => Promise<void>;
  readonly trigger: (subject: GridSubject) => Promise<void>;
  /**
   * Whether the scenario has reached its end. The test calls this function only when it runs the scenario without
   * faults.
   */
  readonly hasEnded: (subject: GridSubject) => boolean;
  /**
   * Whether the scenario changes AWS in a way that the manager notices only at a resync. If so, the test triggers a
   * resync after it has killed and restarted the manager.
   */
  readonly needsResync?: boolean;
  /** Whether some profile of the AWSFargateProfile must be ACTIVE at every moment after `trigger`. */
  readonly isWithoutGap?: boolean;
}

const SPEC = { additionalTags: { team: 'a', old: '1' }, roleAdditionalPolicies: [POLICY_A] };

const isReady = (subject: GridSubject): boolean => subject.hasCondition('Ready', 'True');
const isActive = (subject: GridSubject): boolean =>
  subject.ownResources().profiles.some(({ status }) => status === 'ACTIVE');
const isGone = ({ object, checker }: GridSubject): boolean => object === undefined && checker.versions.length > 0;

/** Whether the AWSFargateProfile is Ready and its status has the id of the role that exists now. */
const isReadyWithRole = (subject: GridSubject): boolean => {
  const [role] = subject.ownResources().roles;
  return isReady(subject) && role !== undefined && fieldAt(subject.object?.status?.['role'], 'id') === role.id;
};

const createReady =
  (spec: object = SPEC) =>
  async (subject: GridSubject): Promise<void> => {
    await subject.apply(spec);
    await subject.until('Ready before the fault', () => isReady(subject));
  };

const onlyRole = (subject: GridSubject) => {
  const [role] = subject.ownResources().roles;
  if (role === undefined) throw new Error('there is no role');
  return role;
};

const WITH_BOUNDARY = { ...SPEC, rolePermissionsBoundary: BOUNDARY };
const WITH_ROLE_NAME = { ...SPEC, roleName: 'shared-by-name' };

const replacing = (keepPredecessorFor: string): object => ({
  ...SPEC,
  updateStrategy: { type: 'Replace', replace: { keepPredecessorFor } },
});
const CHANGE = { spec: { selectors: [{ namespace: 'changed' }], roleName: 'other-role' } };
/** In ms. The controller keeps a predecessor at least this long beside the profile that replaces it. */
const SHORTEST_KEPT = 30_000;

const isPredecessorKept = (subject: GridSubject): boolean => subject.hasCondition('Ready', 'True', 'PredecessorKept');
const isReplaced = (subject: GridSubject): boolean => {
  const { profiles, roles } = subject.ownResources();
  const [profile] = profiles;
  const isOther = profile !== undefined && profile.name !== subject.profileName;
  return isOther && profiles.length + roles.length === 2 && subject.hasCondition('Ready', 'True', 'Ready');
};

const LOST_PROFILE: Omit<GridScenario, 'name'> = {
  prepare: createReady(),
  trigger: async (subject) => {
    subject.removeProfileInAws();
    await subject.triggerResync();
  },
  hasEnded: (subject) => isActive(subject) && isReady(subject),
  needsResync: true,
};
const DELETION: Omit<GridScenario, 'name'> = {
  prepare: createReady(),
  trigger: (subject) => subject.delete(),
  hasEnded: isGone,
};

export const SCENARIOS: readonly GridScenario[] = [
  {
    name: 'create',
    prepare: async () => {},
    trigger: (subject) => subject.apply(SPEC),
    hasEnded: isReady,
  },
  {
    name: 'tag change',
    prepare: createReady(),
    trigger: (subject) => subject.patch({ spec: { additionalTags: { team: 'b', old: null, new: '1' } } }),
    hasEnded: isReady,
  },
  {
    name: 'role drift',
    prepare: createReady(),
    trigger: async (subject) => {
      const { name: RoleName } = onlyRole(subject);
      const [profile] = subject.ownResources().profiles;
      const { iam, eks } = subject.foreignClients;
      await iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn: EKS_POLICY }));
      await iam.send(new UpdateAssumeRolePolicyCommand({ RoleName, PolicyDocument: CAPA_TRUST }));
      await iam.send(new UntagRoleCommand({ RoleName, TagKeys: ['team'] }));
      await eks.send(new UntagResourceCommand({ resourceArn: profile?.arn, tagKeys: ['team'] }));
      await subject.triggerResync();
    },
    hasEnded: (subject) => {
      const { attachedPolicies, tags } = onlyRole(subject);
      const isInOrder = attachedPolicies.includes(EKS_POLICY) && 'team' in tags;
      return isInOrder && 'team' in (subject.ownResources().profiles[0]?.tags ?? {}) && isReady(subject);
    },
    needsResync: true,
  },
  {
    name: 'role settings',
    prepare: createReady(WITH_BOUNDARY),
    trigger: async (subject) => {
      const { name: RoleName } = onlyRole(subject);
      await subject.foreignClients.iam.send(new DeleteRolePermissionsBoundaryCommand({ RoleName }));
      await subject.patch({ spec: { roleAdditionalPolicies: [POLICY_B] } });
    },
    hasEnded: isReady,
  },
  { ...LOST_PROFILE, name: 'recovery of a lost profile' },
  {
    // The EKS access entry belongs to the deleted role, so the manager creates the access entry again.
    name: 'recovery of a lost role',
    prepare: createReady(),
    trigger: async (subject) => {
      subject.removeRoleInAws();
      await subject.triggerResync();
    },
    hasEnded: (subject) => subject.canPodsJoin() && isReadyWithRole(subject),
    needsResync: true,
  },
  {
    name: 'recovery of CREATE_FAILED',
    prepare: async (subject) => {
      subject.createResults.push('CREATE_FAILED');
      await subject.apply(WITH_BOUNDARY);
      await subject.until('CREATE_FAILED', () => subject.hasCondition('Ready', 'False', 'CreateFailed'));
    },
    // The change of the spec makes the manager create the Fargate profile again at once, although the backoff after the
    // failed creation has not ended.
    trigger: (subject) =>
      subject.patch({ spec: { selectors: [{ namespace: 'mended' }], rolePermissionsBoundary: null } }),
    hasEnded: isReady,
  },
  // The manager is killed within seconds, so the wait between the two halves of a replacement is no part of a scenario.
  {
    name: 'begin of a replacement',
    prepare: createReady(replacing('24h')),
    trigger: (subject) => subject.patch(CHANGE),
    hasEnded: isPredecessorKept,
    isWithoutGap: true,
  },
  {
    name: 'end of a replacement',
    prepare: async (subject) => {
      await createReady(replacing('24h'))(subject);
      await subject.patch(CHANGE);
      await subject.until('the replacing profile is ACTIVE', () => isPredecessorKept(subject));
      await delay(SHORTEST_KEPT);
    },
    trigger: (subject) => subject.patch({ spec: replacing('0s') }),
    hasEnded: isReplaced,
    isWithoutGap: true,
  },
  { ...DELETION, name: 'delete' },
  {
    ...DELETION,
    name: 'delete with a named role',
    prepare: async (subject) => {
      subject.putForeignProfile('theirs', `arn:aws:iam::${subject.account}:role/theirs`);
      await createReady(WITH_ROLE_NAME)(subject);
    },
  },
  {
    name: 'create in an EKS cluster without a Cluster, while EKS creates another profile',
    kind: 'eksCluster',
    prepare: async (subject) => subject.putBusySibling(),
    trigger: (subject) => subject.apply(SPEC),
    hasEnded: isReady,
  },
  { ...LOST_PROFILE, name: 'recovery of a lost profile in an EKS cluster without a Cluster', kind: 'eksCluster' },
  { ...DELETION, name: 'delete in an EKS cluster without a Cluster', kind: 'eksCluster' },
];
