import { expect } from 'chai';
import { PLURAL, RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { CAPA_TRUST, capaTags } from '../../world/aws/capa-resources.ts';
import { EKS_CLUSTER_TAG, NAMESPACE_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER, MINUTE, SECOND } from '../world/cluster.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { Phases } from './phase.ts';
import {
  AT_ONCE,
  PROFILE,
  ROLE,
  ROLE_ARN,
  WEB,
  startAndApply,
  changeRoleByHand,
  deleteHeld,
  denyAction,
  patchWeb,
  startUntilReady,
} from './phase.ts';

const OWNERSHIP_TAGS = {
  [EKS_CLUSTER_TAG]: `arn:aws:eks:us-east-1:${ACCOUNT}:cluster/${EKS_CLUSTER}`,
  [NAMESPACE_TAG]: 'default',
};
const NOBODY = '{"Version":"2012-10-17","Statement":[]}';
const MISCONFIGURED =
  'error:InvalidParameterException:Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal';

/**
 * Carries out the remedy for the condition reason RoleRecreated: recreates the access entry of the role, and
 * confirms this with an annotation on the AWSFargateProfile.
 */
function renewAccessEntry(world: SimulatedWorld, role: string): void {
  const { arn } = world.aws.admin.roles().find(({ name }) => name === role) ?? expect.fail(`there is no role ${role}`);
  world.aws.admin.removeAccessEntry({ cluster: EKS_CLUSTER, principalArn: arn });
  world.aws.admin.putAccessEntry({ cluster: EKS_CLUSTER, principalArn: arn });
  patchWeb(world, { metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
}

/** Situations of an AWSFargateProfile that concern its pod execution role in IAM. */
export const ROLES: Phases = {
  'role-not-owned': {
    title: 'a foreign role of the wanted name',
    before: (world) => void world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST }),
    until: ['Stalled', 'True', 'RoleNotOwned'],
    remedy: (world) => patchWeb(world, { spec: { roleName: 'web-pods' } }),
  },
  'role-in-the-way': {
    title: 'a foreign role of the wanted name until it is deleted',
    before: (world) => void world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST }),
    until: ['Stalled', 'True', 'RoleNotOwned'],
    remedy: (world) => world.aws.admin.removeRole({ name: ROLE }),
  },
  'role-of-another-cluster': {
    title: 'a role of the wanted name that serves another cluster',
    before: (world) => {
      const tags = {
        'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster':
          'arn:aws:eks:eu-west-1:123456789012:cluster/default_prod-control-plane',
      };
      world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST, tags });
    },
    until: ['Stalled', 'True', 'RoleNotOwned'],
    remedy: (world) => patchWeb(world, { spec: { roleARN: `arn:aws:iam::123456789012:role/${ROLE}` } }),
  },
  'role-vanished': {
    title: 'a Ready profile whose foreign role is deleted',
    arrange: async (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'platform', trustPolicy: CAPA_TRUST });
      await startUntilReady(world, { roleARN });
      world.aws.admin.removeRole({ name: 'platform' });
    },
    until: ['Stalled', 'True', 'RoleNotFound'],
    remedy: async (world) => {
      world.aws.admin.putRole({ name: 'platform', trustPolicy: CAPA_TRUST });
      await world.reason(WEB, 'RoleRecreated');
      renewAccessEntry(world, 'platform');
    },
  },
  'brought-role-recreated': {
    title: 'a Ready profile whose foreign role is deleted and created again',
    arrange: async (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'platform', trustPolicy: CAPA_TRUST });
      await startUntilReady(world, { roleARN });
      world.aws.admin.removeRole({ name: 'platform' });
      world.aws.admin.putRole({ name: 'platform', trustPolicy: CAPA_TRUST });
      world.triggerReconcile(WEB);
    },
    until: ['Stalled', 'True', 'RoleRecreated'],
    remedy: (world) => renewAccessEntry(world, 'platform'),
  },
  'role-trust-invalid': {
    title: 'a foreign role that Fargate may not assume',
    arrange: (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'platform', trustPolicy: NOBODY });
      startAndApply(world, { roleARN });
    },
    until: ['Stalled', 'True', 'RoleTrustInvalid'],
    remedy: (world) => {
      world.aws.admin.removeRole({ name: 'platform' });
      world.aws.admin.putRole({ name: 'platform', trustPolicy: CAPA_TRUST });
    },
  },
  'role-path-not-mapped': {
    title: 'a role path in an EKS cluster that admits pods by aws-auth only',
    spec: { rolePath: '/team-a/' },
    before: (world) => world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'CONFIG_MAP' }),
    until: ['Stalled', 'True', 'RolePathNotMapped'],
    remedy: (world) => world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'API_AND_CONFIG_MAP' }),
  },
  'brought-role-path-not-mapped': {
    title: 'a foreign role with a path in an EKS cluster that admits pods by aws-auth only',
    arrange: (world) => {
      world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'CONFIG_MAP' });
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'pods', path: '/team-a/', trustPolicy: CAPA_TRUST });
      startAndApply(world, { roleARN });
    },
    until: ['Stalled', 'True', 'RolePathNotMapped'],
    remedy: (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'plain-pods', trustPolicy: CAPA_TRUST });
      patchWeb(world, { spec: { roleARN } });
    },
  },
  'role-path-not-mapped-while-ready': {
    title: 'a Ready profile with a role path in an EKS cluster that admits pods by aws-auth only',
    spec: { rolePath: '/team-a/' },
    after: async (world) => {
      const principalArn = `arn:aws:iam::${ACCOUNT}:role/team-a/${ROLE}`;
      world.aws.admin.removeAccessEntry({ cluster: EKS_CLUSTER, principalArn });
      world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'CONFIG_MAP' });
      await world.clock.advance(90 * MINUTE);
    },
    until: ['Ready', 'True', 'Ready'],
  },
  'role-propagating': {
    title: 'a role that EKS does not trust yet',
    options: { aws: { iam: { trustVisibleToEksMs: 60 * SECOND } } },
    until: ['Ready', 'False', 'Propagating'],
    readAfter: 20 * SECOND,
  },
  'role-trust-refused': {
    title: 'a role whose correct trust policy EKS does not accept',
    before: (world) => void world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: MISCONFIGURED }),
    until: ['Stalled', 'True', 'RoleTrustInvalid'],
    remedy: (world) => world.aws.admin.clearFaults(),
  },
  'role-settings-conflict': {
    title: 'a role for which an older profile has other settings',
    arrange: async (world) => {
      await world.startWithReadyObject('older', {
        roleName: 'shared-pods',
        rolePath: '/pods/',
        additionalTags: { team: 'a' },
      });
      world.applyWith(WEB, { roleName: 'shared-pods', additionalTags: { team: 'b' } });
    },
    until: ['Stalled', 'True', 'RoleSettingsConflict'],
    remedy: (world) => patchWeb(world, { spec: { roleName: 'web-pods' } }),
  },
  'role-of-another-manager-leaving': {
    title: 'a role that an object of another manager has and does not want any more',
    arrange: async (world) => {
      const filter = 'cluster.x-k8s.io/watch-filter';
      const former = world.start('--watch-filter', 'green');
      world.applyWith('older', { roleName: 'shared-pods' });
      world.patch(PLURAL, 'older', { metadata: { labels: { [filter]: 'green' } } });
      await world.ready('older');
      await world.stop(former);
      world.delete('older');
      world.start('--watch-filter', 'blue');
      world.applyWith(WEB, { roleName: 'shared-pods' });
      patchWeb(world, { metadata: { labels: { [filter]: 'blue' } } });
    },
    until: ['Reconciling', 'True', 'WaitingForRoleDeletion'],
    remedy: (world) => void world.start('--watch-filter', 'green'),
  },
  'role-restored': {
    title: 'a Ready profile whose own role was deleted in IAM and is created again with its access entry',
    after: async (world) => {
      world.aws.admin.removeRole({ name: ROLE });
      world.triggerReconcile(WEB);
      await world.clock.advance(MINUTE);
    },
    until: ['Ready', 'True'],
    readAfter: AT_ONCE,
  },
  'access-entry-outdated': {
    title: 'a new profile whose role has the access entry of a deleted role, which the manager may not read',
    arrange: async (world) => {
      world.aws.admin.putAccessEntry({ cluster: EKS_CLUSTER, principalArn: ROLE_ARN });
      await world.clock.advance(2 * SECOND);
      denyAction(world, 'eks:DescribeAccessEntry');
      await startUntilReady(world);
    },
    until: ['Ready', 'True'],
    readAfter: AT_ONCE,
  },
  'role-recreated': {
    title: 'a Ready profile whose own role is deleted in IAM, if the manager may not change access entries',
    after: (world) => {
      denyAction(world, 'eks:DeleteAccessEntry');
      world.aws.admin.removeRole({ name: ROLE });
      world.triggerReconcile(WEB);
    },
    until: ['Stalled', 'True', 'RoleRecreated'],
    remedy: (world) => renewAccessEntry(world, ROLE),
  },
  'role-being-restored': {
    title: 'a Ready profile whose own role was deleted in IAM, while EKS does not answer about its access entry',
    after: (world) => {
      world.aws.admin.addFault({ operation: 'DescribeAccessEntry', kind: 'no-answer-before' });
      world.aws.admin.removeRole({ name: ROLE });
      world.triggerReconcile(WEB);
    },
    until: ['Ready', 'False', 'RestoringRole'],
    readAfter: 5 * MINUTE,
    remedy: (world) => world.aws.admin.clearFaults(),
  },
  'role-of-capa-shared': {
    title: 'the missing role that Cluster API Provider AWS shares between all profiles',
    spec: { roleName: 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io' },
    until: ['Stalled', 'True', 'RoleNotFound'],
    remedy: (world) => patchWeb(world, { spec: { roleName: 'web-pods' } }),
  },
  'taken-over': {
    title: 'an adopted profile and role of Cluster API Provider AWS',
    arrange: async (world) => {
      const tags = capaTags(CLUSTER);
      const { arn } = world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST, tags, foreign: false });
      world.aws.admin.putProfile({
        cluster: EKS_CLUSTER,
        name: `default_${WEB}`,
        podExecutionRoleArn: arn,
        selectors: [{ namespace: WEB, labels: {} }],
        tags,
        foreign: false,
      });
      await startUntilReady(world);
    },
    until: ['Ready', 'True'],
    readAfter: AT_ONCE,
  },
  'role-drift': {
    title: 'a role whose changed trust policy is repaired',
    after: async (world) => {
      changeRoleByHand(world, ROLE, { trustPolicy: CAPA_TRUST });
      world.triggerReconcile(WEB);
      await world.clock.advance(MINUTE);
    },
    until: ['Ready', 'True'],
    readAfter: AT_ONCE,
  },
  'tag-removal-denied': {
    title: 'a Ready profile with a tag that AWS does not let the manager remove from the role',
    spec: { additionalTags: { team: 'a' } },
    after: (world) => {
      denyAction(world, 'iam:UntagRole');
      patchWeb(world, { spec: { additionalTags: null } });
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: (world) => world.aws.admin.allow(),
  },
  'role-tags-missing-without-profile': {
    title: 'a Ready object whose role has lost its tags and whose profile was deleted in AWS',
    after: (world) => {
      changeRoleByHand(world, ROLE, { tags: {} });
      world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: PROFILE });
      world.triggerReconcile(WEB);
    },
    until: ['Ready', 'False', 'OwnershipTagMissing'],
    remedy: (world) => changeRoleByHand(world, ROLE, { tags: OWNERSHIP_TAGS }),
  },
  'role-tags-missing': {
    title: 'a deletion whose role has lost its tags, in a teardown',
    after: (world) => {
      changeRoleByHand(world, ROLE, { tags: {} });
      deleteHeld(world, 'awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
    },
    until: ['Stalled', 'True', 'OwnershipTagMissing'],
    remedy: (world) => world.aws.admin.removeRole({ name: ROLE }),
  },
};
