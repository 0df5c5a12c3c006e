import type { AccountId, ClusterName, EksClusterName } from '../../../api/names.ts';
import type { IdentityRef } from '../../../pkg/cloud/index.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { Abandonment } from '../reasons/wording/abandonment.ts';
import type { Reason } from '../reasons/reasons.ts';

/** The account is left out, because the credentials of the identity determine it. */
export interface Target {
  /** Undefined if spec.eksCluster names the EKS cluster instead. */
  readonly clusterName: ClusterName | undefined;
  readonly eksCluster: EksClusterName;
  readonly region: string;
  readonly identity: IdentityRef | undefined;
  readonly controlPlaneUid?: string;
}

/**
 * Where the EKS cluster and the identity come from. The last two occur in deletions only: a control plane that is not
 * ready or a spec.eksCluster that the operator's limits do not allow, and the status of the object. These prove
 * nothing: a client that may write these Kubernetes objects can name any EKS cluster there.
 */
export type TargetSource = 'controlPlane' | 'unreadyControlPlane' | 'record';

export interface ControlPlaneFacts {
  /** An object with spec.eksCluster does not get these tags. */
  readonly controlPlaneTags: Tags;
  /** AWS ids. `undefined` for an object with spec.eksCluster: EKS then chooses the subnets if the spec names none. */
  readonly privateSubnets: readonly string[] | undefined;
  /** The control plane that gets the finalizer of this controller. */
  readonly controlPlane: ObjectKey | undefined;
  readonly creationBlocker: Reason | undefined;
  /** EKS, and not a control plane, tells whether the EKS cluster is ready: the object has spec.eksCluster. */
  readonly isReadinessOfEks?: true;
  /**
   * Accounts in which nothing may be created for an object without AWS resources, because a control plane there may
   * manage its EKS cluster.
   */
  readonly blockersInAccounts?: readonly { readonly account: AccountId; readonly blocker: Reason }[];
}

export type Goal =
  /** The object is being deleted and lacks the finalizer, or `clusterctl move` is moving it away. */
  | { readonly kind: 'ignore' }
  /** `by` lists the causes in the words of Cluster API's `Paused` condition. */
  | { readonly kind: 'paused'; readonly by: readonly string[] }
  /** Nothing in AWS is read or changed. */
  | { readonly kind: 'hold'; readonly reason: Reason }
  /** The finalizer goes without a call to AWS: nothing was created there, or deletionPolicy is Retain. */
  | { readonly kind: 'release' }
  /**
   * `controlPlaneFacts` is `undefined` if nothing is wanted: the object is being deleted, or its EKS cluster is being
   * deleted and deletionPolicy is Retain.
   */
  | {
      readonly kind: 'pursue';
      readonly target: Target;
      readonly targetSource: TargetSource;
      readonly controlPlaneFacts: ControlPlaneFacts | undefined;
      readonly surplus: Surplus;
      readonly abandonment?: Abandonment;
    };

/** What becomes of profiles and roles of this controller that the spec does not ask for. */
export type Surplus = 'delete' | 'retain';
