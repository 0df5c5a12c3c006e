import { FINALIZER, PLURAL, RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { CLUSTER, CONTROL_PLANE_REF, MINUTE } from '../world/cluster.ts';
import type { Phases } from './phase.ts';
import {
  AT_ONCE,
  FORBIDDEN,
  WEB,
  deleteHeld,
  removeAtOnce,
  patchCluster,
  patchControlPlane,
  patchWeb,
  refuseRequests,
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
export const BEFORE_AWS: Phases = {
  'cluster-without-control-plane': {
    title: 'a Cluster that names no control plane yet',
    before: (world) => patchCluster(world, named(null)),
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    remedy: (world) => patchCluster(world, named(CONTROL_PLANE_REF)),
  },
  'control-plane-missing': {
    title: 'a control plane that does not exist yet',
    before: (world) => patchCluster(world, named({ ...CONTROL_PLANE_REF, name: 'later' })),
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    remedy: (world) => patchCluster(world, named(CONTROL_PLANE_REF)),
  },
  'control-plane-without-region': {
    title: 'a control plane that names no region yet',
    before: (world) => patchControlPlane(world, { spec: { region: null } }),
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    remedy: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  'control-plane-unreadable': {
    title: 'a control plane with a number as region',
    before: (world) => patchControlPlane(world, { spec: { region: 7 } }),
    until: ['Ready', 'False', 'WaitingForAPI'],
    remedy: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  'control-plane-unsupported': {
    title: 'a control plane of another kind',
    before: (world) => patchCluster(world, named({ ...CONTROL_PLANE_REF, kind: 'KubeadmControlPlane' })),
    until: ['Stalled', 'True', 'ControlPlaneUnsupported'],
    remedy: (world) => patchCluster(world, named(CONTROL_PLANE_REF)),
  },
  'control-plane-elsewhere': {
    title: 'a Cluster that names a control plane in another namespace',
    before: (world) => patchCluster(world, named({ ...CONTROL_PLANE_REF, namespace: 'team-b' })),
    until: ['Stalled', 'True', 'ControlPlaneElsewhere'],
    remedy: (world) => patchCluster(world, named({ ...CONTROL_PLANE_REF, namespace: null })),
  },
  'control-plane-not-ready-while-ready': {
    title: 'a Ready profile whose control plane is not ready any more',
    after: (world) => world.setControlPlaneReady(false),
    until: ['Ready', 'True'],
  },
  'clusters-not-served': {
    title: 'an API server that does not serve Clusters yet',
    before: (world) => world.api.unserve('clusters'),
    until: ['Ready', 'False', 'WaitingForAPI'],
    remedy: serveClusters,
  },
  'cluster-deleting': {
    title: 'a new profile of a Cluster that is being deleted, without finalizer and AWS resources',
    before: (world) => deleteHeld(world, 'clusters', CLUSTER),
    until: ['Ready', 'False', 'ClusterDeleting'],
    endsAs: 'nothing',
  },
  'control-plane-deleting': {
    title: 'a new profile of a control plane that is being deleted, without finalizer and AWS resources',
    before: (world) => deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name),
    until: ['Ready', 'False', 'ClusterDeleting'],
    endsAs: 'nothing',
  },
  'guard-refused': {
    title: 'a control plane that refuses the finalizer because its webhook is down',
    before: (world) => refuseRequests(world, 'PATCH', /\/awsmanagedcontrolplanes\//, 500, WEBHOOK_DOWN),
    until: ['Ready', 'False', 'GuardRefused'],
    remedy: acceptRequests,
  },
  'webhook-of-capa-left-behind': {
    title: 'an object whose writes fail because of leftover webhooks of Cluster API Provider AWS',
    before: (world) => refuseRequests(world, 'PATCH', /\/awsfargateprofiles\/[^/]+$/, 500, CAPA_LEFT_BEHIND),
    until: ['Ready', 'False', 'APIServerRefused'],
    remedy: acceptRequests,
  },
  'permission-lost-while-ready': {
    title: 'a Ready profile whose metadata the manager may not write any more',
    after: (world) => {
      refuseRequests(world, 'PATCH', /\/awsfargateprofiles\/[^/]+$/, 403, FORBIDDEN);
      // The manager tries to restore the label cluster.x-k8s.io/cluster-name, but the API server refuses the patch.
      patchWeb(world, { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': null } } });
    },
    until: ['Stalled', 'True', 'APIServerRefused'],
    readAfter: 5 * MINUTE,
    remedy: acceptRequests,
  },
  'permission-lost-to-say-so': {
    title: 'a profile of which nothing can be written any more, not even that',
    after: (world) => {
      refuseRequests(world, 'PATCH', /\/awsfargateprofiles\//, 403, FORBIDDEN);
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
    },
    until: ['Ready', 'True'],
    remedy: acceptRequests,
  },
  'changed-all-the-time': {
    title: 'an AWSFargateProfile that another client writes so often that each write of the manager conflicts',
    after: (world) => {
      refuseRequests(world, 'PATCH', /\/awsfargateprofiles\//, 409, 'the object has been modified');
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
    },
    until: ['Ready', 'True'],
    remedy: acceptRequests,
  },
  'paused-by-cluster': {
    title: 'a profile that was Ready when its Cluster was paused',
    after: (world) => patchCluster(world, { spec: { paused: true } }),
    until: ['Paused', 'True', 'Paused'],
    remedy: (world) => patchCluster(world, { spec: { paused: null } }),
  },
  'moved-ahead-of-its-cluster': {
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
  undecodable: {
    title: 'an object whose spec cannot be read',
    spec: { selectors: 'default' },
    until: ['Stalled', 'True', 'InvalidObject'],
    remedy: (world) => patchWeb(world, { spec: { selectors: [{ namespace: WEB }] } }),
  },
  'invalid-spec': {
    title: 'a role of another account',
    spec: { roleARN: 'arn:aws:iam::210987654321:role/pods' },
    until: ['Stalled', 'True', 'InvalidSpec'],
    remedy: (world) => patchWeb(world, { spec: { roleARN: null } }),
  },
  'tags-invalid': {
    title: 'control plane tags that AWS refuses',
    before: (world) =>
      patchControlPlane(world, { spec: { additionalTags: { 'aws:team': 'shop', note: 'x'.repeat(257) } } }),
    until: ['Stalled', 'True', 'TagsInvalid'],
    remedy: (world) => patchControlPlane(world, { spec: { additionalTags: null } }),
  },
  'no-private-subnets': {
    title: 'a control plane that lists no private subnet',
    before: (world) => patchControlPlane(world, { spec: { network: { subnets: [] } } }),
    until: ['Stalled', 'True', 'NoPrivateSubnets'],
    remedy: (world) => {
      const [cluster] = world.aws.admin.clusters();
      const subnetIDs = cluster?.subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id);
      patchWeb(world, { spec: { subnetIDs } });
    },
  },
  'target-changed': {
    title: 'a control plane that names another region than the region of the profile',
    after: (world) => patchControlPlane(world, { spec: { region: 'eu-central-1' } }),
    until: ['Stalled', 'True', 'TargetChanged'],
    remedy: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  'paused-before-anything': {
    title: 'a new profile of a paused Cluster',
    before: (world) => patchCluster(world, { spec: { paused: true } }),
    until: ['Paused', 'True', 'Paused'],
    readAfter: AT_ONCE,
    remedy: (world) => patchCluster(world, { spec: { paused: null } }),
  },
};
