import { crd } from '../../../api/v1beta2/crd.ts';
import { FINALIZER, PAUSED_ANNOTATION, PLURAL } from '../../../api/v1beta2/index.ts';
import type { KernelWorld } from '../world.ts';
import { CLUSTER, EKS_CLUSTER, MINUTE } from '../world.ts';
import type { Phase } from './phase.ts';
import {
  AT_ONCE,
  FORBIDDEN,
  HOUR,
  ROLE,
  WEB,
  applied,
  changeInIam,
  deleteHeld,
  denyTo,
  lose,
  patchCluster,
  patchWeb,
  putTheirs,
  ready,
  refusePatches,
  serveClusters,
  takePatches,
} from './phase.ts';

const SLOW = { aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } };
const CONTROL_PLANE = `${CLUSTER}-control-plane`;
const ISSUE = { code: 'InternalFailure', message: 'The pods could not be evicted', resourceIds: [] };
const CRD_KIND = {
  group: 'apiextensions.k8s.io',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  versions: ['v1'],
  namespaced: false,
};
const CRD_NAME = `${PLURAL}.infrastructure.cluster.x-k8s.io`;

async function readyAndDeleted(world: KernelWorld, before: (world: KernelWorld) => void = () => {}): Promise<void> {
  await ready(world);
  before(world);
  world.delete(WEB);
}

/** Cluster API Provider AWS's CRD, as far as it matters: it knows nothing of ours. */
function serveForeignSchema(world: KernelWorld): void {
  world.api.serve(CRD_KIND);
  const [version] = crd.spec.versions;
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { properties: { clusterName: {} } } } } };
  world.create(CRD_KIND.plural, {
    metadata: { name: CRD_NAME, labels: { 'cluster.x-k8s.io/provider': 'infrastructure-aws' } },
    spec: { versions: [{ ...version, schema }] },
  });
}
const serveOurSchema = (world: KernelWorld): void =>
  world.patch(CRD_KIND.plural, CRD_NAME, { spec: { versions: crd.spec.versions } });

/** The end of an object, and what holds it up. */
export const DELETION: readonly Phase[] = [
  {
    name: 'deleted-while-creating',
    says: 'a deletion that waits until EKS has created the profile',
    options: SLOW,
    arrange: async (world) => {
      applied(world);
      await world.until('it is being created', () => world.condition(WEB)?.reason === 'Creating');
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'WaitingForCreate'],
    readAfter: AT_ONCE,
  },
  {
    name: 'deletion-in-line',
    says: 'a deletion that waits until EKS has done with somebody else’s profile',
    arrange: (world) => readyAndDeleted(world, () => putTheirs(world, 'theirs', { status: 'DELETING' })),
    until: ['Deleting', 'True', 'WaitingForSibling'],
    readAfter: 10 * MINUTE,
    cure: (world) => world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' }),
  },
  {
    name: 'deletion-during-an-update',
    says: 'a deletion that waits for the end of an update of the cluster',
    arrange: (world) =>
      readyAndDeleted(world, () => world.aws.admin.setCluster({ name: EKS_CLUSTER, updateInProgressMs: 10 * MINUTE })),
    until: ['Deleting', 'True', 'ClusterUpdating'],
    readAfter: 5 * MINUTE,
  },
  {
    name: 'deletion-during-an-outage',
    says: 'a deletion while AWS is out of reach',
    arrange: (world) =>
      readyAndDeleted(world, () => void world.aws.admin.addFault({ operation: '*', kind: 'html-503' })),
    until: ['Deleting', 'True', 'AWSUnavailable'],
    cure: (world) => world.aws.admin.clearFaults(),
  },
  {
    name: 'deletion-refused-by-api-server',
    says: 'a deletion of which the manager may not write down that it begins: nothing is deleted in AWS before',
    arrange: (world) =>
      readyAndDeleted(world, () => refusePatches(world, /\/awsfargateprofiles\/[^/]+$/, 403, FORBIDDEN)),
    until: ['Deleting', 'True', 'APIServerRefused'],
    readAfter: AT_ONCE,
    cure: takePatches,
  },
  {
    name: 'deletion-denied',
    says: 'a deletion that the manager may not make',
    arrange: (world) => readyAndDeleted(world, () => denyTo(world, 'eks:DeleteFargateProfile')),
    until: ['Stalled', 'True', 'AccessDenied'],
    cure: (world) => world.aws.admin.allow(),
  },
  {
    name: 'delete-failed',
    says: 'a deletion that EKS could not bring to its end',
    options: SLOW,
    arrange: (world) =>
      readyAndDeleted(world, () => world.aws.admin.planFailure({ operation: 'delete', issues: [ISSUE] })),
    until: ['Deleting', 'True', 'DeleteFailed'],
    readAfter: AT_ONCE,
    cure: (world) => world.aws.admin.clearPlannedFailures(),
  },
  {
    name: 'delete-failed-for-1h',
    says: 'a deletion that EKS cannot bring to its end, an hour later',
    options: SLOW,
    arrange: (world) =>
      readyAndDeleted(world, () => world.aws.admin.planFailure({ operation: 'delete', issues: [ISSUE] })),
    until: ['Stalled', 'True', 'DeleteFailed'],
    readAfter: HOUR,
    cure: (world) => world.aws.admin.clearPlannedFailures(),
  },
  {
    name: 'role-blocked',
    says: 'a role that cannot go, since somebody gave it a policy of its own',
    arrange: (world) => readyAndDeleted(world, () => changeInIam(world, ROLE, { inlinePolicies: { 'by-hand': '{}' } })),
    until: ['Stalled', 'True', 'RoleBlocked'],
    cure: (world) => changeInIam(world, ROLE, { inlinePolicies: {} }),
  },
  {
    name: 'role-use-unknown',
    says: 'a role of which it cannot be found out whether anybody else uses it',
    arrange: async (world) => {
      await ready(world, { roleName: 'web-pods' });
      denyTo(world, 'eks:ListFargateProfiles');
      world.delete(WEB);
    },
    until: ['Stalled', 'True', 'AccessDenied'],
    cure: (world) => world.aws.admin.allow(),
  },
  {
    name: 'create-unseen',
    says: 'a deletion that waits whether the profile that was asked for is still to come',
    options: { aws: { eks: { describeAfterCreateMs: 40_000, listAfterCreateMs: 40_000 } } },
    arrange: async (world) => {
      world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: 'no-answer-after', times: 1 });
      applied(world);
      await world.until('it was asked for', () =>
        world.mutationsFor(WEB).some(({ operation, applied: done }) => operation === 'CreateFargateProfile' && done),
      );
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'Propagating'],
    readAfter: AT_ONCE,
  },
  {
    name: 'paused-deletion',
    says: 'a deletion that waits for the end of a pause',
    arrange: async (world) => {
      await ready(world);
      patchWeb(world, { metadata: { annotations: { [PAUSED_ANNOTATION]: '' } } });
      await world.clock.advance(AT_ONCE);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'Paused'],
    cure: (world) => patchWeb(world, { metadata: { annotations: { [PAUSED_ANNOTATION]: null } } }),
  },
  {
    name: 'paused-deletion-by-cluster',
    says: 'a deletion that waits for the end of a pause of the Cluster',
    arrange: async (world) => {
      await ready(world);
      patchCluster(world, { spec: { paused: true } });
      await world.clock.advance(AT_ONCE);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'Paused'],
    cure: (world) => patchCluster(world, { spec: { paused: null } }),
  },
  {
    name: 'cluster-vanished',
    says: 'a deletion whose Cluster is not there any more',
    arrange: (world) => readyAndDeleted(world, () => lose(world, 'clusters', CLUSTER)),
    until: ['Deleting', 'True', 'ClusterVanished'],
    readAfter: AT_ONCE,
  },
  {
    name: 'target-unknown',
    says: 'a deletion of which nobody knows where it is to happen',
    arrange: (world) => {
      lose(world, 'clusters', CLUSTER);
      world.start();
      world.create(PLURAL, {
        metadata: { name: WEB, finalizers: [FINALIZER] },
        spec: { clusterName: CLUSTER, selectors: [{ namespace: WEB }] },
      });
      world.delete(WEB);
    },
    until: ['Stalled', 'True', 'TargetUnknown'],
    cure: (world) => patchWeb(world, { spec: { deletionPolicy: 'Retain' } }),
  },
  {
    name: 'clusters-not-served-while-deleting',
    says: 'a deletion while the API server does not know Clusters',
    arrange: (world) => readyAndDeleted(world, () => world.api.unserve('clusters')),
    until: ['Deleting', 'True', 'WaitingForAPI'],
    cure: serveClusters,
  },
  {
    name: 'foreign-schema-while-ready',
    says: 'a profile that is Ready while somebody else’s CRD is served: it is not written, and told of by an event',
    arrange: async (world) => {
      world.start('--sync-period', '1m');
      world.apply(WEB);
      await world.ready(WEB);
      serveForeignSchema(world);
    },
    until: ['Ready', 'True'],
    cure: serveOurSchema,
  },
  {
    name: 'foreign-schema-while-deleting',
    says: 'a deletion while somebody else’s CRD is served',
    arrange: async (world) => {
      await ready(world);
      serveForeignSchema(world);
      await world.clock.advance(MINUTE);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'ForeignSchema'],
    cure: serveOurSchema,
  },
  {
    name: 'torn-down',
    says: 'a profile that goes because its control plane does',
    options: SLOW,
    arrange: async (world) => {
      await ready(world);
      deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE);
    },
    until: ['Deleting', 'True', 'DeletingProfile'],
    readAfter: AT_ONCE,
  },
  {
    name: 'retained-in-a-teardown',
    says: 'a profile that is to be retained, is being deleted, and keeps its cluster from going',
    arrange: async (world) => {
      await ready(world, { deletionPolicy: 'Retain' });
      deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'RetainBlocksClusterDeletion'],
    cure: (world) => patchWeb(world, { spec: { deletionPolicy: 'Delete' } }),
  },
];
