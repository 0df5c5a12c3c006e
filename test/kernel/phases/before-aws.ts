import { DELETION_REQUESTED_ANNOTATION, FINALIZER, PLURAL } from '../../../api/v1beta2/index.ts';
import { CLUSTER, CONTROL_PLANE_REF, MINUTE } from '../world.ts';
import type { Phase } from './phase.ts';
import {
  AT_ONCE,
  FORBIDDEN,
  WEB,
  applied,
  deleteHeld,
  lose,
  patchCluster,
  patchControlPlane,
  patchWeb,
  ready,
  refusePatches,
  serveClusters,
  takePatches,
} from './phase.ts';

const named = (controlPlaneRef: object | null) => ({ spec: { controlPlaneRef } });

/** As the API server tells that nobody is behind Cluster API Provider AWS's webhook. */
const WEBHOOK_DOWN =
  'Internal error occurred: failed calling webhook "validation.awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io": ' +
  'failed to call webhook: Post "https://capa-webhook-service.capa-system.svc:443/validate-controlplane-cluster-x-k8s-io-v1beta2-awsmanagedcontrolplane?timeout=10s": ' +
  'no endpoints available for service "capa-webhook-service"';

/** As it tells of a webhook of the same provider whose manager serves it only with a feature gate on. */
const CAPA_LEFT_BEHIND =
  'Internal error occurred: failed calling webhook "default.awsfargateprofile.infrastructure.cluster.x-k8s.io": ' +
  'failed to call webhook: the server could not find the requested resource';

/** What is found out from Kubernetes alone. */
export const BEFORE_AWS: readonly Phase[] = [
  {
    name: 'cluster-without-control-plane',
    says: 'a Cluster that names no control plane yet',
    arrange: (world) => {
      patchCluster(world, named(null));
      applied(world);
    },
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    cure: (world) => patchCluster(world, named(CONTROL_PLANE_REF)),
  },
  {
    name: 'control-plane-missing',
    says: 'a control plane that does not exist yet',
    arrange: (world) => {
      patchCluster(world, named({ ...CONTROL_PLANE_REF, name: 'later' }));
      applied(world);
    },
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    cure: (world) => patchCluster(world, named(CONTROL_PLANE_REF)),
  },
  {
    name: 'control-plane-without-region',
    says: 'a control plane that names no region yet',
    arrange: (world) => {
      patchControlPlane(world, { spec: { region: null } });
      applied(world);
    },
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    cure: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  {
    name: 'control-plane-unreadable',
    says: 'a control plane that has a number for a region',
    arrange: (world) => {
      patchControlPlane(world, { spec: { region: 7 } });
      applied(world);
    },
    until: ['Ready', 'False', 'WaitingForAPI'],
    cure: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  {
    name: 'control-plane-unsupported',
    says: 'a control plane of another kind',
    arrange: (world) => {
      patchCluster(world, named({ ...CONTROL_PLANE_REF, kind: 'KubeadmControlPlane' }));
      applied(world);
    },
    until: ['Stalled', 'True', 'ControlPlaneUnsupported'],
    cure: (world) => patchCluster(world, named(CONTROL_PLANE_REF)),
  },
  {
    name: 'control-plane-not-ready-while-ready',
    says: 'a profile that is Ready, of a control plane that is so no longer',
    arrange: async (world) => {
      await ready(world);
      world.patch('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`, { status: { ready: false } }, 'status');
    },
    until: ['Ready', 'True'],
  },
  {
    name: 'clusters-not-served',
    says: 'an API server that does not know Clusters yet',
    arrange: (world) => {
      world.api.unserve('clusters');
      applied(world);
    },
    until: ['Ready', 'False', 'WaitingForAPI'],
    cure: serveClusters,
  },
  {
    name: 'cluster-deleting',
    says: 'a profile that is applied while its Cluster goes: it gets no finalizer, and never anything in AWS',
    arrange: (world) => {
      deleteHeld(world, 'clusters', CLUSTER);
      applied(world);
    },
    until: ['Ready', 'False', 'ClusterDeleting'],
    comesTo: 'nothing',
  },
  {
    name: 'control-plane-deleting',
    says: 'a profile that Git applies again while the control plane goes: it gets no finalizer, and never anything in AWS',
    arrange: (world) => {
      deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
      applied(world);
    },
    until: ['Ready', 'False', 'ClusterDeleting'],
    comesTo: 'nothing',
  },
  {
    name: 'guard-refused',
    says: 'a control plane that takes no finalizer, since the webhook of its own controller is down',
    arrange: (world) => {
      refusePatches(world, /\/awsmanagedcontrolplanes\//, 500, WEBHOOK_DOWN);
      applied(world);
    },
    until: ['Ready', 'False', 'GuardRefused'],
    cure: takePatches,
  },
  {
    name: 'webhook-of-capa-left-behind',
    says: 'an object that cannot be written, since webhooks of Cluster API Provider AWS are left for which nobody answers',
    arrange: (world) => {
      refusePatches(world, /\/awsfargateprofiles\/[^/]+$/, 500, CAPA_LEFT_BEHIND);
      applied(world);
    },
    until: ['Ready', 'False', 'APIServerRefused'],
    cure: takePatches,
  },
  {
    name: 'permission-lost-while-ready',
    says: 'a profile that is Ready, and a manager that may not write its metadata any more',
    arrange: async (world) => {
      await ready(world);
      refusePatches(world, /\/awsfargateprofiles\/[^/]+$/, 403, FORBIDDEN);
      // Which the manager is to put back.
      patchWeb(world, { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': null } } });
    },
    until: ['Stalled', 'True', 'APIServerRefused'],
    readAfter: 5 * MINUTE,
    cure: takePatches,
  },
  {
    name: 'permission-lost-to-say-so',
    says: 'a profile of which nothing can be written any more, not even that',
    arrange: async (world) => {
      await ready(world);
      refusePatches(world, /\/awsfargateprofiles\//, 403, FORBIDDEN);
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
    },
    until: ['Ready', 'True'],
    cure: takePatches,
  },
  {
    name: 'changed-all-the-time',
    says: 'a profile that somebody else writes so often that the manager never does',
    arrange: async (world) => {
      await ready(world);
      refusePatches(world, /\/awsfargateprofiles\//, 409, 'the object has been modified');
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
    },
    until: ['Ready', 'True'],
    cure: takePatches,
  },
  {
    name: 'paused-by-cluster',
    says: 'a profile that was Ready when its Cluster was paused',
    arrange: async (world) => {
      await ready(world);
      patchCluster(world, { spec: { paused: true } });
    },
    until: ['Paused', 'True', 'Paused'],
    cure: (world) => patchCluster(world, { spec: { paused: null } }),
  },
  {
    name: 'moved-ahead-of-its-cluster',
    says: 'an object that was being deleted when clusterctl move took it here, ahead of its Cluster',
    arrange: (world) => {
      lose(world, 'clusters', CLUSTER);
      world.start();
      const mark = '123456789012/us-east-1/default_prod-control-plane';
      const metadata = { name: WEB, finalizers: [FINALIZER], annotations: { [DELETION_REQUESTED_ANNOTATION]: mark } };
      world.create(PLURAL, { metadata, spec: { clusterName: CLUSTER, selectors: [{ namespace: WEB }] } });
    },
    until: ['Ready', 'False', 'WaitingForCluster'],
    cure: (world) =>
      world.create('clusters', { metadata: { name: CLUSTER }, spec: { controlPlaneRef: CONTROL_PLANE_REF } }),
    comesTo: 'gone',
  },
  {
    name: 'undecodable',
    says: 'an object whose spec cannot be read',
    arrange: (world) => applied(world, { selectors: 'default' }),
    until: ['Stalled', 'True', 'InvalidObject'],
    cure: (world) => patchWeb(world, { spec: { selectors: [{ namespace: WEB }] } }),
  },
  {
    name: 'invalid-spec',
    says: 'a role of another account',
    arrange: (world) => applied(world, { roleARN: 'arn:aws:iam::210987654321:role/pods' }),
    until: ['Stalled', 'True', 'InvalidSpec'],
    cure: (world) => patchWeb(world, { spec: { roleARN: null } }),
  },
  {
    name: 'tags-invalid',
    says: 'tags of the control plane that AWS would refuse',
    arrange: (world) => {
      patchControlPlane(world, { spec: { additionalTags: { 'aws:team': 'shop', note: 'x'.repeat(257) } } });
      applied(world);
    },
    until: ['Stalled', 'True', 'TagsInvalid'],
    cure: (world) => patchControlPlane(world, { spec: { additionalTags: null } }),
  },
  {
    name: 'no-private-subnets',
    says: 'a control plane that lists no private subnet',
    arrange: (world) => {
      patchControlPlane(world, { spec: { network: { subnets: [] } } });
      applied(world);
    },
    until: ['Stalled', 'True', 'NoPrivateSubnets'],
    cure: (world) => {
      const [cluster] = world.aws.admin.clusters();
      const subnetIDs = cluster?.subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id);
      patchWeb(world, { spec: { subnetIDs } });
    },
  },
  {
    name: 'target-changed',
    says: 'a control plane that names another region than the one that the profile is in',
    arrange: async (world) => {
      await ready(world);
      patchControlPlane(world, { spec: { region: 'eu-central-1' } });
    },
    until: ['Stalled', 'True', 'TargetChanged'],
    cure: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  {
    name: 'paused-before-anything',
    says: 'a profile that was paused when it was made',
    arrange: (world) => {
      patchCluster(world, { spec: { paused: true } });
      applied(world);
    },
    until: ['Paused', 'True', 'Paused'],
    readAfter: AT_ONCE,
    cure: (world) => patchCluster(world, { spec: { paused: null } }),
  },
];
