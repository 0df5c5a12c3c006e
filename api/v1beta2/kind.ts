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
 * On an InstanceGroup of keiko: `Replace` asks for `spec.updateStrategy.type: Replace` of its AWSFargateProfile, because
 * the InstanceGroup has no such field.
 */
export const UPDATE_STRATEGY_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/update-strategy';
/** On an InstanceGroup of keiko: the `spec.updateStrategy.replace.drainTimeout` of its AWSFargateProfile. */
export const DRAIN_TIMEOUT_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/drain-timeout';
/**
 * The note of the controller: where to look in AWS for what the object has there (controllers/shared/note.ts). It is no
 * status field, because `clusterctl move` drops the status, and because an API server with another CRD prunes fields.
 */
export const RECORD_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/record';
/**
 * With it a user says that a Fargate profile with the owner tag of this object belongs to it, although another record of
 * the object made the profile: another management cluster, or a restored backup. The value is the unique id at the end of
 * the profile's ARN, or several of them separated by commas.
 */
export const TAKE_OVER_ANNOTATION = 'aws-fargate.cluster.x-k8s.io/take-over';
