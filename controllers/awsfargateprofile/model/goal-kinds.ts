import type { AccountId, ClusterName, EksClusterName } from '../../../api/names.ts';
import type { IdentityRef } from '../../../pkg/cloud/types.ts';
import type { Tags } from '../../../pkg/fargate/tags.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { Abandonment } from '../reasons/abandonment.ts';
import type { Reason } from '../reasons/reasons.ts';

/**
 * The EKS cluster to which an object belongs, and the identity for the calls to AWS. The AWS account follows from the
 * credentials of the identity.
 */
export interface Target {
  /** The name of the Cluster; undefined: the EKS cluster has no Cluster, because spec.eksCluster names it. */
  readonly clusterName: ClusterName | undefined;
  readonly eksCluster: EksClusterName;
  readonly region: string;
  readonly identity: IdentityRef | undefined;
}

/**
 * The origin of the target of a pass.
 *
 * - `controlPlane`: the AWSManagedControlPlane, or spec.eksCluster.
 * - `unreadyControlPlane`, only for a deletion: an AWSManagedControlPlane that is not ready, or a spec.eksCluster that
 *   the operator's limits do not allow.
 * - `record`, only for a deletion: the status of the object.
 *
 * With the last two, a client that may write these objects may have chosen any EKS cluster as the target.
 */
export type TargetSource = 'controlPlane' | 'unreadyControlPlane' | 'record';

/**
 * Facts about the EKS cluster on which the desired state depends. They come from the AWSManagedControlPlane, or from
 * spec.eksCluster and EKS.
 */
export interface ControlPlaneFacts {
  readonly controlPlaneTags: Tags;
  /** The AWS ids of the control plane's private subnets; undefined: EKS chooses subnets if the spec names none. */
  readonly privateSubnets: readonly string[] | undefined;
  /** The control plane that gets the control plane finalizer; undefined: there is none. */
  readonly controlPlane: ObjectKey | undefined;
  /** The reason for which no profile and no role may be created now. */
  readonly creationBlocker: Reason | undefined;
  /** Set for spec.eksCluster: the controller then asks EKS, and no control plane, whether the EKS cluster is ready. */
  readonly isReadinessOfEks?: true;
  /**
   * For an object that has nothing in AWS yet: the reasons for which nothing is created if the credentials belong to
   * one of these accounts.
   */
  readonly blockersInAccounts?: readonly { readonly account: AccountId; readonly blocker: Reason }[];
}

/** What a pass is to achieve for an object. It depends on Kubernetes objects alone, not on the state of AWS. */
export type Goal =
  /**
   * The controller leaves the object alone: the object is being deleted without this controller's finalizer, or
   * `clusterctl move` is moving it away.
   */
  | { readonly kind: 'ignore' }
  /** The object is paused. `by` lists the causes, in the words of Cluster API's `Paused` condition. */
  | { readonly kind: 'paused'; readonly by: readonly string[] }
  /** For this reason the pass reads and changes nothing in AWS. */
  | { readonly kind: 'hold'; readonly reason: Reason }
  /** The finalizer is removed without a call to AWS: nothing was created in AWS, or deletionPolicy is Retain. */
  | { readonly kind: 'release' }
  /**
   * The controller deletes the AWSFargateProfile again: it was being deleted before `clusterctl move`, which drops the
   * deletionTimestamp.
   */
  | { readonly kind: 'resumeDeletion' }
  /**
   * The controller brings AWS to the desired state. `controlPlaneFacts` is `undefined` for a deletion, which needs no
   * control plane. `abandonment`: how a user can end the deletion if the controller cannot delete the profile.
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
 * What a pass does with profiles and roles of this controller that the desired state does not contain. With `retain` it
 * deletes nothing, and only reports that a retained profile blocks the deletion of its EKS cluster.
 */
export type Surplus = 'delete' | 'retain';
