export const GROUP = 'infrastructure.cluster.x-k8s.io';
export const VERSION = 'v1beta2';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const KIND = 'AWSFargateProfile';
export const PLURAL = 'awsfargateprofiles';

/** The name of this provider in the provider inventory of clusterctl. */
export const PROVIDER = 'infrastructure-aws-fargate';

/**
 * CAPA uses a finalizer of the same name, so either controller can finish a deletion. The name has no `/`, so the API
 * server warns a client that adds it.
 */
export const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';

// Labels that the Cluster API contract defines.
export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name';
export const WATCH_FILTER_LABEL = 'cluster.x-k8s.io/watch-filter';
export const PROVIDER_LABEL = 'cluster.x-k8s.io/provider';

/** The annotation that pauses the reconciliation of an object, whatever the value of the annotation is. */
export const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused';
/**
 * `clusterctl move` sets it right before it deletes the object in the source cluster. Nothing in AWS may be deleted
 * then.
 */
export const DELETE_FOR_MOVE_ANNOTATION = 'clusterctl.cluster.x-k8s.io/delete-for-move';
/**
 * Repeats `spec.deletionPolicy: Retain`. Under another provider's CRD without that field, the API server drops the
 * field but keeps the annotation.
 */
export const RETAIN_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/retain';
/**
 * Repeats `spec.updateStrategy.type: Replace`, for the same reason: without the field, a changed profile would be reported
 * instead of replaced.
 */
export const UPDATE_STRATEGY_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/update-strategy';
/**
 * The names of the profiles and roles that status records for a replacement, because `clusterctl move` drops the status.
 * They tell only where to look: the tags of a profile or role prove whose it is.
 */
export const REPLACEMENT_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/replacement';
/**
 * Where the EKS Fargate profile is, `<account>/<region>/<EKS cluster>`, or `nowhere` before the first change in AWS.
 * `clusterctl move` drops the status of an object but keeps its annotations.
 */
export const PROVISIONED_IN_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/provisioned-in';
/**
 * Written before a deletion changes anything in AWS. `clusterctl move` drops the deletionTimestamp but keeps
 * annotations, so the controller in the target cluster resumes the deletion.
 */
export const DELETION_REQUESTED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/deletion-requested';
/**
 * With it a user confirms that the EKS access entry of a recreated role has been recreated too, because the controller
 * lacks the permission and EKS keeps the old entry bound to the deleted role. The value is the unique id of the new
 * role.
 */
export const ACCESS_ENTRY_RENEWED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/access-entry-renewed';
/**
 * The ARN of a role whose EKS access entry the controller has deleted or is about to delete. After a crash, the next
 * manager process recreates the entry. It is no status field, because `clusterctl move` drops the status.
 */
export const ACCESS_ENTRY_DELETED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/access-entry-deleted';
