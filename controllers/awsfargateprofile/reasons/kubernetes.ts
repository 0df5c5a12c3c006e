import {
  DELETE_FOR_MOVE_ANNOTATION,
  FINALIZER,
  GROUP,
  PLURAL,
  PROVISIONED_IN_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { ApiRejection } from '../../shared/api-rejections.ts';
import { describeApiRejection } from '../../shared/api-rejections.ts';
import { FOREIGN_SCHEMA_REMEDY } from '../../shared/served-schema.ts';
import type { Abandonment } from './abandonment.ts';
import { describeAbandonment } from './abandonment.ts';
import type { Description } from './entry.ts';
import {
  CONTINUES,
  MINUTE,
  REPLACE_OBJECT,
  RETRIES,
  SECOND,
  defineReason,
  enumerated,
  pollDoubling,
  pollEvery,
  pollRarely,
  quoted,
} from './entry.ts';

const IF_NOTHING_LEFT = ', if AWS has nothing of this object any more,';
const eks = { part: 'EKSFargateProfileReady' } as const;

/** Condition reasons that the controller finds in Kubernetes objects, before it calls AWS. */
export const KUBERNETES_REASONS = {
  WaitingForCluster: defineReason<{ readonly cluster: string }>({
    nature: 'wait',
    poll: pollRarely,
    describe: ({ cluster }) => `Cluster ${cluster} (spec.clusterName) does not exist yet`,
    remedy: () =>
      `The controller continues on its own when the Cluster exists. If spec.clusterName is wrong, delete this object and create it with the right name`,
  }),
  WaitingForAPI: defineReason<{ readonly kind: string; readonly reason: string }>({
    nature: 'outage',
    // A cache that has listed its objects again triggers a reconcile. After a rejected or unanswered request nothing
    // triggers a reconcile, so the controller has to retry.
    poll: pollDoubling(2 * SECOND, 30 * SECOND),
    describe: ({ kind, reason }) => `the controller cannot read ${kind} objects: ${reason}`,
    remedy: () =>
      `If this lasts for more than five minutes, install the CRD of this kind, or give the ServiceAccount of the manager the permission to read it. ${RETRIES}`,
  }),
  APIServerRefused: defineReason<ApiRejection>({
    nature: 'retry',
    mayHideAws: true,
    poll: pollDoubling(2 * SECOND, MINUTE),
    // `Stalled` becomes True after this time. It is longer than the rollout of a webhook, which may reject requests
    // meanwhile.
    patience: 2 * MINUTE,
    describe: describeApiRejection,
    remedy: ({ remedy }) => `${remedy}. ${RETRIES}`,
  }),
  /** `what` has kind and key of the Cluster or control plane that is being deleted. */
  ClusterDeleting: defineReason<{ readonly what: string }>({
    nature: 'wait',
    announced: true,
    poll: pollRarely,
    describe: ({ what }) => `${what} is being deleted, so the controller creates no Fargate profile for it`,
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
    remedy: ({ remedy = 'Correct the problem that the API server names' }) =>
      `${remedy}. The finalizer keeps the control plane until its Fargate profiles are deleted; without it the controller creates no profile. ${RETRIES}`,
  }),
  /** `remaining` is the time for which the controller still changes nothing in AWS. */
  ClusterVanished: defineReason<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    describe: ({ cluster }) =>
      `Cluster ${cluster} does not exist any more. Maybe clusterctl is moving it to another management cluster, so the controller changes nothing in AWS for 30 seconds`,
    remedy: () => 'After that the controller continues with the deletion of this object',
  }),
  /** `cluster` is the Cluster of the object; undefined if the object has no Cluster. */
  MoveAbandoned: defineReason<{ readonly cluster?: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster }) =>
      `this object has the annotation ${DELETE_FOR_MOVE_ANNOTATION}, with which clusterctl move marks an object before it deletes the object here, but ${cluster === undefined ? 'the object is not being deleted' : `Cluster ${cluster} is not paused`}, so no move is running. The controller does nothing for this object`,
    remedy: () =>
      `If the object exists in another management cluster, remove the finalizers of this object and delete it. Otherwise remove the annotation: then the controller continues`,
  }),
  RetainBlocksClusterDeletion: defineReason<{ readonly name: string; readonly cluster: string }>({
    nature: 'human',
    // The retries are frequent, because the deletion of a whole cluster waits for the user's action.
    poll: pollDoubling(15 * SECOND, 2 * MINUTE),
    describe: ({ name, cluster }) =>
      `Fargate profile ${quoted(name)} blocks the deletion of EKS cluster ${quoted(cluster)}: EKS deletes no cluster that has Fargate profiles, and the controller keeps this profile because spec.deletionPolicy is Retain`,
    remedy: () =>
      `Set spec.deletionPolicy of this object to Delete: then the controller deletes the profile and its role. Or delete the profile yourself in AWS. Or delete this object, and then remove ${FINALIZER} from its metadata.finalizers: then you must delete the profile and its role in AWS. Until then the deletion of the cluster waits`,
  }),
  /**
   * `keeper` is the action of the manager against the CRD of another provider. It is set if the manager has the flag
   * --manage-crd.
   */
  ForeignSchema: defineReason<{
    readonly provider?: string | undefined;
    readonly missing: readonly string[];
    readonly keeper?:
      { readonly kind: 'restoring' } | { readonly kind: 'stopped'; readonly problem: string; readonly remedy: string };
  }>({
    nature: 'human',
    poll: pollEvery(15 * SECOND),
    describe: ({ provider, missing, keeper }) =>
      `the CRD ${PLURAL}.${GROUP} comes from ${provider === undefined ? 'another provider' : `provider ${provider}`} and lacks ${enumerated(missing)}. The controller cannot read this object completely, so the controller changes nothing in AWS${keeper?.kind === 'stopped' ? `. ${keeper.problem}` : ''}`,
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
  /** `webhook` is the webhook for AWSFargateProfiles that Cluster API Provider AWS answers. */
  CAPAServesProfiles: defineReason<{ readonly webhook: string }>({
    nature: 'human',
    keepsReady: true,
    poll: pollEvery(15 * SECOND),
    describe: ({ webhook }) =>
      `Cluster API Provider AWS answers the webhook ${webhook}, so its feature gate EKSFargate is on, and its controller reconciles this object. This controller changes nothing in AWS, and leaves the CRD and the webhooks of Cluster API Provider AWS as they are`,
    remedy: () =>
      `Turn off the feature gate EKSFargate of Cluster API Provider AWS (EXP_EKS_FARGATE=false): then this controller takes the object over on its own. To stay with Cluster API Provider AWS instead, remove cluster-api-provider-aws-fargate`,
  }),
  ControlPlaneUnsupported: defineReason<{ readonly cluster: string; readonly kind: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster, kind }) =>
      `the control plane of Cluster ${cluster} is of kind ${kind}, but a Fargate profile needs an AWSManagedControlPlane`,
    remedy: () =>
      'Delete this object, because spec.clusterName cannot be changed. Then create it for a Cluster whose spec.controlPlaneRef names an AWSManagedControlPlane. Until then the controller does nothing for this object',
  }),
  /** `named` is the namespace of the control plane that the Cluster names. */
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
  TargetChanged: defineReason<{
    readonly field: string;
    readonly recorded: string;
    readonly found: string;
    readonly saidBy: 'status' | 'annotation';
    /** Whether the changed field is in the AWSFargateProfile, and not in the control plane. */
    readonly isOfObject?: true;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ field, recorded, found, isOfObject }) =>
      `${field} of ${isOfObject ? 'this object' : 'the control plane'} is now ${quoted(found)}, but it was ${quoted(recorded)} when the Fargate profile of this object was created. The controller changes nothing in AWS`,
    remedy: ({ field, recorded, saidBy, isOfObject }) =>
      isOfObject
        ? saidBy === 'status'
          ? `${REPLACE_OBJECT}: the controller deletes the profile of this object where it was created`
          : `If the profile does not exist there any more, remove the annotation ${PROVISIONED_IN_ANNOTATION} from this object. ${CONTINUES}`
        : saidBy === 'status'
          ? `Set ${field} of the control plane back to ${quoted(recorded)}. Or delete this object: then the controller deletes the profile where it was created`
          : `Set ${field} of the control plane back to ${quoted(recorded)}. Or, if the profile does not exist there any more, remove the annotation ${PROVISIONED_IN_ANNOTATION} from this object. ${CONTINUES}`,
  }),
  /**
   * `missing` is a clause that names the missing object or field. `provisionedIn` is the value of the annotation
   * `provisioned-in`; `undefined` if the object has no such record.
   */
  TargetUnknown: defineReason<{
    readonly missing: string;
    readonly provisionedIn: string | undefined;
    /**
     * The object or field that a user must restore, so that the controller knows again which credentials to use. The
     * default is the Cluster and its control plane.
     */
    readonly cure?: string | undefined;
    /** How a user can end the deletion of the object although its EKS cluster stays unknown. */
    readonly abandonment: Abandonment;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ missing, provisionedIn }) =>
      provisionedIn === undefined
        ? `this object is being deleted, but the controller does not know in which AWS account and region its Fargate profile is: the status does not name them, and ${missing}`
        : `this object is being deleted, and its Fargate profile is in ${provisionedIn} (account/region/EKS cluster). The controller does not know with which AWS credentials to delete the profile, because ${missing}`,
    remedy: ({ cure = 'Restore the Cluster and its control plane', abandonment }) =>
      [
        cure,
        abandonment === 'retain'
          ? `Or${IF_NOTHING_LEFT} set spec.deletionPolicy to Retain: then this object is deleted, and nothing changes in AWS`
          : describeAbandonment(abandonment, IF_NOTHING_LEFT),
        CONTINUES,
      ].join('. '),
  }),
  InvalidSpec: defineReason<Description>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ detail }) => detail,
    remedy: () => `Correct this field. ${CONTINUES}`,
  }),
  TagsInvalid: defineReason<Description>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ detail }) => `AWS does not accept the tags for this object: ${detail}`,
    remedy: () =>
      `Correct the tags that this message names, in spec.additionalTags of this object or of its control plane. ${CONTINUES}`,
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
