import type { AccountId, ClusterName, EksClusterName } from '../../../api/names.ts';
import type { IdentityRef } from '../../../pkg/cloud/index.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { Abandonment } from '../reasons/wording/abandonment.ts';
import type { Reason } from '../reasons/reasons.ts';

/**
 * The EKS cluster to which an AWSFargateProfile belongs, and the identity for the calls to AWS. The AWS account is left
 * out, because the account follows from the credentials of the identity.
 */
export interface Target {
  /** The name of the Cluster; undefined if spec.eksCluster names the EKS cluster instead. */
  readonly clusterName: ClusterName | undefined;
  readonly eksCluster: EksClusterName;
  readonly region: string;
  readonly identity: IdentityRef | undefined;
  /** The UID of the AWSManagedControlPlane that names the EKS cluster, if it does. */
  readonly controlPlaneUid?: string;
}

/**
 * Where the controller finds the EKS cluster and the AWS identity (credentials) for an AWSFargateProfile.
 *
 * - `controlPlane`: the AWSManagedControlPlane, or spec.eksCluster.
 * - `unreadyControlPlane`, only for a deletion: an AWSManagedControlPlane that is not ready, or a spec.eksCluster that
 *   the operator's limits (flags of the manager) do not allow.
 * - `record`, only for a deletion: the status of the object.
 *
 * `unreadyControlPlane` and `record` prove nothing about the EKS cluster: a client that may write these Kubernetes
 * objects can name any EKS cluster there.
 */
export type TargetSource = 'controlPlane' | 'unreadyControlPlane' | 'record';

/**
 * Facts about the EKS cluster on which the desired state of an object depends. They come from the
 * AWSManagedControlPlane, or from spec.eksCluster and EKS.
 */
export interface ControlPlaneFacts {
  /** The tags of the control plane. An object with spec.eksCluster does not get them. */
  readonly controlPlaneTags: Tags;
  /**
   * The AWS ids of the control plane's private subnets. `undefined` if the object has spec.eksCluster: EKS then chooses
   * the subnets if the spec names none.
   */
  readonly privateSubnets: readonly string[] | undefined;
  /**
   * The control plane to which the controller adds its finalizer; undefined if the object belongs to no control plane.
   */
  readonly controlPlane: ObjectKey | undefined;
  /** The reason for which no profile and no role may be created now. */
  readonly creationBlocker: Reason | undefined;
  /**
   * Set if the object has spec.eksCluster. Then EKS, and not an AWSManagedControlPlane, tells whether the EKS cluster
   * is ready.
   */
  readonly isReadinessOfEks?: true;
  /**
   * AWS accounts in which nothing may be created for the object as long as it has nothing in AWS, each with the reason.
   * An account is listed if a control plane may manage the object's EKS cluster in that account.
   */
  readonly blockersInAccounts?: readonly { readonly account: AccountId; readonly blocker: Reason }[];
}

/** The task of a reconcile for an object. It depends on Kubernetes objects alone, not on the state of AWS. */
export type Goal =
  /**
   * The controller leaves the object unchanged: it is being deleted and lacks this controller's finalizer, or
   * `clusterctl move` is moving it away.
   */
  | { readonly kind: 'ignore' }
  /** The object is paused. `by` lists the causes, in the words of Cluster API's `Paused` condition. */
  | { readonly kind: 'paused'; readonly by: readonly string[] }
  /** The reconcile reads and changes nothing in AWS, and reports `reason`. */
  | { readonly kind: 'hold'; readonly reason: Reason }
  /**
   * The controller removes its finalizer without a call to AWS: nothing was created in AWS, or deletionPolicy is
   * Retain.
   */
  | { readonly kind: 'release' }
  /**
   * The controller deletes the AWSFargateProfile through the API server. The object was already being deleted before a
   * `clusterctl move`, which drops the deletionTimestamp.
   */
  | { readonly kind: 'resumeDeletion' }
  /**
   * The controller brings AWS to the desired state. `controlPlaneFacts` is `undefined` if the object is being deleted,
   * or if its EKS cluster is being deleted and deletionPolicy is Retain. `abandonment` is how a user can end the
   * deletion if the controller cannot delete the profile.
   */
  | {
      readonly kind: 'pursue';
      readonly target: Target;
      readonly targetSource: TargetSource;
      readonly controlPlaneFacts: ControlPlaneFacts | undefined;
      readonly surplus: Surplus;
      readonly abandonment?: Abandonment;
    };

/**
 * What a reconcile does with profiles and roles of this controller that the spec does not ask for. With `retain` it
 * deletes nothing, and only reports that a retained profile blocks the deletion of its EKS cluster.
 */
export type Surplus = 'delete' | 'retain';
