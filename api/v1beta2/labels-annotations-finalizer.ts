/**
 * The finalizer of AWSFargateProfiles. Cluster API Provider AWS uses a finalizer of the same name, so either controller
 * can finish a deletion. The name has no `/`, so the API server warns a client that adds the finalizer.
 */
export const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';

// Labels that the Cluster API contract defines.
export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name';
export const WATCH_FILTER_LABEL = 'cluster.x-k8s.io/watch-filter';
export const PROVIDER_LABEL = 'cluster.x-k8s.io/provider';

/** The annotation that pauses the reconciliation of an object, whatever the value of the annotation is. */
export const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused';
/**
 * The annotation that `clusterctl move` sets on an object right before it deletes the object in the source cluster.
 * When the controller sees this annotation, it must not delete anything in AWS.
 */
export const DELETE_FOR_MOVE_ANNOTATION = 'clusterctl.cluster.x-k8s.io/delete-for-move';
/**
 * The annotation that repeats `spec.deletionPolicy: Retain`. While another provider's CRD of the same name, without the
 * field deletionPolicy, is installed, the API server drops the field from objects but keeps the annotation.
 */
export const RETAIN_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/retain';
/**
 * The annotation with the location of the EKS Fargate profile, `<account>/<region>/<EKS cluster>`, or `nowhere` before
 * the first change in AWS. `clusterctl move` drops the status of an object but keeps its annotations, so the location
 * survives the move.
 */
export const PROVISIONED_IN_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/provisioned-in';
/**
 * The annotation on an object whose deletion has begun; the controller writes it before it deletes anything in AWS.
 * `clusterctl move` drops the deletionTimestamp of an object but keeps its annotations. So the controller in the target
 * cluster resumes the deletion.
 */
export const DELETION_REQUESTED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/deletion-requested';
/**
 * The annotation with which a user confirms that the EKS access entry of a recreated IAM role has been recreated too.
 * EKS keeps the old access entry bound to the deleted role. The user recreates the entry if the controller lacks the
 * permission for it. The value of the annotation is the unique id of the new role.
 */
export const ACCESS_ENTRY_RENEWED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/access-entry-renewed';
/**
 * The annotation with the ARN of a role whose EKS access entry this controller has deleted or is about to delete. If
 * the manager crashes before it recreates the entry, the next manager process reads the annotation and recreates the
 * entry. The ARN is not a status field, because `clusterctl move` drops the status of an object.
 */
export const ACCESS_ENTRY_DELETED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/access-entry-deleted';
