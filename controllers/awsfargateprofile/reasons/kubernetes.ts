import type { Unreadable } from 'controller-runtime/cache';
import type { Ms } from 'controller-runtime/env';
import { RECORD_ANNOTATION, GROUP, PLURAL, DELETE_FOR_MOVE_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { type ApiRejection, partsOfRejection } from '../../shared/api-rejections.ts';
import { FOREIGN_SCHEMA_REMEDY } from '../../shared/crd/served-schema.ts';
import { defineReason, EKS, IN_KUBERNETES } from './definition.ts';
import { MINUTE, pollAfterRest, pollClusterDeletion, pollOften, pollRarely, pollSoon } from './delays.ts';
import {
  type Description,
  retries,
  continues,
  quoted,
  type Abandonment,
  describeAbandonment,
  REPLACE_OBJECT,
  enumerated,
  remedyForUnreadable,
} from './wording.ts';

const START_OVER = `To leave the recorded profile in AWS and continue with the new value, remove the annotation ${RECORD_ANNOTATION} from this object`;

export const KUBERNETES_REASONS = {
  /** `isInvalid` means that the object in `reason` has fields with wrong types. */
  WaitingForAPI: defineReason<Unreadable & { readonly kind: string; readonly isInvalid?: true }>({
    nature: 'outage',
    poll: pollSoon,
    problem: ({ kind, reason, obstacle, isInvalid = false }) => {
      if (isInvalid) return `the controller cannot read ${kind} ${reason}`;
      const what = `the controller cannot read ${kind} objects`;
      return obstacle?.kind === 'forbidden' ? what : `${what}: ${reason}`;
    },
    remedy: ({ obstacle, isInvalid = false }) =>
      isInvalid ? 'Fix each field that this message names' : remedyForUnreadable(obstacle),
    outlook: retries,
    quote: ({ reason, obstacle }) => (obstacle?.kind === 'forbidden' ? { said: reason } : undefined),
  }),
  APIServerRefused: defineReason<ApiRejection>({
    nature: 'retry',
    mayStopBeforeAwsRead: true,
    poll: pollSoon,
    // Longer than the rollout of a webhook, which may reject requests until it is complete.
    patience: 2 * MINUTE,
    problem: (rejection) => partsOfRejection(rejection).problem,
    remedy: ({ remedy }) => remedy,
    outlook: retries,
    quote: (rejection) => partsOfRejection(rejection).quote,
  }),
  /** `keeper` is set only if the manager runs with --manage-crd. */
  ForeignSchema: defineReason<{
    readonly provider?: string | undefined;
    readonly missing: readonly string[];
    readonly keeper?:
      { readonly kind: 'restoring' } | { readonly kind: 'stopped'; readonly problem: string; readonly remedy: string };
  }>({
    nature: 'human',
    poll: pollOften,
    problem: ({ provider, missing, keeper }) =>
      `the CRD ${PLURAL}.${GROUP} ${provider === undefined ? '' : `comes from provider ${provider} and `}lacks ${enumerated(missing)}, so the controller cannot read the whole object and changes nothing in AWS${keeper?.kind === 'stopped' ? `. ${keeper.problem}` : ''}`,
    remedy: ({ keeper }) => {
      switch (keeper?.kind) {
        case undefined:
          return FOREIGN_SCHEMA_REMEDY;
        case 'restoring':
          return undefined;
        case 'stopped':
          return keeper.remedy;
      }
    },
    outlook: ({ keeper }) =>
      keeper?.kind === 'restoring'
        ? 'The manager applies its CRD again (--manage-crd) once it has seen that Cluster API Provider AWS does not serve AWSFargateProfiles, and then continues'
        : continues(),
  }),
  CAPAServesProfiles: defineReason<{ readonly webhook: string }>({
    nature: 'human',
    keepsReady: true,
    poll: pollOften,
    problem: ({ webhook }) =>
      `Cluster API Provider AWS reconciles this object, because its feature gate EKSFargate is on: it answers the webhook ${webhook}. This controller changes nothing in AWS, and does not change the CRD or the webhooks`,
    remedy: () =>
      'To use this controller, turn off the feature gate (EXP_EKS_FARGATE=false). To stay with Cluster API Provider AWS, remove cluster-api-provider-aws-fargate',
    outlook: () => 'This controller takes over when the feature gate is off',
  }),
  /** `isMoved`: the record says that the deletion has begun, as after a move, and nothing contradicts it yet. */
  WaitingForCluster: defineReason<{ readonly cluster: string; readonly isMoved?: boolean }>({
    nature: 'wait',
    poll: pollRarely,
    problem: ({ cluster }) => `Cluster ${cluster} (spec.clusterName) does not exist`,
    remedy: () =>
      'Create the Cluster; if spec.clusterName is wrong, delete this object and create it with the right name',
    outlook: ({ isMoved = false }) =>
      isMoved
        ? 'When the Cluster exists, the controller resumes the deletion of this object, which began before the object was moved or restored, unless the object has a newer Fargate profile in EKS'
        : 'The controller continues when the Cluster exists',
  }),
  ClusterDeleting: defineReason<{ readonly what: string }>({
    nature: 'wait',
    announced: true,
    poll: pollRarely,
    problem: ({ what }) => `${what} is being deleted, so the controller does not create the Fargate profile`,
    remedy: () =>
      'Delete this object, also from your Git repository; if you recreate the cluster, reapply this object after the old cluster is deleted',
  }),
  /** clusterctl may be moving the Cluster, so nothing is changed in AWS for the remaining time. */
  ClusterVanished: defineReason<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    poll: pollAfterRest,
    problem: ({ cluster }) => `Cluster ${cluster} no longer exists`,
    remedy: () => 'No action is needed',
    outlook: () =>
      'The controller changes nothing in AWS for 30 seconds, because clusterctl may be moving the Cluster, and then continues to delete this object',
  }),
  WaitingForEKSControlPlane: defineReason<Description & { readonly remedy: string }>({
    nature: 'wait',
    ...EKS,
    poll: pollRarely,
    problem: ({ detail }) => detail,
    remedy: ({ remedy }) => remedy,
    outlook: () => 'The controller waits and then continues',
  }),
  GuardRefused: defineReason<{
    readonly controlPlane: string;
    readonly reason: string;
    readonly remedy?: string | undefined;
  }>({
    nature: 'wait',
    poll: pollOften,
    problem: ({ controlPlane }) =>
      `the controller cannot add its finalizer to AWSManagedControlPlane ${controlPlane}, so it creates no Fargate profile`,
    remedy: ({ remedy = 'Fix the problem that the API server reports' }) => remedy,
    outlook: retries,
    quote: ({ reason: said }) => ({ said }),
  }),
  ControlPlaneUnsupported: defineReason<{ readonly cluster: string; readonly kind: string }>({
    ...IN_KUBERNETES,
    problem: ({ cluster, kind }) =>
      `the control plane of Cluster ${cluster} is of kind ${kind}, but a Fargate profile needs an AWSManagedControlPlane`,
    remedy: () =>
      'Delete this object and create it for a Cluster whose spec.controlPlaneRef refers to an AWSManagedControlPlane, because spec.clusterName cannot be changed',
    outlook: () => 'Until then the controller does nothing for this object',
  }),
  ControlPlaneElsewhere: defineReason<{
    readonly cluster: string;
    readonly namespace: string;
    readonly named: string;
  }>({
    ...IN_KUBERNETES,
    problem: ({ cluster, namespace, named }) =>
      `spec.controlPlaneRef.namespace of Cluster ${cluster} is ${quoted(named)}, but the control plane of a Cluster must be in the namespace of the Cluster, ${quoted(namespace)}`,
    remedy: ({ namespace }) =>
      `Remove spec.controlPlaneRef.namespace from the Cluster, or set it to ${quoted(namespace)}`,
    outlook: continues,
  }),
  /** `provisionedIn` contains account, region, and EKS cluster as text. */
  ClusterNotNamed: defineReason<{ readonly provisionedIn: string | undefined }>({
    ...IN_KUBERNETES,
    problem: () =>
      'the spec has neither clusterName nor eksCluster, probably because the API server dropped eksCluster while the CRD of another provider was installed',
    remedy: ({ provisionedIn }) =>
      provisionedIn === undefined
        ? 'Set spec.clusterName to the name of a Cluster in this namespace, or set spec.eksCluster'
        : `Set name and region in spec.eksCluster again, and identityRef if it was set: the Fargate profile is recorded in ${provisionedIn} (account/region/name)`,
    outlook: continues,
  }),
  UseClusterName: defineReason<{
    readonly eksCluster: string;
    readonly controlPlane: string;
    readonly cluster: string | undefined;
  }>({
    ...IN_KUBERNETES,
    problem: ({ eksCluster, controlPlane }) =>
      `Cluster API manages EKS cluster ${quoted(eksCluster)} (AWSManagedControlPlane ${controlPlane}), so the controller creates nothing in AWS for an object that names it in spec.eksCluster`,
    remedy: ({ cluster }) =>
      `Delete this object, and create it with ${cluster === undefined ? 'spec.clusterName' : `spec.clusterName ${quoted(cluster)}`} instead of spec.eksCluster`,
  }),
  RegionUnknown: defineReason<{ readonly cluster: string }>({
    ...IN_KUBERNETES,
    problem: ({ cluster }) =>
      `spec.eksCluster has no region for EKS cluster ${quoted(cluster)}, and the controller does not know its own AWS region, which is the default`,
    remedy: () =>
      'Delete this object and create it with spec.eksCluster.region, because this field cannot be changed. If the manager runs in the region of the EKS cluster, you can set AWS_REGION of the manager instead',
    outlook: continues,
  }),
  TargetChanged: defineReason<{
    readonly field: string;
    readonly recorded: string;
    readonly found: string;
    /** Whether the field is in the AWSFargateProfile, and not in the control plane. */
    readonly isOfObject?: true;
  }>({
    ...IN_KUBERNETES,
    problem: ({ field, recorded, found, isOfObject }) =>
      `${field} of ${isOfObject ? 'this object' : 'the control plane'} is now ${quoted(found)}, but the Fargate profile is recorded in ${quoted(recorded)}, so the controller changes nothing in AWS`,
    remedy: ({ field, recorded, isOfObject }) =>
      isOfObject
        ? `${REPLACE_OBJECT}; unless spec.deletionPolicy is Retain, this deletes the recorded profile. ${START_OVER}`
        : `Set ${field} of the control plane back to ${quoted(recorded)}. ${START_OVER}`,
    outlook: ({ isOfObject }) => (isOfObject ? undefined : continues()),
  }),
  /** `missing` is a clause. `role` is the role that the controller may have created. */
  TargetUnknown: defineReason<{
    readonly missing: string;
    readonly profile: string;
    readonly role: string | undefined;
    readonly remedy: string;
    readonly abandonment: Abandonment;
  }>({
    ...IN_KUBERNETES,
    problem: ({ missing, profile }) =>
      `the deletion of this object waits: the controller does not know the AWS account and region of Fargate profile ${quoted(profile)}, because the annotation ${RECORD_ANNOTATION} does not name them, and ${missing}`,
    remedy: ({ remedy, profile, role, abandonment }) => {
      const ownRole = role === undefined ? '' : `, and IAM role ${quoted(role)} if the controller created it`;
      const wayOut =
        abandonment === 'retain'
          ? `If this is not possible, delete Fargate profile ${quoted(profile)} in AWS${ownRole}, and set spec.deletionPolicy to Retain`
          : describeAbandonment(abandonment, `If Fargate profile ${quoted(profile)} no longer exists`, true);
      return `${remedy}. ${wayOut}`;
    },
    outlook: () => 'The controller then continues the deletion',
  }),
  MoveAbandoned: defineReason<{ readonly cluster?: string }>({
    ...IN_KUBERNETES,
    problem: ({ cluster }) =>
      `the annotation ${DELETE_FOR_MOVE_ANNOTATION} stops the controller, and an interrupted clusterctl move probably left it on this object, because ${cluster === undefined ? 'the object is not being deleted' : `Cluster ${cluster} is not paused`}`,
    remedy: () =>
      'If this object now exists in another management cluster, remove its finalizers here and delete it here, which changes nothing in AWS; if not, remove the annotation',
    outlook: continues,
  }),
  /**
   * `problem` completes the sentence "the annotation …". `place` is the location in status, if the record contradicts it.
   */
  RecordUnreadable: defineReason<{ readonly problem: string; readonly place?: string }>({
    ...IN_KUBERNETES,
    keepsReady: true,
    mayStopBeforeAwsRead: true,
    problem: ({ problem }) =>
      `the annotation ${RECORD_ANNOTATION} ${problem}, so the controller changes nothing in AWS for this object`,
    remedy: ({ place }) =>
      place === undefined
        ? 'If a newer version of the controller wrote the annotation, run that version; if not, remove the annotation'
        : 'If a restore brought back the annotation of an earlier object with this name, remove the annotation; if this object has a profile in both places, first delete the other profile in AWS',
    outlook: ({ place }) =>
      `Without the annotation, the controller looks for the profile and role in ${place ?? 'AWS'} and writes the annotation again`,
  }),
  ClusterDeletionProtected: defineReason<{ readonly cluster: string; readonly region: string }>({
    nature: 'human',
    poll: pollClusterDeletion,
    problem: ({ cluster }) =>
      `EKS refuses to delete EKS cluster ${quoted(cluster)} while its deletion protection is on. Deleting its Fargate profiles would only stop their pods, so the controller deletes nothing in AWS for this object`,
    remedy: ({ cluster, region }) =>
      `To delete the EKS cluster, run: aws eks update-cluster-config --name ${cluster} --region ${region} --no-deletion-protection. ${describeAbandonment('removeFinalizer', 'To keep the EKS cluster')}`,
    outlook: () => 'Once the protection is off, the controller continues',
  }),
  RetainBlocksClusterDeletion: defineReason<{ readonly name: string; readonly cluster: string }>({
    nature: 'human',
    poll: pollClusterDeletion,
    problem: ({ name, cluster }) =>
      `Fargate profile ${quoted(name)} blocks the deletion of EKS cluster ${quoted(cluster)}, because EKS does not delete a cluster that has Fargate profiles, and spec.deletionPolicy is Retain`,
    remedy: () =>
      'Set spec.deletionPolicy to Delete, so that the controller deletes the profile and its role. To keep the role, delete only the profile in AWS',
  }),
} as const;
