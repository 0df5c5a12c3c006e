import type { Unreadable } from 'controller-runtime/cache';
import type { Ms } from 'controller-runtime/env';
import { defineReason, SECOND, pollEvery, pollRarely, MINUTE, pollDoubling } from './definition.ts';
import {
  type Description,
  RETRIES,
  CONTINUES,
  quoted,
  type Abandonment,
  describeAbandonment,
  REPLACE_OBJECT,
  enumerated,
  remedyForUnreadable,
} from './wording.ts';
import { RECORD_ANNOTATION, GROUP, PLURAL, DELETE_FOR_MOVE_ANNOTATION, FINALIZER } from '../../../api/v1beta2/index.ts';
import { type ApiRejection, describeApiRejection } from '../../shared/api-rejections.ts';
import { FOREIGN_SCHEMA_REMEDY } from '../../shared/crd/served-schema.ts';

const eks = { conditionType: 'EKSFargateProfileReady' } as const;

export const CLUSTER_REASONS = {
  WaitingForCluster: defineReason<{ readonly cluster: string }>({
    nature: 'wait',
    poll: pollRarely,
    describe: ({ cluster }) => `Cluster ${cluster} (spec.clusterName) does not exist`,
    remedy: () =>
      'Create the Cluster, and the controller continues. If spec.clusterName is wrong, delete this object and create it with the right name',
  }),
  /** `what` contains kind and key. */
  ClusterDeleting: defineReason<{ readonly what: string }>({
    nature: 'wait',
    announced: true,
    poll: pollRarely,
    describe: ({ what }) => `${what} is being deleted, so the controller does not create the Fargate profile`,
    remedy: () =>
      'If you recreate the cluster, reapply this object once the old cluster is gone. Otherwise delete this object, and remove it from your Git repository',
  }),
  /** clusterctl may be moving the Cluster, so nothing is changed in AWS for the remaining time. */
  ClusterVanished: defineReason<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    describe: ({ cluster }) =>
      `Cluster ${cluster} no longer exists. In case clusterctl is moving it, the controller changes nothing in AWS for 30 seconds`,
    remedy: () => 'No action is needed: the controller then continues to delete this object',
  }),
  WaitingForEKSControlPlane: defineReason<Description>({
    nature: 'wait',
    ...eks,
    poll: pollRarely,
    describe: ({ detail }) => detail,
    remedy: () => 'The controller waits and then continues',
  }),
  GuardRefused: defineReason<{
    readonly controlPlane: string;
    readonly reason: string;
    readonly remedy?: string | undefined;
  }>({
    nature: 'wait',
    poll: pollEvery(10 * SECOND),
    describe: ({ controlPlane, reason: refusal }) =>
      `the controller cannot add its finalizer to AWSManagedControlPlane ${controlPlane}: ${refusal}`,
    remedy: ({ remedy = 'Fix the problem that the API server reports' }) =>
      `${remedy}. Without the finalizer the controller creates no Fargate profile. ${RETRIES}`,
  }),
  ControlPlaneUnsupported: defineReason<{ readonly cluster: string; readonly kind: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster, kind }) =>
      `the control plane of Cluster ${cluster} is of kind ${kind}, but a Fargate profile needs an AWSManagedControlPlane`,
    remedy: () =>
      'Delete this object, because spec.clusterName cannot be changed, and create it for a Cluster whose spec.controlPlaneRef names an AWSManagedControlPlane. Until then the controller does nothing for this object',
  }),
  ControlPlaneElsewhere: defineReason<{
    readonly cluster: string;
    readonly namespace: string;
    readonly named: string;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster, namespace, named }) =>
      `spec.controlPlaneRef.namespace of Cluster ${cluster} is ${quoted(named)}, but the control plane of a Cluster must be in the namespace of the Cluster, ${quoted(namespace)}`,
    remedy: ({ namespace }) =>
      `Remove spec.controlPlaneRef.namespace from the Cluster, or set it to ${quoted(namespace)}. ${CONTINUES}`,
  }),
} as const;

const START_OVER = `To leave the recorded profile in AWS and continue with the new value, remove the annotation ${RECORD_ANNOTATION} from this object`;

export const TARGET_REASONS = {
  /** `provisionedIn`: account, region and EKS cluster, as text. */
  ClusterNotNamed: defineReason<{ readonly provisionedIn: string | undefined }>({
    nature: 'human',
    poll: pollRarely,
    describe: () =>
      'the spec has neither clusterName nor eksCluster. The API server probably dropped eksCluster while the CRD of another provider was installed',
    remedy: ({ provisionedIn }) =>
      provisionedIn === undefined
        ? `Set spec.clusterName to the name of a Cluster of this namespace, or set spec.eksCluster. ${CONTINUES}`
        : `Set name and region in spec.eksCluster again, and identityRef if it was set: the Fargate profile is recorded in ${provisionedIn} (account/region/name). ${CONTINUES}`,
  }),
  UseClusterName: defineReason<{
    readonly eksCluster: string;
    readonly controlPlane: string;
    readonly cluster: string | undefined;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ eksCluster, controlPlane }) =>
      `Cluster API manages EKS cluster ${quoted(eksCluster)} (AWSManagedControlPlane ${controlPlane}), so the controller creates nothing in AWS for this object`,
    remedy: ({ cluster }) =>
      `Delete this object, and create it with ${cluster === undefined ? 'spec.clusterName' : `spec.clusterName ${quoted(cluster)}`} instead of spec.eksCluster`,
  }),
  RegionUnknown: defineReason<{ readonly cluster: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster }) =>
      `spec.eksCluster has no region for EKS cluster ${quoted(cluster)}, and the controller does not know its own AWS region, which is the default`,
    remedy: () =>
      'If the EKS cluster is in the region of the manager, set AWS_REGION of the manager to this region, and the controller continues. Otherwise delete this object and create it with spec.eksCluster.region, because this field cannot be changed',
  }),
  TargetChanged: defineReason<{
    readonly field: string;
    readonly recorded: string;
    readonly found: string;
    /** The field is in the AWSFargateProfile, and not in the control plane. */
    readonly isOfObject?: true;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ field, recorded, found, isOfObject }) =>
      `${field} of ${isOfObject ? 'this object' : 'the control plane'} is now ${quoted(found)}, but the Fargate profile is recorded in ${quoted(recorded)}, so the controller changes nothing in AWS`,
    remedy: ({ field, recorded, isOfObject }) =>
      isOfObject
        ? `${REPLACE_OBJECT}; unless spec.deletionPolicy is Retain, this deletes the recorded profile. ${START_OVER}`
        : `Set ${field} of the control plane back to ${quoted(recorded)}, and the controller continues. Or delete this object, which deletes the recorded profile unless spec.deletionPolicy is Retain. ${START_OVER}`,
  }),
  /** `missing` is a clause. `role` is the role that the controller may have created. */
  TargetUnknown: defineReason<{
    readonly missing: string;
    readonly provisionedIn: string | undefined;
    readonly profile: string;
    readonly role: string | undefined;
    readonly remedy: string;
    readonly abandonment: Abandonment;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ missing, provisionedIn, profile }) =>
      provisionedIn === undefined
        ? `the deletion of this object waits: the controller does not know the AWS account and region of Fargate profile ${quoted(profile)}, because the annotation ${RECORD_ANNOTATION} does not name them, and ${missing}`
        : `the deletion of this object waits: the controller does not know which AWS credentials to use for Fargate profile ${quoted(profile)} in ${provisionedIn} (account/region/EKS cluster), because ${missing}`,
    remedy: ({ remedy, profile, role, abandonment }) => {
      const ownRole = role === undefined ? '' : `, and IAM role ${quoted(role)} if the controller created it,`;
      return [
        remedy,
        CONTINUES,
        abandonment === 'retain'
          ? `Or delete Fargate profile ${quoted(profile)} in AWS${ownRole} and set spec.deletionPolicy to Retain; the deletion of this object then ends, and the controller changes nothing in AWS`
          : describeAbandonment(abandonment, `, if Fargate profile ${quoted(profile)} no longer exists,`),
      ].join('. ');
    },
  }),
} as const;

export const API_SERVER_REASONS = {
  /** `isInvalid`: the object in `reason` has fields with wrong types. */
  WaitingForAPI: defineReason<Unreadable & { readonly kind: string; readonly isInvalid?: true }>({
    nature: 'outage',
    // No watch event follows a request that was rejected or got no answer.
    poll: pollDoubling(2 * SECOND, 30 * SECOND),
    describe: ({ kind, reason, isInvalid = false }) =>
      `the controller cannot read ${isInvalid ? kind : `${kind} objects:`} ${reason}`,
    remedy: ({ obstacle, isInvalid = false }) =>
      isInvalid ? `Fix each field that this message names. ${RETRIES}` : `${remedyForUnreadable(obstacle)}. ${RETRIES}`,
  }),
  APIServerRefused: defineReason<ApiRejection>({
    nature: 'retry',
    mayStopBeforeAwsRead: true,
    poll: pollDoubling(2 * SECOND, MINUTE),
    // Longer than the rollout of a webhook, which may reject requests until it is complete.
    patience: 2 * MINUTE,
    describe: describeApiRejection,
    remedy: ({ remedy }) => `${remedy}. ${RETRIES}`,
  }),
} as const;

export const FOREIGN_CRD_REASONS = {
  /** `keeper` is set with --manage-crd. */
  ForeignSchema: defineReason<{
    readonly provider?: string | undefined;
    readonly missing: readonly string[];
    readonly keeper?:
      { readonly kind: 'restoring' } | { readonly kind: 'stopped'; readonly problem: string; readonly remedy: string };
  }>({
    nature: 'human',
    poll: pollEvery(15 * SECOND),
    describe: ({ provider, missing, keeper }) =>
      `the CRD ${PLURAL}.${GROUP} ${provider === undefined ? '' : `comes from provider ${provider} and `}lacks ${enumerated(missing)}. The controller cannot read the whole object, so it changes nothing in AWS${keeper?.kind === 'stopped' ? `. ${keeper.problem}` : ''}`,
    remedy: ({ keeper }) => {
      switch (keeper?.kind) {
        case undefined:
          return `${FOREIGN_SCHEMA_REMEDY}. ${CONTINUES}`;
        case 'restoring':
          return `The manager applies its CRD again (--manage-crd) once it has seen that Cluster API Provider AWS does not serve AWSFargateProfiles. ${CONTINUES}`;
        case 'stopped':
          return `${keeper.remedy}. ${CONTINUES}`;
      }
    },
  }),
  CAPAServesProfiles: defineReason<{ readonly webhook: string }>({
    nature: 'human',
    keepsReady: true,
    poll: pollEvery(15 * SECOND),
    describe: ({ webhook }) =>
      `Cluster API Provider AWS answers the webhook ${webhook}, so its feature gate EKSFargate is on, and its controller reconciles this object. This controller changes nothing in AWS, and does not change the CRD or the webhooks`,
    remedy: () =>
      'Turn off the feature gate (EXP_EKS_FARGATE=false), and this controller takes over. Or remove cluster-api-provider-aws-fargate to stay with Cluster API Provider AWS',
  }),
} as const;

export const SPEC_REASONS = {
  InvalidSpec: defineReason<Description>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ detail }) => detail,
    remedy: () => `Fix this field. ${CONTINUES}`,
  }),
  TagsInvalid: defineReason<Description>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ detail }) => `AWS does not accept the tags for this object: ${detail}`,
    remedy: () => `Fix these tags in spec.additionalTags of this object or of its control plane. ${CONTINUES}`,
  }),
  NoPrivateSubnets: defineReason<{ readonly controlPlane: string }>({
    nature: 'human',
    ...eks,
    poll: pollRarely,
    describe: ({ controlPlane }) =>
      `Fargate needs private subnets, but spec.subnetIDs of this object is empty, and spec.network.subnets of AWSManagedControlPlane ${controlPlane} has no private subnet`,
    remedy: () =>
      `Name private subnets in spec.subnetIDs, or add them to spec.network.subnets of the control plane. ${CONTINUES}`,
  }),
} as const;

export const MOVE_AND_DELETION_REASONS = {
  MoveAbandoned: defineReason<{ readonly cluster?: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster }) =>
      `an interrupted clusterctl move probably left the annotation ${DELETE_FOR_MOVE_ANNOTATION} on this object, because ${cluster === undefined ? 'the object is not being deleted' : `Cluster ${cluster} is not paused`}. The controller does nothing while the annotation is set`,
    remedy: () =>
      'If this object now exists in another management cluster, remove its finalizers here and delete it here, which changes nothing in AWS. Otherwise remove the annotation, and the controller continues',
  }),
  /** `problem` completes the sentence "the annotation …". */
  RecordUnreadable: defineReason<{ readonly problem: string }>({
    nature: 'human',
    keepsReady: true,
    poll: pollRarely,
    describe: ({ problem }) =>
      `the annotation ${RECORD_ANNOTATION} ${problem}, so the controller changes nothing in AWS for this object`,
    remedy: () =>
      'If a newer version of the controller wrote it, run that version. Otherwise remove the annotation, and the controller looks for the profile and role in AWS and writes the annotation again',
  }),
  ClusterDeletionProtected: defineReason<{ readonly cluster: string; readonly region: string }>({
    nature: 'human',
    // The polls are frequent, so that the deletion of the EKS cluster continues soon after the user has acted.
    poll: pollDoubling(15 * SECOND, 2 * MINUTE),
    describe: ({ cluster }) =>
      `EKS refuses to delete EKS cluster ${quoted(cluster)} while its deletion protection is on. Deleting its Fargate profiles would only stop their pods, so the controller deletes nothing in AWS for this object`,
    remedy: ({ cluster, region }) =>
      [
        `To delete the EKS cluster, run: aws eks update-cluster-config --name ${cluster} --region ${region} --no-deletion-protection. ${CONTINUES}`,
        describeAbandonment('removeFinalizer', ', to keep the EKS cluster,'),
      ].join('. '),
  }),
  RetainBlocksClusterDeletion: defineReason<{ readonly name: string; readonly cluster: string }>({
    nature: 'human',
    // The polls are frequent, so that the deletion of the EKS cluster continues soon after the user has acted.
    poll: pollDoubling(15 * SECOND, 2 * MINUTE),
    describe: ({ name, cluster }) =>
      `Fargate profile ${quoted(name)} blocks the deletion of EKS cluster ${quoted(cluster)}, because EKS does not delete a cluster that has Fargate profiles, and spec.deletionPolicy is Retain`,
    remedy: () =>
      `Set spec.deletionPolicy to Delete, and the controller deletes the profile and its role. Or, to keep the role, delete only the profile in AWS. To remove this object at once, delete it, remove ${FINALIZER} from its metadata.finalizers, and delete the profile in AWS. The deletion of the cluster waits until the profile is deleted`,
  }),
} as const;
