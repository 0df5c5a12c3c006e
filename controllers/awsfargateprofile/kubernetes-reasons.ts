import { PROVISIONED_IN_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { Refusal } from '../refusals.ts';
import { matterOf } from '../refusals.ts';
import { REMEDY } from '../served-schema.ts';
import type { Words } from './reason-entry.ts';
import { MINUTE, SECOND, described, doubling, enumerated, every, quoted, watched } from './reason-entry.ts';

const eks = { part: 'EKSFargateProfileReady' } as const;

/** Why AWS is not asked, or not for this: the part of the table of reasons that Kubernetes alone tells. */
export const KUBERNETES_REASONS = {
  WaitingForCluster: described<{ readonly cluster: string }>({
    nature: 'wait',
    poll: watched,
    words: ({ cluster }) => `Cluster ${cluster} does not exist yet`,
  }),
  WaitingForAPI: described<{ readonly kind: string; readonly why: string }>({
    nature: 'outage',
    // A cache that can be read again tells; a request that was refused or not answered is tried again.
    poll: doubling(2 * SECOND, 30 * SECOND),
    words: ({ kind, why }) => `${kind} objects cannot be read: ${why}`,
    cure: () => 'It goes on by itself once they can',
  }),
  APIServerRefused: described<Refusal>({
    nature: 'retry',
    mayHideAws: true,
    poll: doubling(2 * SECOND, MINUTE),
    // A webhook that is being rolled out is back by then.
    patience: 2 * MINUTE,
    words: matterOf,
    cure: ({ cure }) => `${cure}; it goes on by itself`,
  }),
  /** `what`: the Cluster, or its control plane. */
  ClusterDeleting: described<{ readonly what: string }>({
    nature: 'wait',
    poll: watched,
    words: ({ what }) => `${what} is being deleted: no Fargate profile is created for it any more`,
  }),
  WaitingForEKSControlPlane: described<Words>({
    nature: 'wait',
    ...eks,
    poll: watched,
    words: ({ words }) => words,
  }),
  GuardRefused: described<{ readonly controlPlane: string; readonly why: string; readonly cure?: string | undefined }>({
    nature: 'wait',
    poll: every(10 * SECOND),
    words: ({ controlPlane, why: refusal }) =>
      `AWSManagedControlPlane ${controlPlane} does not take the finalizer that keeps it until this profile is gone, so nothing is created: ${refusal}`,
    cure: ({ cure = 'See to what refuses it' }) => `${cure}; it is tried again by itself`,
  }),
  /** `remaining`: how long nothing is changed. */
  ClusterVanished: described<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    words: ({ cluster }) =>
      `Cluster ${cluster} has vanished; in case it is being moved, nothing is changed in AWS for half a minute`,
  }),
  RetainBlocksClusterDeletion: described<{ readonly name: string; readonly cluster: string }>({
    nature: 'human',
    // A whole cluster waits for it.
    poll: doubling(15 * SECOND, 2 * MINUTE),
    words: ({ name, cluster }) =>
      `the cluster is being deleted, and EKS cannot delete cluster ${quoted(cluster)} while it has Fargate profile ${quoted(name)}, which deletionPolicy Retain keeps`,
    cure: () =>
      "Set spec.deletionPolicy to Delete to have the profile deleted; or delete the profile in AWS; or remove this object's finalizer to abandon the profile",
  }),
  ForeignSchema: described<{ readonly provider?: string | undefined; readonly missing: readonly string[] }>({
    nature: 'human',
    poll: every(15 * SECOND),
    words: ({ provider = 'somebody else', missing }) =>
      `the API server serves AWSFargateProfiles with the CRD of ${provider}, which does not know ${enumerated(missing)}: what is read here is not what was written, so nothing is changed in AWS`,
    cure: () => `${REMEDY}; it goes on by itself`,
  }),
  ControlPlaneUnsupported: described<{ readonly cluster: string; readonly kind: string }>({
    nature: 'human',
    poll: watched,
    words: ({ cluster, kind }) =>
      `the control plane of Cluster ${cluster} is of kind ${kind}: Fargate profiles need an AWSManagedControlPlane`,
    cure: () =>
      'Delete this object, since spec.clusterName cannot be changed, and create it for a Cluster whose controlPlaneRef names an AWSManagedControlPlane',
  }),
  TargetChanged: described<{
    readonly field: string;
    readonly recorded: string;
    readonly found: string;
    readonly saidBy: 'status' | 'annotation';
  }>({
    nature: 'human',
    poll: watched,
    words: ({ field, recorded, found }) =>
      `the control plane now names ${field} ${quoted(found)}, but this object was provisioned in ${quoted(recorded)}: nothing is changed in AWS`,
    cure: ({ field, recorded, saidBy }) =>
      saidBy === 'status'
        ? `Set ${field} of the control plane back to ${quoted(recorded)}, or delete this object, which deletes the profile where it was provisioned`
        : `Set ${field} of the control plane back to ${quoted(recorded)}, or, when nothing is left there, take the annotation ${PROVISIONED_IN_ANNOTATION} off this object`,
  }),
  /** `missing`: what is not there to tell, in words. `provisionedIn`: what the annotation says, where status says nothing. */
  TargetUnknown: described<{ readonly missing: string; readonly provisionedIn: string | undefined }>({
    nature: 'human',
    poll: watched,
    words: ({ missing, provisionedIn }) =>
      provisionedIn === undefined
        ? `status does not say in which account and region the profile is, and ${missing} to tell`
        : `the profile is in ${provisionedIn}, and ${missing} to tell with which credentials`,
    cure: () =>
      'Restore the Cluster and its control plane; or, when nothing is left in AWS, set spec.deletionPolicy to Retain to let the object go',
  }),
  InvalidSpec: described<Words>({
    nature: 'human',
    poll: watched,
    words: ({ words }) => words,
  }),
  TagsInvalid: described<Words>({
    nature: 'human',
    poll: watched,
    words: ({ words }) => `AWS would refuse the tags: ${words}`,
    cure: () => 'Correct additionalTags of this object or of its control plane',
  }),
  NoPrivateSubnets: described<{ readonly controlPlane: string }>({
    nature: 'human',
    ...eks,
    poll: watched,
    words: ({ controlPlane }) =>
      `no subnet is named and AWSManagedControlPlane ${controlPlane} lists no private one: Fargate runs in private subnets only`,
    cure: () => "Name private subnets in spec.subnetIDs, or add them to the control plane's spec.network.subnets",
  }),
} as const;
