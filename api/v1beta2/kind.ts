export const GROUP = 'infrastructure.cluster.x-k8s.io';
export const VERSION = 'v1beta2';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const KIND = 'AWSFargateProfile';
export const PLURAL = 'awsfargateprofiles';

/** This provider's name in clusterctl's inventory. */
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

/** Pauses the reconciliation, whatever the annotation's value is. */
export const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused';
/**
 * `clusterctl move` sets this annotation right before it deletes the object in the source cluster. That deletion must
 * not delete anything in AWS.
 */
export const DELETE_FOR_MOVE_ANNOTATION = 'clusterctl.cluster.x-k8s.io/delete-for-move';
/**
 * The controller sets this annotation if `spec.deletionPolicy` is `Retain`. While another provider's CRD without that
 * field is installed, the API server drops the field but keeps the annotation.
 */
export const RETAIN_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/retain';
/**
 * On keiko's InstanceGroup, `Replace` sets `spec.updateStrategy.type: Replace` in its AWSFargateProfile, because the
 * InstanceGroup has no such field.
 */
export const UPDATE_STRATEGY_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/update-strategy';
/** On keiko's InstanceGroup, sets the `spec.updateStrategy.replace.drainTimeout` of its AWSFargateProfile. */
export const DRAIN_TIMEOUT_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/drain-timeout';
/**
 * Says where to look for the object's resources in AWS (controllers/shared/record.ts). It is not a status field,
 * because `clusterctl move` drops the status, and another provider's CRD makes the API server drop unknown fields.
 */
export const RECORD_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/record';
/**
 * With this annotation, a user confirms that a Fargate profile with this object's owner tag belongs to it, although
 * this object's record does not contain the profile. Such a profile was created from another management cluster, or
 * before a backup was restored. The value is the unique ID at the end of the profile's ARN, or several IDs separated by
 * commas.
 */
export const TAKE_OVER_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/take-over';
