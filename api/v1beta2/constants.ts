export const GROUP = 'infrastructure.cluster.x-k8s.io';
export const VERSION = 'v1beta2';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const KIND = 'AWSFargateProfile';
export const PLURAL = 'awsfargateprofiles';

/**
 * The finalizer that CAPA puts on AWSFargateProfiles too, so that either controller can finish a deletion. The name has
 * no `/`, therefore the API server warns a client that adds the finalizer.
 */
export const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';

/** The name of this provider in the provider inventory of clusterctl. */
export const PROVIDER = 'infrastructure-aws-fargate';

// Labels that the Cluster API contract defines.
export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name';
export const WATCH_FILTER_LABEL = 'cluster.x-k8s.io/watch-filter';
export const PROVIDER_LABEL = 'cluster.x-k8s.io/provider';

/** The annotation that pauses an object, whatever its value. */
export const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused';
/**
 * The annotation that `clusterctl move` sets on an object right before it deletes the object in the source cluster.
 * Such a deletion must not change AWS.
 */
export const DELETE_FOR_MOVE_ANNOTATION = 'clusterctl.cluster.x-k8s.io/delete-for-move';
/**
 * The annotation that repeats `deletionPolicy: Retain`. Under a CRD without the field deletionPolicy, the API server
 * removes the field from an object and keeps the annotation.
 */
export const RETAIN_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/retain';
/**
 * The annotation with the location of the EKS Fargate profile, `<account>/<region>/<EKS cluster>`, or `nowhere` before
 * the first change in AWS. `clusterctl move` drops the status of an object and keeps its annotations.
 */
export const PROVISIONED_IN_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/provisioned-in';
/**
 * The annotation on an object whose deletion has begun; the controller writes it before it deletes anything in AWS.
 * `clusterctl move` drops the deletionTimestamp of an object and keeps its annotations.
 */
export const DELETION_REQUESTED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/deletion-requested';
/**
 * The annotation with the unique id of a recreated IAM role. The EKS access entry of the role stays bound to the
 * deleted role. If the controller lacks the permission to recreate the entry, the user recreates the entry and then
 * sets this annotation.
 */
export const ACCESS_ENTRY_RENEWED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/access-entry-renewed';
/**
 * The annotation with the ARN of a role whose EKS access entry this controller has deleted or is about to delete. If
 * the manager crashes before it recreates the entry, the next process recreates the entry. `clusterctl move` drops the
 * status of an object and keeps its annotations.
 */
export const ACCESS_ENTRY_DELETED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/access-entry-deleted';
