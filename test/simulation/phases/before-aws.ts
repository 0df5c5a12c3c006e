import { FINALIZER, PLURAL, RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { CLUSTER, CONTROL_PLANE_REF, MINUTE } from '../world/cluster.ts';
import type { Phase } from './phase.ts';
import {
  AT_ONCE,
  FORBIDDEN,
  WEB,
  startAndApply,
  deleteHeld,
  removeAtOnce,
  patchCluster,
  patchControlPlane,
  patchWeb,
  startUntilReady,
  refusePatches,
  serveClusters,
  acceptRequests,
} from './phase.ts';

const named = (controlPlaneRef: object | null) => ({ spec: { controlPlaneRef } });

/** The error of the API server when no pod serves the admission webhook of Cluster API Provider AWS. */
const WEBHOOK_DOWN =
  'Internal error occurred: failed calling webhook "validation.awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io": ' +
  'failed to call webhook: Post "https://capa-webhook-service.capa-system.svc:443/validate-controlplane-cluster-x-k8s-io-v1beta2-awsmanagedcontrolplane?timeout=10s": ' +
  'no endpoints available for service "capa-webhook-service"';

/**
 * The error of the API server when Cluster API Provider AWS has registered an admission webhook for AWSFargateProfile,
 * but does not serve it because the provider's feature gate EKSFargate is off.
 */
const CAPA_LEFT_BEHIND =
  'Internal error occurred: failed calling webhook "default.awsfargateprofile.infrastructure.cluster.x-k8s.io": ' +
  'failed to call webhook: the server could not find the requested resource';

/** Situations in which the manager makes no AWS call yet for an AWSFargateProfile. */
export const BEFORE_AWS: readonly Phase[] = [
  {
    name: 'cluster-without-control-plane',
    title: 'a Cluster that names no control plane yet',
    arrange: (world) => {
      patchCluster(world, named(null));
      startAndApply(world);
    },
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    remedy: (world) => patchCluster(world, named(CONTROL_PLANE_REF)),
  },
  {
    name: 'control-plane-missing',
    title: 'a control plane that does not exist yet',
    arrange: (world) => {
      patchCluster(world, named({ ...CONTROL_PLANE_REF, name: 'later' }));
      startAndApply(world);
    },
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    remedy: (world) => patchCluster(world, named(CONTROL_PLANE_REF)),
  },
  {
    name: 'control-plane-without-region',
    title: 'a control plane that names no region yet',
    arrange: (world) => {
      patchControlPlane(world, { spec: { region: null } });
      startAndApply(world);
    },
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    remedy: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  {
    name: 'control-plane-unreadable',
    title: 'a control plane with a number as region',
    arrange: (world) => {
      patchControlPlane(world, { spec: { region: 7 } });
      startAndApply(world);
    },
    until: ['Ready', 'False', 'WaitingForAPI'],
    remedy: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  {
    name: 'control-plane-unsupported',
    title: 'a control plane of another kind',
    arrange: (world) => {
      patchCluster(world, named({ ...CONTROL_PLANE_REF, kind: 'KubeadmControlPlane' }));
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'ControlPlaneUnsupported'],
    remedy: (world) => patchCluster(world, named(CONTROL_PLANE_REF)),
  },
  {
    name: 'control-plane-elsewhere',
    title: 'a Cluster that names a control plane in another namespace',
    arrange: (world) => {
      patchCluster(world, named({ ...CONTROL_PLANE_REF, namespace: 'team-b' }));
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'ControlPlaneElsewhere'],
    remedy: (world) => patchCluster(world, named({ ...CONTROL_PLANE_REF, namespace: null })),
  },
  {
    name: 'control-plane-not-ready-while-ready',
    title: 'a Ready profile whose control plane is not ready any more',
    arrange: async (world) => {
      await startUntilReady(world);
      world.patch('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`, { status: { ready: false } }, 'status');
    },
    until: ['Ready', 'True'],
  },
  {
    name: 'clusters-not-served',
    title: 'an API server that does not serve Clusters yet',
    arrange: (world) => {
      world.api.unserve('clusters');
      startAndApply(world);
    },
    until: ['Ready', 'False', 'WaitingForAPI'],
    remedy: serveClusters,
  },
  {
    name: 'cluster-deleting',
    title: 'a new profile of a Cluster that is being deleted, without finalizer and AWS resources',
    arrange: (world) => {
      deleteHeld(world, 'clusters', CLUSTER);
      startAndApply(world);
    },
    until: ['Ready', 'False', 'ClusterDeleting'],
    endsAs: 'nothing',
  },
  {
    name: 'control-plane-deleting',
    title: 'a new profile of a control plane that is being deleted, without finalizer and AWS resources',
    arrange: (world) => {
      deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
      startAndApply(world);
    },
    until: ['Ready', 'False', 'ClusterDeleting'],
    endsAs: 'nothing',
  },
  {
    name: 'guard-refused',
    title: 'a control plane that refuses the finalizer because its webhook is down',
    arrange: (world) => {
      refusePatches(world, /\/awsmanagedcontrolplanes\//, 500, WEBHOOK_DOWN);
      startAndApply(world);
    },
    until: ['Ready', 'False', 'GuardRefused'],
    remedy: acceptRequests,
  },
  {
    name: 'webhook-of-capa-left-behind',
    title: 'an object whose writes fail because of leftover webhooks of Cluster API Provider AWS',
    arrange: (world) => {
      refusePatches(world, /\/awsfargateprofiles\/[^/]+$/, 500, CAPA_LEFT_BEHIND);
      startAndApply(world);
    },
    until: ['Ready', 'False', 'APIServerRefused'],
    remedy: acceptRequests,
  },
  {
    name: 'permission-lost-while-ready',
    title: 'a Ready profile whose metadata the manager may not write any more',
    arrange: async (world) => {
      await startUntilReady(world);
      refusePatches(world, /\/awsfargateprofiles\/[^/]+$/, 403, FORBIDDEN);
      // The manager tries to restore the label cluster.x-k8s.io/cluster-name, but the API server refuses the patch.
      patchWeb(world, { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': null } } });
    },
    until: ['Stalled', 'True', 'APIServerRefused'],
    readAfter: 5 * MINUTE,
    remedy: acceptRequests,
  },
  {
    name: 'permission-lost-to-say-so',
    title: 'a profile of which nothing can be written any more, not even that',
    arrange: async (world) => {
      await startUntilReady(world);
      refusePatches(world, /\/awsfargateprofiles\//, 403, FORBIDDEN);
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
    },
    until: ['Ready', 'True'],
    remedy: acceptRequests,
  },
  {
    name: 'changed-all-the-time',
    title: 'an AWSFargateProfile that another client writes so often that each write of the manager conflicts',
    arrange: async (world) => {
      await startUntilReady(world);
      refusePatches(world, /\/awsfargateprofiles\//, 409, 'the object has been modified');
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
    },
    until: ['Ready', 'True'],
    remedy: acceptRequests,
  },
  {
    name: 'paused-by-cluster',
    title: 'a profile that was Ready when its Cluster was paused',
    arrange: async (world) => {
      await startUntilReady(world);
      patchCluster(world, { spec: { paused: true } });
    },
    until: ['Paused', 'True', 'Paused'],
    remedy: (world) => patchCluster(world, { spec: { paused: null } }),
  },
  {
    name: 'moved-ahead-of-its-cluster',
    title: 'an object that was being deleted when clusterctl move took it here, ahead of its Cluster',
    arrange: (world) => {
      removeAtOnce(world, 'clusters', CLUSTER);
      world.start();
      const place = '123456789012/us-east-1/default_prod-control-plane';
      const record = JSON.stringify({
        v: 1,
        for: `default/${WEB}`,
        in: place,
        profiles: [],
        roles: [],
        deleting: true,
      });
      const metadata = { name: WEB, finalizers: [FINALIZER], annotations: { [RECORD_ANNOTATION]: record } };
      world.create(PLURAL, { metadata, spec: { clusterName: CLUSTER, selectors: [{ namespace: WEB }] } });
    },
    until: ['Ready', 'False', 'WaitingForCluster'],
    remedy: (world) =>
      world.create('clusters', { metadata: { name: CLUSTER }, spec: { controlPlaneRef: CONTROL_PLANE_REF } }),
    endsAs: 'gone',
  },
  {
    name: 'undecodable',
    title: 'an object whose spec cannot be read',
    arrange: (world) => startAndApply(world, { selectors: 'default' }),
    until: ['Stalled', 'True', 'InvalidObject'],
    remedy: (world) => patchWeb(world, { spec: { selectors: [{ namespace: WEB }] } }),
  },
  {
    name: 'invalid-spec',
    title: 'a role of another account',
    arrange: (world) => startAndApply(world, { roleARN: 'arn:aws:iam::210987654321:role/pods' }),
    until: ['Stalled', 'True', 'InvalidSpec'],
    remedy: (world) => patchWeb(world, { spec: { roleARN: null } }),
  },
  {
    name: 'tags-invalid',
    title: 'control plane tags that AWS refuses',
    arrange: (world) => {
      patchControlPlane(world, { spec: { additionalTags: { 'aws:team': 'shop', note: 'x'.repeat(257) } } });
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'TagsInvalid'],
    remedy: (world) => patchControlPlane(world, { spec: { additionalTags: null } }),
  },
  {
    name: 'no-private-subnets',
    title: 'a control plane that lists no private subnet',
    arrange: (world) => {
      patchControlPlane(world, { spec: { network: { subnets: [] } } });
      startAndApply(world);
    },
    until: ['Stalled', 'True', 'NoPrivateSubnets'],
    remedy: (world) => {
      const [cluster] = world.aws.admin.clusters();
      const subnetIDs = cluster?.subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id);
      patchWeb(world, { spec: { subnetIDs } });
    },
  },
  {
    name: 'target-changed',
    title: 'a control plane that names another region than the region of the profile',
    arrange: async (world) => {
      await startUntilReady(world);
      patchControlPlane(world, { spec: { region: 'eu-central-1' } });
    },
    until: ['Stalled', 'True', 'TargetChanged'],
    remedy: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  {
    name: 'paused-before-anything',
    title: 'a new profile of a paused Cluster',
    arrange: (world) => {
      patchCluster(world, { spec: { paused: true } });
      startAndApply(world);
    },
    until: ['Paused', 'True', 'Paused'],
    readAfter: AT_ONCE,
    remedy: (world) => patchCluster(world, { spec: { paused: null } }),
  },
];
