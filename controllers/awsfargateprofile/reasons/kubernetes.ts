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
      `The controller continues on its own when the Cluster exists. If spec.clusterName is wrong, delete this object and create it with the right name`,
  }),
  /** `what` has kind and key. */
  ClusterDeleting: defineReason<{ readonly what: string }>({
    nature: 'wait',
    announced: true,
    poll: pollRarely,
    describe: ({ what }) => `${what} is being deleted, so the controller creates no Fargate profile for it`,
  }),
  /** clusterctl may be moving the Cluster, so nothing is changed in AWS for the time that remains. */
  ClusterVanished: defineReason<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    describe: ({ cluster }) =>
      `Cluster ${cluster} does not exist any more. Maybe clusterctl is moving it to another management cluster, so the controller changes nothing in AWS for 30 seconds`,
    remedy: () =>
      'No action is needed: after that the controller continues with the deletion of this object on its own',
  }),
  WaitingForEKSControlPlane: defineReason<Description>({
    nature: 'wait',
    ...eks,
    poll: pollRarely,
    describe: ({ detail }) => detail,
    remedy: () => 'The controller waits and then continues on its own',
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
      `${remedy}. The finalizer keeps the control plane until its Fargate profiles are deleted; without it the controller creates no profile. ${RETRIES}`,
  }),
  ControlPlaneUnsupported: defineReason<{ readonly cluster: string; readonly kind: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster, kind }) =>
      `the control plane of Cluster ${cluster} is of kind ${kind}, but a Fargate profile needs an AWSManagedControlPlane`,
    remedy: () =>
      'Delete this object, because spec.clusterName cannot be changed. Then create it for a Cluster whose spec.controlPlaneRef names an AWSManagedControlPlane. Until then the controller does nothing for this object',
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

export const TARGET_REASONS = {
  /** `provisionedIn`: account, region and EKS cluster, as text. */
  ClusterNotNamed: defineReason<{ readonly provisionedIn: string | undefined }>({
    nature: 'human',
    poll: pollRarely,
    describe: () =>
      'the spec has neither clusterName nor eksCluster. Probably the API server dropped eksCluster at a time when the CRD of another provider was installed',
    remedy: ({ provisionedIn }) =>
      provisionedIn === undefined
        ? `Set spec.clusterName to the name of a Cluster of this namespace, or set spec.eksCluster. ${CONTINUES}`
        : `Set name and region in spec.eksCluster again, and identityRef if it was set. This object records ${provisionedIn} (account/region/name) as the place of its Fargate profile. ${CONTINUES}`,
  }),
  UseClusterName: defineReason<{
    readonly eksCluster: string;
    readonly controlPlane: string;
    readonly cluster: string | undefined;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ eksCluster, controlPlane }) =>
      `EKS cluster ${quoted(eksCluster)} in spec.eksCluster is that of AWSManagedControlPlane ${controlPlane}, so Cluster API manages it`,
    remedy: ({ cluster }) =>
      `The controller creates nothing in AWS for this object. Delete this object, and create it with ${cluster === undefined ? 'spec.clusterName' : `spec.clusterName ${quoted(cluster)}`} instead of spec.eksCluster`,
  }),
  RegionUnknown: defineReason<{ readonly cluster: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster }) =>
      `spec.eksCluster has no region for EKS cluster ${quoted(cluster)}, and the controller does not know its own AWS region, which is the default`,
    remedy: () =>
      `If the EKS cluster is in the region of the manager, set AWS_REGION of the manager to this region: the controller then continues on its own. Otherwise delete this object and create it with spec.eksCluster.region, because this field cannot be changed`,
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
      `${field} of ${isOfObject ? 'this object' : 'the control plane'} is now ${quoted(found)}, but this object records ${quoted(recorded)} for its Fargate profile. The controller changes nothing in AWS`,
    remedy: ({ field, recorded, isOfObject }) =>
      isOfObject
        ? `${REPLACE_OBJECT}: unless spec.deletionPolicy is Retain, the controller then deletes the profile of this object where it was created. Or, to leave the profile as it is, remove the annotation ${RECORD_ANNOTATION} from this object. ${CONTINUES}`
        : `Set ${field} of the control plane back to ${quoted(recorded)}. Or delete this object: unless spec.deletionPolicy is Retain, the controller then deletes the profile where it was created. Or, to leave the profile as it is, remove the annotation ${RECORD_ANNOTATION} from this object. ${CONTINUES}`,
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
        ? `this object is being deleted, but the controller does not know in which AWS account and region its Fargate profile ${quoted(profile)} is: the annotation ${RECORD_ANNOTATION} does not name them, and ${missing}`
        : `this object is being deleted, and records ${provisionedIn} (account/region/EKS cluster) as the place of its Fargate profile ${quoted(profile)}. The controller does not know with which AWS credentials to delete the profile, because ${missing}`,
    remedy: ({ remedy, profile, role, abandonment }) => {
      const ownRole = role === undefined ? '' : `, and IAM role ${quoted(role)} if the controller created it,`;
      return [
        remedy,
        CONTINUES,
        abandonment === 'retain'
          ? `Or delete Fargate profile ${quoted(profile)} in AWS${ownRole} and set spec.deletionPolicy to Retain: then the deletion of this object ends, and the controller changes nothing in AWS`
          : describeAbandonment(abandonment, `, if AWS has Fargate profile ${quoted(profile)} no longer,`),
      ].join('. ');
    },
  }),
} as const;

export const API_SERVER_REASONS = {
  /** `isInvalid`: the object that `reason` names has fields with wrong types. */
  WaitingForAPI: defineReason<{ readonly kind: string; readonly reason: string; readonly isInvalid?: true }>({
    nature: 'outage',
    // No watch event follows a request that was rejected or got no answer.
    poll: pollDoubling(2 * SECOND, 30 * SECOND),
    describe: ({ kind, reason, isInvalid = false }) =>
      `the controller cannot read ${isInvalid ? kind : `${kind} objects:`} ${reason}`,
    remedy: ({ isInvalid = false }) =>
      isInvalid
        ? `Fix each field that this message names. ${RETRIES}`
        : `If this lasts longer than five minutes, check that the CRD of this kind is installed, and that the ServiceAccount of the manager may read objects of this kind. ${RETRIES}`,
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
      `the CRD ${PLURAL}.${GROUP} ${provider === undefined ? '' : `comes from provider ${provider} and `}lacks ${enumerated(missing)}. The controller cannot read this object completely, so the controller changes nothing in AWS${keeper?.kind === 'stopped' ? `. ${keeper.problem}` : ''}`,
    remedy: ({ keeper }) => {
      switch (keeper?.kind) {
        case undefined:
          return `${FOREIGN_SCHEMA_REMEDY}. ${CONTINUES}`;
        case 'restoring':
          return `The manager applies its CRD again on its own (--manage-crd), when it has seen that Cluster API Provider AWS does not serve AWSFargateProfiles. ${CONTINUES}`;
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
      `Cluster API Provider AWS answers the webhook ${webhook}, so its feature gate EKSFargate is on, and its controller reconciles this object. This controller changes nothing in AWS, and leaves the CRD and the webhooks of Cluster API Provider AWS as they are`,
    remedy: () =>
      `Turn off the feature gate EKSFargate of Cluster API Provider AWS (EXP_EKS_FARGATE=false): then this controller takes the object over on its own. To stay with Cluster API Provider AWS instead, remove cluster-api-provider-aws-fargate`,
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
    remedy: () =>
      `Fix the tags that this message names, in spec.additionalTags of this object or of its control plane. ${CONTINUES}`,
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
      `the annotation ${DELETE_FOR_MOVE_ANNOTATION} says that clusterctl is about to delete this object here, because it has moved the object. But ${cluster === undefined ? 'the object is not being deleted' : `Cluster ${cluster} is not paused`}, so clusterctl is probably not moving it. The controller does nothing for this object`,
    remedy: () =>
      `If the object exists in another management cluster, remove the finalizers of this object here and delete it here: then nothing changes in AWS. Otherwise remove the annotation: then the controller continues`,
  }),
  /** `problem` completes the sentence "the annotation …". */
  RecordUnreadable: defineReason<{ readonly problem: string }>({
    nature: 'human',
    keepsReady: true,
    poll: pollRarely,
    describe: ({ problem }) =>
      `the annotation ${RECORD_ANNOTATION}, in which the controller notes what this object has in AWS, ${problem}. The controller changes nothing in AWS for this object`,
    remedy: () =>
      `If a newer version of the controller has written the annotation, run that version. Otherwise remove the annotation: then the controller looks for what this object has in AWS, and writes the annotation again`,
  }),
  ClusterDeletionProtected: defineReason<{ readonly cluster: string; readonly region: string }>({
    nature: 'human',
    // The polls are frequent, so that the deletion of the EKS cluster continues soon after the user has acted.
    poll: pollDoubling(15 * SECOND, 2 * MINUTE),
    describe: ({ cluster }) =>
      `EKS cluster ${quoted(cluster)} is to be deleted, but EKS refuses that while the deletion protection of the cluster is on. The deletion of its Fargate profiles would only stop their pods, so the controller deletes nothing of this object in AWS`,
    remedy: ({ cluster, region }) =>
      [
        `If you want to delete the EKS cluster, run: aws eks update-cluster-config --name ${cluster} --region ${region} --no-deletion-protection. ${CONTINUES}`,
        describeAbandonment('removeFinalizer', ', if you want to keep the EKS cluster,'),
      ].join('. '),
  }),
  RetainBlocksClusterDeletion: defineReason<{ readonly name: string; readonly cluster: string }>({
    nature: 'human',
    // The polls are frequent, so that the deletion of the EKS cluster continues soon after the user has acted.
    poll: pollDoubling(15 * SECOND, 2 * MINUTE),
    describe: ({ name, cluster }) =>
      `Fargate profile ${quoted(name)} blocks the deletion of EKS cluster ${quoted(cluster)}: EKS deletes no cluster that has Fargate profiles, and the controller keeps this profile because spec.deletionPolicy is Retain`,
    remedy: () =>
      `If you no longer need the profile and its role, set spec.deletionPolicy of this object to Delete: then the controller deletes both. If you want to keep the role, delete only the profile yourself in AWS. Or, if this object must go at once, delete it, remove ${FINALIZER} from its metadata.finalizers, and delete the profile yourself in AWS. The deletion of the cluster waits until the profile is gone`,
  }),
} as const;
