import { DELETE_FOR_MOVE_ANNOTATION, FINALIZER, PAUSED_ANNOTATION, PLURAL } from '../../../api/v1beta2/index.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { CLUSTER, EKS_CLUSTER, HOUR, MINUTE } from '../world/cluster.ts';
import { serveCrd, serveForeignSchema, serveOurSchema } from './foreign-crd.ts';
import type { Phases } from './phase.ts';
import {
  AT_ONCE,
  FORBIDDEN,
  ROLE,
  WEB,
  startAndApply,
  changeRoleByHand,
  deleteHeld,
  denyAction,
  removeAtOnce,
  patchCluster,
  patchWeb,
  putForeignProfile,
  putInstanceProfile,
  startUntilReady,
  refuseRequests,
  serveClusters,
  acceptRequests,
} from './phase.ts';

const SLOW = { aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } };
const CONTROL_PLANE = `${CLUSTER}-control-plane`;
const ISSUE = { code: 'InternalFailure', message: 'The pods could not be evicted', resourceIds: [] };
async function readyAndDeleted(
  world: SimulatedWorld,
  before: (world: SimulatedWorld) => void = () => {},
): Promise<void> {
  await startUntilReady(world);
  before(world);
  world.delete(WEB);
}

/** Situations of an AWSFargateProfile that is being deleted, including problems that block the deletion. */
export const DELETION: Phases = {
  'deleted-while-creating': {
    title: 'a deletion that waits until EKS has created the profile',
    options: SLOW,
    arrange: async (world) => {
      startAndApply(world);
      await world.until('it is being created', () => world.condition(WEB)?.reason === 'Creating');
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'WaitingForCreate'],
    readAfter: AT_ONCE,
  },
  'deletion-in-line': {
    title: 'a deletion that waits until EKS has deleted a foreign profile',
    arrange: (world) => readyAndDeleted(world, () => putForeignProfile(world, 'theirs', { status: 'DELETING' })),
    until: ['Deleting', 'True', 'WaitingForSibling'],
    readAfter: 10 * MINUTE,
    remedy: (world) => world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' }),
  },
  'deletion-during-an-update': {
    title: 'a deletion that waits for an update of the EKS cluster',
    arrange: (world) =>
      readyAndDeleted(world, () => world.aws.admin.setCluster({ name: EKS_CLUSTER, updateInProgressMs: 10 * MINUTE })),
    until: ['Deleting', 'True', 'ClusterUpdating'],
    readAfter: 5 * MINUTE,
  },
  'deletion-during-an-outage': {
    title: 'a deletion while AWS is unreachable',
    arrange: (world) =>
      readyAndDeleted(world, () => void world.aws.admin.addFault({ operation: '*', kind: 'html-503' })),
    until: ['Deleting', 'True', 'AWSUnavailable'],
    remedy: (world) => world.aws.admin.clearFaults(),
  },
  'deletion-refused-by-api-server': {
    title: 'a deletion whose start the manager may not record, without changes in AWS',
    arrange: (world) =>
      readyAndDeleted(world, () => refuseRequests(world, 'PATCH', /\/awsfargateprofiles\/[^/]+$/, 403, FORBIDDEN)),
    until: ['Deleting', 'True', 'APIServerRefused'],
    readAfter: AT_ONCE,
    remedy: acceptRequests,
  },
  'deletion-denied': {
    title: 'a deletion without permission of the manager',
    arrange: (world) => readyAndDeleted(world, () => denyAction(world, 'eks:DeleteFargateProfile')),
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: (world) => world.aws.admin.allow(),
  },
  'delete-failed': {
    title: 'a deletion that ended in DELETE_FAILED',
    options: SLOW,
    arrange: (world) =>
      readyAndDeleted(world, () => world.aws.admin.planFailure({ operation: 'delete', issues: [ISSUE] })),
    until: ['Deleting', 'True', 'DeleteFailed'],
    readAfter: AT_ONCE,
    remedy: (world) => world.aws.admin.clearPlannedFailures(),
  },
  'delete-failed-for-1h': {
    title: 'a deletion that has ended in DELETE_FAILED for an hour',
    options: SLOW,
    arrange: (world) =>
      readyAndDeleted(world, () => world.aws.admin.planFailure({ operation: 'delete', issues: [ISSUE] })),
    until: ['Stalled', 'True', 'DeleteFailed'],
    readAfter: HOUR,
    remedy: (world) => world.aws.admin.clearPlannedFailures(),
  },
  'role-blocked': {
    title: 'a role that cannot be deleted because of a foreign inline policy and an instance profile',
    arrange: (world) =>
      readyAndDeleted(world, () => {
        changeRoleByHand(world, ROLE, { inlinePolicies: { 'by-hand': '{}' } });
        putInstanceProfile(world, 'nodes', [ROLE]);
      }),
    until: ['Stalled', 'True', 'RoleBlocked'],
    remedy: (world) => {
      changeRoleByHand(world, ROLE, { inlinePolicies: {} });
      putInstanceProfile(world, 'nodes', []);
    },
  },
  'role-use-unknown': {
    title: 'a role whose other users the manager may not list',
    spec: { roleName: 'web-pods' },
    after: (world) => {
      denyAction(world, 'eks:ListFargateProfiles');
      world.delete(WEB);
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    remedy: (world) => world.aws.admin.allow(),
  },
  'create-unseen': {
    title: 'a deletion that waits for the unknown result of the create',
    options: { aws: { eks: { describeAfterCreateMs: 40_000, listAfterCreateMs: 40_000 } } },
    arrange: async (world) => {
      world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: 'no-answer-after', times: 1 });
      startAndApply(world);
      await world.until('it was asked for', () =>
        world.mutationsFor(WEB).some(({ operation, applied: done }) => operation === 'CreateFargateProfile' && done),
      );
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'Propagating'],
    readAfter: AT_ONCE,
  },
  'paused-deletion': {
    title: 'a deletion of a paused object',
    after: async (world) => {
      patchWeb(world, { metadata: { annotations: { [PAUSED_ANNOTATION]: '' } } });
      await world.clock.advance(AT_ONCE);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'Paused'],
    remedy: (world) => patchWeb(world, { metadata: { annotations: { [PAUSED_ANNOTATION]: null } } }),
  },
  'paused-deletion-by-cluster': {
    title: 'a deletion in a paused Cluster',
    after: async (world) => {
      patchCluster(world, { spec: { paused: true } });
      await world.clock.advance(AT_ONCE);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'Paused'],
    remedy: (world) => patchCluster(world, { spec: { paused: null } }),
  },
  'cluster-vanished': {
    title: 'a deletion without its Cluster',
    arrange: (world) => readyAndDeleted(world, () => removeAtOnce(world, 'clusters', CLUSTER)),
    until: ['Deleting', 'True', 'ClusterVanished'],
    readAfter: AT_ONCE,
  },
  'target-unknown': {
    title: 'a deletion with unknown account and region',
    arrange: (world) => {
      removeAtOnce(world, 'clusters', CLUSTER);
      world.start();
      world.create(PLURAL, {
        metadata: { name: WEB, finalizers: [FINALIZER] },
        spec: { clusterName: CLUSTER, selectors: [{ namespace: WEB }] },
      });
      world.delete(WEB);
    },
    until: ['Stalled', 'True', 'TargetUnknown'],
    remedy: (world) => patchWeb(world, { spec: { deletionPolicy: 'Retain' } }),
  },
  'clusters-not-served-while-deleting': {
    title: 'a deletion while the API server does not serve Clusters',
    arrange: (world) => readyAndDeleted(world, () => world.api.unserve('clusters')),
    until: ['Deleting', 'True', 'WaitingForAPI'],
    remedy: serveClusters,
  },
  'foreign-schema-while-ready': {
    title: 'a Ready profile under a foreign CRD, with an event and without a status write',
    arrange: async (world) => {
      world.start('--sync-period', '1m');
      world.apply(WEB);
      await world.ready(WEB);
      serveForeignSchema(world);
    },
    until: ['Ready', 'True'],
    remedy: serveOurSchema,
  },
  'foreign-schema-while-deleting': {
    title: 'a deletion under a foreign CRD',
    after: async (world) => {
      serveForeignSchema(world);
      await world.clock.advance(MINUTE);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'ForeignSchema'],
    remedy: serveOurSchema,
  },
  'crd-unreadable': {
    title: 'a deletion by a manager that may not read the CRD',
    before: (world) => serveCrd(world),
    after: (world) => {
      const message = 'customresourcedefinitions.apiextensions.k8s.io is forbidden: User "capaf" cannot get resource';
      refuseRequests(world, 'GET', /\/customresourcedefinitions\//, 403, message);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'WaitingForAPI'],
    remedy: acceptRequests,
  },
  'torn-down': {
    title: 'a profile that is deleted with its control plane',
    options: SLOW,
    after: (world) => deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE),
    until: ['Deleting', 'True', 'DeletingProfile'],
    readAfter: AT_ONCE,
  },
  'retained-in-a-teardown': {
    title: 'a deleted profile with deletionPolicy Retain that blocks the deletion of its cluster',
    spec: { deletionPolicy: 'Retain' },
    after: (world) => {
      deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'RetainBlocksClusterDeletion'],
    remedy: (world) => patchWeb(world, { spec: { deletionPolicy: 'Delete' } }),
  },
  'retained-while-the-cluster-drains': {
    title: 'a deleted profile with deletionPolicy Retain while Cluster API still drains the workers of its Cluster',
    spec: { deletionPolicy: 'Retain' },
    after: (world) => {
      deleteHeld(world, 'clusters', CLUSTER);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'RetainBlocksClusterDeletion'],
    remedy: (world) => patchWeb(world, { spec: { deletionPolicy: 'Delete' } }),
  },
  'protected-in-a-teardown': {
    title: 'a profile of a deleted cluster whose EKS cluster has deletion protection',
    after: (world) => {
      world.aws.admin.setCluster({ name: EKS_CLUSTER, deletionProtection: true });
      deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE);
    },
    until: ['Deleting', 'True', 'ClusterDeletionProtected'],
    remedy: (world) => world.aws.admin.setCluster({ name: EKS_CLUSTER, deletionProtection: false }),
  },
  'move-abandoned': {
    title: 'a Ready profile that an aborted clusterctl move has marked for deletion',
    after: (world) => patchWeb(world, { metadata: { annotations: { [DELETE_FOR_MOVE_ANNOTATION]: '' } } }),
    until: ['Stalled', 'True', 'MoveAbandoned'],
    remedy: (world) => patchWeb(world, { metadata: { annotations: { [DELETE_FOR_MOVE_ANNOTATION]: null } } }),
  },
};
