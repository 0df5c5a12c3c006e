export const GROUP = 'infrastructure.cluster.x-k8s.io';
export const VERSION = 'v1beta2';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const KIND = 'AWSFargateProfile';
export const PLURAL = 'awsfargateprofiles';

/** CAPA's, so that each of the two can finish what the other began. It has no `/`: the API server warns when it is added. */
export const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';

/** The name of this provider in clusterctl's inventory. */
export const PROVIDER = 'infrastructure-aws-fargate';

// Labels of the Cluster API contract.
export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name';
export const WATCH_FILTER_LABEL = 'cluster.x-k8s.io/watch-filter';
export const PROVIDER_LABEL = 'cluster.x-k8s.io/provider';

/** Pauses by being there, whatever its value. */
export const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused';
/** clusterctl move sets it on the source object, right before it deletes that: AWS is not to be touched any more. */
export const DELETE_FOR_MOVE_ANNOTATION = 'clusterctl.cluster.x-k8s.io/delete-for-move';
/** Mirrors `deletionPolicy: Retain`, because an annotation survives a CRD that does not know the field. */
export const RETAIN_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/retain';
/**
 * `<account>/<region>/<EKS cluster>` where the object's profile is, or `nowhere`: `clusterctl move` drops the status that
 * says so, but not this.
 */
export const PROVISIONED_IN_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/provisioned-in';
/** Written before the first deletion in AWS: `clusterctl move` drops the deletionTimestamp, but not this. */
export const DELETION_REQUESTED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/deletion-requested';
/**
 * The unique id of a role made anew, set by a human who has renewed the EKS access entry that was bound to its
 * predecessor: EKS does not let the controller see whether that was done.
 */
export const ACCESS_ENTRY_RENEWED_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/access-entry-renewed';
